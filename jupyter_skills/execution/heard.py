"""What comes out of one call, collected within bounds while it runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from jupyter_skills.execution.lines import Lines
from jupyter_skills.execution.output import (
    IMAGE_TYPES,
    PictureBudget,
    bounded,
    clean_piece,
    compact_error,
    from_mime_bundle,
)
from jupyter_skills.execution.result import Image, OnOutput

_MOST_IMAGE_BYTES = 64 * 1024 * 1024
# What is overwritten doesn't count against the limit; but there is an end to that, too, for those who keep all pieces.
_MOST_TOLD = 16


class Heard:
    """What came out of one call so far. Threads may tell it while others ask.

    Args:
        limit: How many characters to keep of its text, and of its error.
        on_output: Called with each piece of text, as long as no more than the limit stays of all so far.
    """

    def __init__(self, limit: int, on_output: OnOutput) -> None:
        self._limit = limit
        self._on_output = on_output
        self._lock = threading.RLock()  # what runs at any moment, such as __del__, may print
        self._told = 0
        self._budget = PictureBudget()
        self._image_bytes = 0
        self._displays_left_out = 0
        self._text = ""
        self._lines = Lines()
        self._cut = 0
        self._notes: list[str] = []
        self.error = ""
        self.images: list[Image] = []

    @property
    def text(self) -> str:
        """Its text: the beginning and the end, if it is long."""
        with self._lock:
            return bounded(self._text + self._lines.last, self._limit, self._cut)

    @property
    def notes(self) -> list[str]:
        """What was left out, and what was noted, one sentence each."""
        left_out = self._displays_left_out
        return [*([f"{left_out:,} displays were left out."] if left_out else []), *self._notes]

    def note(self, *sentences: str) -> None:
        """Adds sentences to the notes."""
        self._notes += sentences

    def print(self, raw: str) -> None:
        """Takes a piece of text."""
        most = 4 * self._limit
        cut = max(0, len(raw) - 2 * most)
        text = clean_piece(raw[:most] + raw[-most:] if cut else raw)
        with self._lock:
            before = self._cut + len(self._text) + len(self._lines.last)
            self._cut += cut
            self._take(text)
            room = min(self._limit - before, _MOST_TOLD * self._limit - self._told)
            told = text[: max(0, room)]
            self._told += len(told)
        if told:
            self._on_output(told)

    def clear(self) -> None:
        """Forgets the text and the pictures so far."""
        with self._lock:
            self._text = ""
            self._lines = Lines()
            self._cut = 0
            self.images.clear()
            self._told += 1
            told = self._told <= _MOST_TOLD * self._limit
        if told:
            self._on_output("\f")

    def message(self, kind: str, content: Mapping[str, Any]) -> None:
        """Takes a message from the kernel's iopub channel."""
        if kind == "stream":
            self.print(str(content.get("text", "")))
        elif kind in ("display_data", "execute_result"):
            self.display(content.get("data"))
        elif kind == "error":
            error = compact_error(content.get("ename", ""), content.get("evalue", ""), content.get("traceback"))
            self.error = bounded(error, self._limit)

    def display(self, bundle: object) -> None:
        """Takes what was displayed, by MIME type: a picture, or else its text."""
        if not isinstance(bundle, dict):
            return
        has_picture = any(kind in bundle for kind in IMAGE_TYPES.values())
        if has_picture and (self._budget.spent or self._image_bytes >= _MOST_IMAGE_BYTES):
            self._displays_left_out += 1
            return
        image, text = from_mime_bundle(bundle, self._budget)
        if image is not None:
            self.images.append(image)
            self._image_bytes += len(image.data)
        elif text:
            self.print(text + "\n")

    def _take(self, text: str) -> None:
        most = 4 * self._limit
        if len(self._text) > most:  # what lies between the beginning and the end is cut anyhow
            self._cut += len(self._text) - 2 * self._limit
            self._text = self._text[: self._limit] + self._text[-self._limit :]
        self._text += self._lines.add(text)
