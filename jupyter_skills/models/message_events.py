"""The events of Anthropic's messages, put together to the message that they tell of.

Source: Anthropic API reference, "Streaming messages" and "Errors".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_skills.models.client import ReasoningDelta, TextDelta
from jupyter_skills.models.messages import copied, object_in

# The status that a response has which is such an error from the start.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_FAILED = 500

# How litellm's adapters tell, as the provider's error, that the connection to it broke; that for OpenAI's responses
# has only the words of aiohttp, or of httpx, for it.
_BROKEN = (
    "litellm.MidStreamFallbackError",
    "litellm.APIConnectionError",
    "Response payload is not completed",
    "peer closed connection",
)


class EventError(Exception):
    """An ``error`` event.

    Args:
        error: What it says: ``type`` and ``message``.
    """

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.message = str(error.get("message") or "")
        super().__init__(self.message)
        self.body = dict(error)
        self.status_code = _STATUSES.get(str(error.get("type")), _FAILED)

    @property
    def broken(self) -> bool:
        """Whether it tells of a broken connection rather than of an error of the provider's."""
        return self.status_code == _FAILED and self.message.startswith(_BROKEN)


def piece_in(event: Mapping[str, Any]) -> TextDelta | ReasoningDelta | None:
    """The piece of text, or of thinking, that an event adds."""
    added = event.get("delta") if event.get("type") == "content_block_delta" else event.get("content_block")
    if isinstance(added, Mapping):
        kind = str(added.get("type")).removesuffix("_delta")
        if kind == "text" and added.get("text"):
            return TextDelta(added["text"])
        if kind == "thinking" and added.get("thinking"):
            return ReasoningDelta(added["thinking"])
    return None


class StreamedMessage:
    """A message that grows with each event; what nobody here knows stays in it as it came."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._stopped = False

    @property
    def complete(self) -> bool:
        """Whether the provider has said that it is done."""
        return self._stopped or self._message.get("stop_reason") is not None

    @property
    def inputs(self) -> dict[int, str]:
        """The input of each call as it was written, by the place of its block; it may be no JSON."""
        return {place: self._inputs[index] for place, index in enumerate(sorted(self._blocks)) if index in self._inputs}

    @property
    def response(self) -> dict[str, Any]:
        """The message as it would have come whole. An input that is no object is an empty one in it."""
        for index, text in self._inputs.items():
            self._blocks[index]["input"] = object_in(text) or {}
        return {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}

    def add(self, event: Mapping[str, Any]) -> None:
        """Takes the next event, which is not changed.

        Raises:
            EventError: It is an error.
            LookupError: It adds to a block that has not begun.
        """
        match event.get("type"):
            case "message_start":
                self._message = copied(event["message"])
                self._blocks = dict(enumerate(self._message.pop("content", None) or ()))
            case "content_block_start":
                self._blocks[event["index"]] = copied(event["content_block"])
            case "content_block_delta":
                self._grow(event["index"], event["delta"])
            case "message_delta":
                self._end(event)
            case "message_stop":
                self._stopped = True
            case "error":
                error = event.get("error")
                raise EventError(error if isinstance(error, Mapping) else {"message": str(error)})

    def _grow(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks[index]
        if "partial_json" in delta:
            if text := self._inputs.get(index, "") + delta["partial_json"]:
                self._inputs[index] = text
            return
        if "citation" in delta:
            block["citations"] = [*(block.get("citations") or ()), copied(delta["citation"])]
            return
        for name, added in delta.items():
            if name != "type":
                held = block.get(name)
                block[name] = held + added if isinstance(held, str) and isinstance(added, str) else copied(added)

    def _end(self, event: Mapping[str, Any]) -> None:
        usage = {**(self._message.get("usage") or {}), **_given(event.get("usage"))}
        others = {name: value for name, value in event.items() if name not in ("type", "delta", "usage")}
        self._message |= copied({**_given(others), **_given(event.get("delta")), "usage": usage})


def _given(fields: Any) -> dict[str, Any]:
    """What says something: a field that was told before is not taken back."""
    return {name: value for name, value in (fields or {}).items() if value is not None}
