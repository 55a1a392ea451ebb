"""Tool calls in words, for models without function calling.

The conversation stays as it is with any other model; each request is put into words on its way, and each answer
is read back.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal

from jupyter_skills.errors import ToolsUnsupported
from jupyter_skills.models.client import (
    Message,
    ModelClient,
    ModelFacts,
    ModelReply,
    ModelRequest,
    Pause,
    Piece,
    ReasoningDelta,
    Remark,
    TextDelta,
    ToolCall,
)
from jupyter_skills.models.fences import CallReader
from jupyter_skills.models.messages import ids_in, unused_ids
from jupyter_skills.models.text_protocol import call_of, in_words
from jupyter_skills.models.thoughts import ThoughtReader

Mode = Literal["auto", "native", "text"]

# Providers refuse what is said about tools where there are none.
_ABOUT_TOOLS = ("tool_choice", "parallel_tool_calls")


class TextCalls:
    """Describes the tools in words where that is needed. Implements ``ModelClient``.

    Args:
        client: Reaches the model.
        mode: ``native`` leaves everything to the provider, ``text`` never does. ``auto`` puts things into words for
            models that are known to call no functions, and for those that refuse.
    """

    def __init__(self, client: ModelClient, mode: Mode = "auto") -> None:
        self._client = client
        self._mode = mode
        self._wordy: dict[tuple[str, str], bool] = {}  # models that call no functions, and whether the user was told

    async def facts(self, model: str, arguments: Mapping[str, Any]) -> ModelFacts:
        """See ``ModelClient``."""
        facts = await self._client.facts(model, arguments)
        if facts.calls_tools is False:
            self._wordy.setdefault(_place(model, arguments), False)
        return facts

    async def count(self, request: ModelRequest) -> int:
        """See ``ModelClient``; counts what would be sent."""
        return await self._client.count(self._worded(request))

    def draft(self, request: ModelRequest) -> ModelRequest:
        """See ``ModelClient``; what a model can do is known once its facts were asked for, or it has refused."""
        return self._client.draft(self._worded(request))

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """See ``ModelClient``; yields a ``Remark`` when it turns out that a model calls no functions."""
        place = _place(request.model, request.arguments)
        begun = refused = False
        if self._mode == "auto" and place not in self._wordy:
            await self.facts(request.model, request.arguments)
        if self._worded(request) is request:
            try:
                async with aclosing(self._client.answer(request)) as pieces:
                    async for piece in pieces:
                        begun = begun or not isinstance(piece, Pause | Remark)
                        yield piece
            except ToolsUnsupported:
                if begun or self._mode == "native":
                    raise
                self._wordy[place] = False
                refused = True
            if not refused:
                return
        if self._wordy.get(place) is False:
            self._wordy[place] = True
            yield Remark(
                f"'{request.model}' knows no function calling; the tools are described to it in words instead."
            )
        async with aclosing(self._read(request)) as read:
            async for piece in read:
                yield piece

    def _worded(self, request: ModelRequest) -> ModelRequest:
        """The request in words; itself if it is to be sent as it is."""
        wordy = self._mode == "text" or (
            self._mode == "auto" and _place(request.model, request.arguments) in self._wordy
        )
        return _in_words(request) if wordy and _concerned(request) else request

    async def _read(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        thoughts, reader = ThoughtReader(), CallReader()
        thought: list[str] = []
        said: list[str] = []
        blank = ""  # what may be nothing but the empty lines before a call
        taken = 0
        async with aclosing(self._client.answer(_in_words(request))) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    mused, rest = thoughts.feed(piece.text[taken:], last=True)
                    prose = blank + reader.feed(rest) + reader.end()
                    prose = prose.rstrip() if reader.blocks else prose
                    blank = ""
                elif isinstance(piece, TextDelta):
                    taken += len(piece.text)
                    mused, rest = thoughts.feed(piece.text)
                    prose = blank + reader.feed(rest)
                    ends = len(prose.rstrip())
                    prose, blank = prose[:ends], prose[ends:]
                else:
                    yield piece
                    continue
                if mused:
                    thought.append(mused)
                    yield ReasoningDelta(mused)
                if prose:
                    said.append(prose)
                    yield TextDelta(prose)
                if isinstance(piece, ModelReply):
                    yield _with_calls(request, _thoughtful(piece, "".join(thought), said), reader, "".join(said))


def _place(model: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    return model, str(arguments.get("api_base") or arguments.get("base_url") or "")


def _concerned(request: ModelRequest) -> bool:
    return bool(request.tools) or any(
        message["role"] == "tool" or message.get("tool_calls") for message in request.messages
    )


def _in_words(request: ModelRequest) -> ModelRequest:
    arguments = {name: value for name, value in request.arguments.items() if name not in _ABOUT_TOOLS}
    return replace(request, messages=in_words(request.messages, request.tools), tools=(), arguments=arguments)


def _thoughtful(reply: ModelReply, thought: str, said: Sequence[str]) -> ModelReply:
    """A reply whose thoughts stand where providers put them that know of thoughts."""
    if not thought:
        return reply
    reasoning = f"{reply.message.get('reasoning_content') or ''}{thought}"
    return replace(reply, message={**reply.message, "content": "".join(said), "reasoning_content": reasoning})


def _with_calls(request: ModelRequest, reply: ModelReply, reader: CallReader, prose: str) -> ModelReply:
    if not reader.blocks:
        return reply
    calls: list[ToolCall] = []
    sent_back: list[Message] = []
    ids = unused_ids("text", ids_in(request.messages))
    for block in reader.blocks:
        # An end that is missing is taken for granted if the model meant to end there.
        whole = block.closed or reply.finish_reason == "stop"
        call, message = call_of(block, next(ids), request.tools, whole=whole)
        calls.append(call)
        sent_back.append(message)
    message = {**reply.message, "content": prose or None, "tool_calls": sent_back}
    return replace(reply, message=message, tool_calls=tuple(calls), finish_reason="tool_calls")
