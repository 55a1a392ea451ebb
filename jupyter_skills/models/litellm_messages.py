"""Reaches models as Anthropic's messages API does, through litellm; its errors end in ``litellm_errors.py``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

from jupyter_skills.errors import ModelProblem
from jupyter_skills.models.client import (
    ModelClient,
    ModelFacts,
    ModelRequest,
    Piece,
    Prices,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from jupyter_skills.models.litellm_arguments import LATER, completed
from jupyter_skills.models.litellm_call import Call, is_torn
from jupyter_skills.models.litellm_errors import broke_off, translated
from jupyter_skills.models.litellm_facts import facts_of, prices_in
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.models.litellm_said import statuses
from jupyter_skills.models.message_blocks import (
    counted_as,
    messages_of,
    reply_of,
    system_of,
    thinking_in,
    tools_counted_as,
    tools_of,
    usage_of,
    wrapped,
)
from jupyter_skills.models.message_events import EventError, StreamedMessage, piece_in
from jupyter_skills.models.pump import Pump
from jupyter_skills.models.server_sent_events import EventReader

OnEvent = Callable[[dict[str, Any]], None]


class MessagesClient:
    """Speaks in Anthropic's form with every provider that litellm does. Implements ``ModelClient``.

    A message or a tool that holds itself under ``NATIVE`` is sent as that, all others are translated; so are the
    replies, whose blocks go back as they came.

    Args:
        facts: Is asked for all but answers.
        system: The caller's own system parameter, before that of the requests.
        on_event: Called with each event of a stream as it comes, before its piece is yielded; not with errors.
    """

    def __init__(
        self,
        facts: ModelClient,
        system: str | Sequence[Mapping[str, Any]] | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        self._facts = facts
        self._system = system
        self._on_event = on_event

    async def facts(self, model: str, arguments: Mapping[str, Any]) -> ModelFacts:
        """See ``ModelClient``."""
        return await self._facts.facts(model, arguments)

    async def count(self, request: ModelRequest) -> int:
        """See ``ModelClient``."""
        messages = counted_as(request.messages)
        if self._system:
            messages = [*counted_as([wrapped({"role": "system", "content": self._system})]), *messages]
        return await self._facts.count(replace(request, messages=messages, tools=tools_counted_as(request.tools)))

    def draft(self, request: ModelRequest) -> ModelRequest:
        """See ``ModelClient``."""
        return self._facts.draft(request)

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """See ``ModelClient``; a reply that comes whole is yielded in pieces too, one of each kind."""
        litellm = await imported()
        arguments = completed(litellm, request)
        parameters = self._parameters(request, arguments)
        pump = Pump(
            lambda: Call(litellm.anthropic.messages.acreate(**parameters)),
            stream=request.stream,
            silence=request.timeout,
        )
        reader, streamed = EventReader(), StreamedMessage()
        with translated(litellm, request, arguments), _connected(request, pump):
            async with aclosing(pump.batches()) as batches:
                async for batch in batches:
                    for event in (event for piece in batch for event in reader.feed(piece)):
                        streamed.add(event)
                        if self._on_event is not None:
                            self._on_event(event)
                        if (added := piece_in(event)) is not None:
                            yield added
            if request.stream and (not streamed.complete or is_torn(pump.response)):
                raise broke_off(request)
            response = streamed.response if request.stream else pump.response
            cost = _cost(litellm, request, response)
            reply = reply_of(response, request.messages, streamed.inputs, cost)
        if not request.stream:
            if thinking := thinking_in(response):
                yield ReasoningDelta(thinking)
            if reply.text:
                yield TextDelta(reply.text)
        yield reply

    def _parameters(self, request: ModelRequest, arguments: Mapping[str, Any]) -> dict[str, Any]:
        parameters = {
            **arguments,
            "model": request.model,
            "messages": messages_of(request.messages),
            "stream": request.stream,
            "timeout": request.timeout + LATER,
        }
        if tools := tools_of(request.tools):
            parameters["tools"] = tools
        if system := system_of(self._system, request.messages):
            parameters["system"] = system
        return parameters


@contextmanager
def _connected(request: ModelRequest, pump: Pump) -> Iterator[None]:
    """Tells the end of a connection in the middle of a stream from what the provider says."""
    try:
        yield
    except (ModelProblem, TimeoutError):
        raise
    except EventError as error:
        if error.broken:
            raise broke_off(request) from error
        raise
    except Exception as error:
        if request.stream and pump.response is not None and not statuses(error):
            raise broke_off(request) from error
        raise


def _cost(litellm: Any, request: ModelRequest, response: Mapping[str, Any]) -> float | None:
    usage = usage_of(response)
    if usage == Usage():  # nobody has counted
        free = facts_of(litellm, request.model, request.arguments).prices == Prices(0.0, 0.0)
        return 0.0 if free else None
    if (prices := prices_in(request.arguments)) is not None:
        return prices.cost(usage)
    try:
        return float(
            litellm.completion_cost(
                completion_response=response,
                model=request.model,
                custom_llm_provider=request.arguments.get("custom_llm_provider"),
            )
        )
    except Exception:  # noqa: BLE001 -- an unknown price is normal, and litellm has many error classes for it
        return None
