"""Reaches models through litellm; its errors end in ``litellm_errors.py``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from jupyter_skills.models.client import ModelFacts, ModelRequest, Piece, Prices, ReasoningDelta, TextDelta
from jupyter_skills.models.litellm_arguments import LATER, completed
from jupyter_skills.models.litellm_call import Call, Overheard, is_openais, is_torn
from jupyter_skills.models.litellm_errors import broke_off, refused, translated
from jupyter_skills.models.litellm_facts import count_of, facts_of, prices_in
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.models.litellm_reply import reasoning_of, refusal_of, reply_of, text_of
from jupyter_skills.models.messages import copied
from jupyter_skills.models.pump import Pump

# Putting so many chunks together takes longer than the loop may be held.
_MANY_CHUNKS = 500


class LitellmClient:
    """Reaches every provider that litellm does. Implements ``ModelClient``.

    Args:
        raises_refusals: Whether an answer that only says that there is none is an error.
    """

    def __init__(self, *, raises_refusals: bool = True) -> None:
        self._raises_refusals = raises_refusals

    async def facts(self, model: str, arguments: Mapping[str, Any]) -> ModelFacts:
        """See ``ModelClient``."""
        return facts_of(await imported(), model, arguments)

    async def count(self, request: ModelRequest) -> int:
        """See ``ModelClient``."""
        return await asyncio.to_thread(count_of, await imported(), request)

    def draft(self, request: ModelRequest) -> ModelRequest:
        """See ``ModelClient``."""
        return request

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """See ``ModelClient``; a reply that comes whole is yielded in pieces too, one of each kind."""
        litellm = await imported()
        arguments = completed(litellm, request)
        if request.stream:
            arguments["stream_options"] = {"include_usage": True}
        heard: list[str] = []

        async def call() -> Any:
            response = await Call(
                litellm.acompletion(
                    model=request.model,
                    messages=copied(list(request.messages)),
                    stream=request.stream,
                    timeout=request.timeout + LATER,
                    **({"tools": copied(list(request.tools))} if request.tools else {}),
                    **arguments,
                )
            )
            if is_openais(stream := getattr(response, "completion_stream", None)):
                response.completion_stream = Overheard(stream, heard)
            return response

        pump = Pump(call, stream=request.stream, silence=request.timeout)
        chunks: list[Any] = []
        with translated(litellm, request, arguments):
            async with aclosing(pump.batches()) as batches:
                async for batch in batches:
                    chunks += batch
                    for chunk in batch:
                        if thought := reasoning_of(chunk):
                            yield ReasoningDelta(thought)
                        if text := text_of(chunk):
                            yield TextDelta(text)
            response = await _built(litellm, request, pump.response, chunks) if request.stream else pump.response
            if self._raises_refusals and (reason := refusal_of(response, "".join(heard))) is not None:
                raise refused(request, arguments, reason)
            prices = prices_in(request.arguments)
            free = facts_of(litellm, request.model, request.arguments).prices == Prices(0.0, 0.0)
            reply = reply_of(litellm, response, request.messages, prices, free=free, model=request.model)
        if not request.stream:
            if reasoning := reply.message.get("reasoning_content"):
                yield ReasoningDelta(reasoning)
            if reply.text:
                yield TextDelta(reply.text)
        yield reply


async def _built(litellm: Any, request: ModelRequest, stream: Any, chunks: list[Any]) -> Any:
    if "mock_response" not in request.arguments and is_torn(stream):  # a mocked one never says that it was done
        raise broke_off(request)
    messages = copied(list(request.messages))
    if len(chunks) < _MANY_CHUNKS:
        response = litellm.stream_chunk_builder(chunks, messages=messages)
    else:
        response = await asyncio.to_thread(litellm.stream_chunk_builder, chunks, messages=messages)
    if response is None:
        raise broke_off(request)
    return response
