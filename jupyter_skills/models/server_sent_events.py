"""Server-sent events, read from pieces that are cut anywhere.

Source: HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from typing import Any

# What ends the stream of some servers, and is no JSON.
_DONE = "[DONE]"


class EventReader:
    """Reads events whose data is a JSON object.

    A text with U+FFFD in the place of what is no UTF-8 is read on.
    """

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes | str | Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Takes the next piece, and yields the events that are whole with it.

        An event that ends in no blank line is none.

        Args:
            piece: How the stream goes on; an object is an event that was read already.

        Raises:
            ValueError: The data of an event is no JSON.
        """
        if isinstance(piece, Mapping):
            yield dict(piece)
            return
        self._held += self._decoder.decode(piece) if isinstance(piece, bytes) else piece
        while (line := self._line()) is not None:
            if (event := self._take(line)) is not None:
                yield event

    def _line(self) -> str | None:
        """The next whole line, without its end."""
        ends = [at for at in (self._held.find("\n"), self._held.find("\r")) if at >= 0]
        if not ends or self._held[min(ends) :] == "\r":  # a line feed may still belong to it
            return None
        end = min(ends)
        line = self._held[:end]
        self._held = self._held[end + (2 if self._held.startswith("\r\n", end) else 1) :]
        return line

    def _take(self, line: str) -> dict[str, Any] | None:
        """Takes a line; the event that ends with it."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "event":
                self._name = value
            return None
        text, name = "\n".join(self._data), self._name
        self._data, self._name = [], ""
        if not text or text == _DONE:
            return None
        data = json.loads(text)
        return {"type": name, **data} if isinstance(data, dict) else None
