"""Reaches models through litellm; its errors end in ``litellm_errors.py``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from jupyter_skills.errors import ModelRefused
from jupyter_skills.models.client import ModelFacts, ModelRequest, Piece, Prices, ReasoningDelta, TextDelta
from jupyter_skills.models.litellm_call import Call, Overheard, is_openais
from jupyter_skills.models.litellm_errors import broke_off, missing_keys, refused, translated
from jupyter_skills.models.litellm_facts import PRICES, count_of, facts_of, prices_in
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.models.litellm_reply import reasoning_of, refusal_of, reply_of, text_of
from jupyter_skills.models.messages import copied
from jupyter_skills.models.pump import Pump

# Servers of one's own often check no key, but litellm sends nothing without one.
_NO_KEY = "no-key"

# What a request itself says; given twice it would be an error of Python's.
_OURS = {"model", "messages", "tools", "stream", "stream_options", "timeout"}

# litellm's own time limit ends in errors of many kinds; it only has to come after the one kept here.
_LATER = 5.0

# Putting so many chunks together takes longer than the loop may be held.
_MANY_CHUNKS = 500


class LitellmClient:
    """Reaches every provider that litellm does. Implements ``ModelClient``."""

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
        arguments = _complete(litellm, request)
        heard: list[str] = []

        async def call() -> Any:
            response = await Call(
                litellm.acompletion(
                    model=request.model,
                    messages=copied(list(request.messages)),
                    stream=request.stream,
                    timeout=request.timeout + _LATER,
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
            if (reason := refusal_of(response, "".join(heard))) is not None:
                raise refused(request, arguments, reason)
            prices = prices_in(request.arguments)
            free = facts_of(litellm, request.model, request.arguments).prices == Prices(0.0, 0.0)
            reply = reply_of(litellm, response, request.messages, prices, free=free)
        if not request.stream:
            if reasoning := reply.message.get("reasoning_content"):
                yield ReasoningDelta(reasoning)
            if reply.text:
                yield TextDelta(reply.text)
        yield reply


def _complete(litellm: Any, request: ModelRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = copied(request.arguments)  # litellm writes into some of them
    if taken := sorted(_OURS & arguments.keys()):
        raise ModelRefused(
            f"JupyterSkills.completion_kwargs may not set {', '.join(taken)}",
            "Use the option or the setting of its own that there is for that",
        )
    for name in PRICES:  # litellm would take them for everybody's, and for good
        arguments.pop(name, None)
    own_server = arguments.get("api_base") or arguments.get("base_url")
    if own_server and not arguments.get("api_key") and missing_keys(litellm, request.model):
        arguments["api_key"] = _NO_KEY
    if "num_retries" not in arguments:
        arguments.setdefault("max_retries", 0)  # whoever is patient says so, and can be stopped
    if request.stream:
        arguments["stream_options"] = {"include_usage": True}
    return arguments


async def _built(litellm: Any, request: ModelRequest, stream: Any, chunks: list[Any]) -> Any:
    if _torn(stream):
        raise broke_off(request)
    messages = copied(list(request.messages))
    if len(chunks) < _MANY_CHUNKS:
        response = litellm.stream_chunk_builder(chunks, messages=messages)
    else:
        response = await asyncio.to_thread(litellm.stream_chunk_builder, chunks, messages=messages)
    if response is None:
        raise broke_off(request)
    return response


def _torn(stream: Any) -> bool:
    """Whether the provider never said that it was done: litellm makes up a ``stop`` then.

    It keeps the provider's own word in one of two places. For Gemini it makes one up for each chunk, so that only
    an end of the connection is noticed there, which is an error of its own.
    """
    places = ("received_finish_reason", "intermittent_finish_reason")
    return all(getattr(stream, place, "unknown") is None for place in places)
