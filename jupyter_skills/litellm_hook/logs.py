"""What litellm's callbacks hear: of one call with the usage and the cost of all its requests, and not of these."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from datetime import datetime
from importlib import import_module
from typing import Any, TypeVar

from jupyter_skills.agent.answer import Answer
from jupyter_skills.models import litellm_answers

Result = TypeVar("Result")

_METADATA = ("metadata", "litellm_metadata")
_OF_THE_CALL = ("user_api_key", "model_group")


def for_requests(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as each of its requests has them.

    litellm logs none of these requests. A proxy's own callbacks hear of streams all the same, and book them to nobody,
    since the key that asks is left out; a router leaves it to the requests to try again, since its group is.

    Args:
        arguments: Those of the call.
    """
    requests = {**arguments, "no-log": True}
    for name in _METADATA:
        if isinstance(held := arguments.get(name), Mapping):
            if "model_group" in held:  # a router forbids it, since it tries calls again itself
                requests["max_retries"] = held.get("max_retries") or 0
            requests[name] = {key: value for key, value in held.items() if not str(key).startswith(_OF_THE_CALL)}
    return requests


def private_context() -> Context:
    """A context in which litellm takes calls for parts of another, and bills none of them by itself."""
    context = copy_context()
    with suppress(ImportError, AttributeError):  # releases that have none heed the flag of each request
        context.run(import_module("litellm._internal_context").is_internal_call.set, True)
    return context


async def in_private(work: Coroutine[Any, Any, Result]) -> Result:
    """Does work in such a context."""
    return await asyncio.create_task(work, context=private_context())


def own_metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a call, if it has any, as a copy: litellm's logs write into it, and it is the caller's."""
    metadata = given.get("metadata")
    return {"metadata": dict(metadata)} if isinstance(metadata, Mapping) else {}


async def log_success(call: Any, answer: Answer) -> None:
    """Tells the callbacks of a call in Anthropic's shape.

    litellm itself tells of no stream that it has not made, and of no message that was paused.

    Args:
        call: litellm's object for the call.
        answer: What came of it.
    """
    if not getattr(call, "claim_async_success_log", lambda: True)():
        return
    parameters = call.model_call_details.get("litellm_params") or {}
    parameters.update(own_metadata(parameters))
    empty = await litellm_answers.empty(answer.model)
    response = await litellm_answers.response(
        [empty], {"content": answer.text}, answer.finish_reason, answer.usage, answer.cost
    )
    with suppress(Exception):  # whoever reads the stream has it; a callback of others can't take that back
        await call.async_success_handler(
            result=response,
            start_time=call.start_time,
            end_time=datetime.now(),
            cache_hit=False,
        )


async def log_failure(call: Any, error: Exception) -> None:
    """Tells the callbacks of a stream that failed; of other failures litellm tells them itself."""
    with suppress(Exception):
        await call.async_failure_handler(error, "".join(traceback.format_exception(error)))
