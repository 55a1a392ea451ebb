"""Several answers of Anthropic's shape as one: to the caller a call has one message, whatever it took.

Source: Anthropic API reference, "Streaming Messages", event types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jupyter_skills.models.messages import copied

_BLOCK_EVENTS = ("content_block_start", "content_block_delta", "content_block_stop")
_OF_THE_MESSAGE = ("id", "type", "role", "model", "content")


class OneMessage:
    """Makes the events of one message from those of all answers, as they come.

    Args:
        names: The caller's own tools; calls of others are not for the caller to see.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._begun = False
        self._next = 0
        self._places: dict[int, int] = {}

    def taken_in(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """What the caller sees of an event; how the message ends is not known yet."""
        kind = event.get("type")
        if kind == "message_start":
            self._places = {}
            if not self._begun:
                self._begun = True
                yield dict(event)
        elif kind == "content_block_start":
            if is_for_the_caller(event.get("content_block") or {}, self._names):
                self._places[event["index"]] = self._next
                self._next += 1
                yield {**event, "index": self._places[event["index"]]}
        elif kind in _BLOCK_EVENTS:
            if event["index"] in self._places:
                yield {**event, "index": self._places[event["index"]]}
        elif kind == "ping":
            yield dict(event)

    def ended(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The end of the message.

        Args:
            message: The whole call's answer.
        """
        if not self._begun:
            yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        delta = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
        if message.get("container"):
            delta["container"] = message["container"]
        rest = {name: value for name, value in message.items() if name not in {*_OF_THE_MESSAGE, *delta}}
        yield {"type": "message_delta", "delta": delta, **rest}
        yield {"type": "message_stop"}


def is_for_the_caller(block: Mapping[str, Any], names: frozenset[str]) -> bool:
    """Whether a block is anything else than a call of a tool of ours."""
    return block.get("type") != "tool_use" or block.get("name") in names


def blocks_for_the_caller(blocks: Iterable[Mapping[str, Any]], names: frozenset[str]) -> list[dict[str, Any]]:
    """Copies of those that are.

    Args:
        blocks: The content of a message.
        names: The caller's own tools.
    """
    return [copied(block) for block in blocks if is_for_the_caller(block, names)]
