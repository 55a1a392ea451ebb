"""Thoughts at the beginning of a model's text, read while it comes: ``<think>…</think>``."""

from __future__ import annotations

_BEGIN, _END = "<think>", "</think>"


class ThoughtReader:
    """Takes thoughts and text apart; only thoughts at the very beginning are any."""

    def __init__(self) -> None:
        self._held = ""
        self._place = "before"

    def feed(self, piece: str, *, last: bool = False) -> tuple[str, str]:
        """Takes the next piece.

        Args:
            piece: How the text goes on.
            last: Whether that is its end.

        Returns:
            What is certain now of the thoughts, and of the text.
        """
        held, self._held = self._held + piece, ""
        thought = ""
        if self._place == "before":
            begun = held.lstrip()
            if begun.startswith(_BEGIN):
                self._place, held = "within", begun.removeprefix(_BEGIN)
            elif _BEGIN.startswith(begun) and not last:
                self._held = held
                return "", ""
            else:
                self._place = "beyond"
        if self._place == "within":
            thought, end, held = held.partition(_END)
            if end:
                self._place = "after"
            else:
                thought, self._held = _split(thought, last=last)
        if self._place == "after":
            held = held.lstrip()
            self._place = "beyond" if held else "after"
        return thought, held


def _split(thought: str, *, last: bool) -> tuple[str, str]:
    """A thought, and what at its end may be the beginning of the mark that ends it."""
    lengths = range(min(len(_END) - 1, len(thought)), 0, -1)
    kept = 0 if last else next((length for length in lengths if _END.startswith(thought[-length:])), 0)
    return thought[: len(thought) - kept], thought[len(thought) - kept :]
