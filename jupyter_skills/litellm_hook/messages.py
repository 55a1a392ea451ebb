"""Calls in the shape of Anthropic's messages: what answers them in a provider's place.

Source: Anthropic API reference, "Create a Message" and "Streaming Messages".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import uuid4

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import Emit, Ended, Event, discard
from jupyter_skills.agent.pieces import Whole, as_it_comes
from jupyter_skills.agent.served import answered
from jupyter_skills.agent.tool_names import LOAD_SKILL
from jupyter_skills.litellm_hook.failures import raised_as_litellms
from jupyter_skills.litellm_hook.logs import in_private, log_failure, log_success, private_context
from jupyter_skills.litellm_hook.marks import marks, stopped_by
from jupyter_skills.litellm_hook.one_message import OneMessage, blocks_for_the_caller
from jupyter_skills.litellm_hook.pending import PENDING, PROVIDER, PendingCall
from jupyter_skills.models.around import SameContainer
from jupyter_skills.models.client import Message
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.models.litellm_messages import MessagesClient, OnEvent
from jupyter_skills.models.message_blocks import messages_of, wrapped, wrapped_tool
from jupyter_skills.models.messages import summed

_LIMIT_REACHED = "pause_turn"  # Anthropic's own word for a loop of its own that has not come to its end


class SkillsInterceptor:
    """Answers messages with skills: a ``MessagesInterceptor`` of litellm's, which asks each in turn.

    Its class is not inherited, since its place differs from release to release.
    """

    def can_handle(self, tools: Any, custom_llm_provider: str | None) -> bool:
        """Whether the hook has taken the request up."""
        return custom_llm_provider == PROVIDER

    async def handle(self, *, litellm_logging_obj: Any, **_: Any) -> Any:
        """The answer: a dictionary, or an async iterator of server-sent events as bytes."""
        call = litellm_logging_obj
        pending = PENDING.taken_up(call)
        if pending.stream:
            return _events(pending, call)
        with PENDING.at_work(call), raised_as_litellms(pending.model, pending.provider):
            answer, added = await in_private(_answered(pending))
        await log_success(call, answer)
        return _message(pending, answer, added)


async def _events(pending: PendingCall, call: Any) -> AsyncGenerator[bytes, None]:
    """The events of all answers as those of one message."""
    together = OneMessage(pending.names)
    ended: list[Answer] = []

    def note(event: Event) -> None:
        if isinstance(event, Ended):
            ended.append(event.answer)

    try:
        with PENDING.at_work(call), raised_as_litellms(pending.model, pending.provider):
            async with aclosing(as_it_comes(partial(_answered, pending, emit=note), private_context())) as events:
                async for event in events:
                    if isinstance(event, Whole):
                        answer, added = event.result
                    else:
                        for one in together.taken_in(event):
                            yield _as_bytes(one)
    except Exception as error:
        await log_failure(call, error)
        raise
    except (GeneratorExit, asyncio.CancelledError):
        if ended and ended[-1].raws:  # what was paid for until then
            await log_success(call, ended[-1])
        raise
    await log_success(call, answer)
    for one in together.ended(_message(pending, answer, added)):
        yield _as_bytes(one)


async def _answered(
    pending: PendingCall, on_event: OnEvent | None = None, emit: Emit = discard
) -> tuple[Answer, tuple[Message, ...]]:
    """Takes the turn; what to add to the conversation is in Anthropic's form."""
    arguments = dict(pending.arguments)
    client = SameContainer(MessagesClient(LitellmClient(), arguments.pop("system", None), on_event))
    wishes = pending.wishes(emit, arguments=arguments, others=tuple(map(wrapped_tool, pending.tools)), client=client)
    return await answered(wishes, [wrapped(message) for message in pending.messages], _loaded_in(pending.messages))


def _message(pending: PendingCall, answer: Answer, added: Sequence[Message]) -> dict[str, Any]:
    """The last answer as the whole call's."""
    last: Mapping[str, Any] = answer.raws[-1] if answer.raws else _empty(answer)
    message = {
        **last,
        "content": blocks_for_the_caller(last.get("content") or (), pending.names),
        "usage": summed(reply.get("usage") or {} for reply in answer.raws or (last,)),
        **marks(answer, messages_of(added)),
    }
    if stopped_by(answer):
        message["stop_reason"] = _LIMIT_REACHED
    return message


def _empty(answer: Answer) -> dict[str, Any]:
    """A message of a model that was not asked."""
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _loaded_in(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The skills that the model has loaded, as far as the caller's messages tell."""
    contents = [message.get("content") for message in messages if message.get("role") == "assistant"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    calls = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_use"]
    inputs = [call.get("input") for call in calls if call.get("name") == LOAD_SKILL]
    return [str(given["name"]) for given in inputs if isinstance(given, Mapping) and "name" in given]


def _as_bytes(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
