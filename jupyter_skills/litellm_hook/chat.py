"""Calls in the shape of OpenAI's chat completions: what answers them in a provider's place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import cache
from typing import Any
from uuid import uuid4

from litellm.llms.custom_llm import CustomLLM

from jupyter_skills.agent.assembly import Wishes
from jupyter_skills.agent.served import Served, plain, served, serving
from jupyter_skills.litellm_hook.failures import raised_as_litellms
from jupyter_skills.litellm_hook.logs import in_private, private_context
from jupyter_skills.litellm_hook.marks import marks, put_on, stopped_by
from jupyter_skills.litellm_hook.pending import PENDING, PendingCall
from jupyter_skills.models import litellm_answers
from jupyter_skills.models.around import SameContainer
from jupyter_skills.models.client import ModelClient, TextDelta
from jupyter_skills.models.usual import usual_client


class SkillsProvider(CustomLLM):
    """Answers chat completions with skills. litellm calls one of the two methods."""

    async def acompletion(self, *_: Any, logging_obj: Any, **__: Any) -> Any:
        """The whole answer, a ``litellm.ModelResponse``."""
        pending = PENDING.taken_up(logging_obj)
        with PENDING.at_work(logging_obj), raised_as_litellms(pending.model, pending.provider):
            return _marked(await in_private(served(_wishes(pending), plain(pending.messages))))

    def astreaming(self, *_: Any, logging_obj: Any, **__: Any) -> AsyncGenerator[Any, None]:
        """The chunks of the answer; the files come in one of their own before the last."""
        pending = PENDING.taken_up(logging_obj)  # at once: litellm looks up prices before it asks for the first chunk
        return self._chunks(logging_obj, pending)

    async def _chunks(self, call: Any, pending: PendingCall) -> AsyncGenerator[Any, None]:
        number = f"chatcmpl-{uuid4()}"
        with PENDING.at_work(call), raised_as_litellms(pending.model, pending.provider):
            pieces = serving(_wishes(pending), plain(pending.messages), private_context())
            async with aclosing(pieces):
                async for piece in pieces:
                    if not isinstance(piece, Served):
                        yield await litellm_answers.chunk(number, pending.model, piece)
                        continue
                    response = _marked(piece)
                    counter = await litellm_answers.chunk(number, pending.model, TextDelta(""))
                    counter.usage = response.usage  # litellm counts none that comes with the last chunk
                    yield counter
                    carrier = await litellm_answers.chunk(number, pending.model, TextDelta(""))
                    carrier.provider_specific_fields = {}  # a proxy drops further fields of chunks without it
                    put_on(carrier, marks(piece.answer, piece.added))
                    yield carrier
                    yield await litellm_answers.last_chunk(number, response)


@cache  # it remembers which models take no tools
def _client() -> ModelClient:
    return usual_client(tries=1, raises_refusals=False)


def _wishes(pending: PendingCall) -> Wishes:
    client = SameContainer(_client()) if "container" in pending.arguments else _client()
    return pending.wishes(arguments=pending.arguments, others=tuple(pending.tools), client=client)


def _marked(done: Served) -> Any:
    response = done.response
    if stopped_by(done.answer):
        response.choices[0].finish_reason = "length"  # OpenAI's own word for an answer that was not finished
    put_on(response, marks(done.answer, done.added))
    return response
