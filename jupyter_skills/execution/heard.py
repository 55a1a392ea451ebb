"""What comes out of one call, collected within bounds while it runs."""

from __future__ import annotations

from typing import Any

from jupyter_skills.execution.output import bounded, clean_text, compact_error, from_mime_bundle
from jupyter_skills.execution.result import Image, OnOutput

_MOST_IMAGES = 50


class Heard:
    """What came out of one call so far.

    Args:
        limit: How many characters to keep of its text, and of its error.
        on_output: Called with each piece of text, up to the limit.
    """

    def __init__(self, limit: int, on_output: OnOutput) -> None:
        self._limit = limit
        self._on_output = on_output
        self._shown = 0
        self._text = ""
        self.error = ""
        self.images: list[Image] = []
        self.notes: list[str] = []

    @property
    def text(self) -> str:
        """Its text: the beginning and the end, if it is long."""
        return bounded(self._text, self._limit)

    def print(self, raw: str) -> None:
        """Takes a piece of text."""
        text = clean_text(raw)
        if len(self._text) > 4 * self._limit:  # what lies between the beginning and the end is cut anyhow
            self._text = self._text[: self._limit] + self._text[-self._limit :]
        self._text += text
        if self._shown < self._limit:
            self._on_output(text[: self._limit - self._shown])
            self._shown += len(text)

    def message(self, kind: str, content: dict[str, Any]) -> None:
        """Takes a message from the kernel's iopub channel."""
        if kind == "stream":
            self.print(str(content.get("text", "")))
        elif kind in ("display_data", "execute_result"):
            image, text = from_mime_bundle(content.get("data") or {})
            if image is not None and len(self.images) < _MOST_IMAGES:
                self.images.append(image)
            elif text:
                self.print(text + "\n")
        elif kind == "error":
            error = compact_error(content.get("ename", ""), content.get("evalue", ""), content.get("traceback"))
            self.error = bounded(error, self._limit)
