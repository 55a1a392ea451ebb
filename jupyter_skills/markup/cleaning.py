"""A model's text without what would act where it is shown: a model can send any character."""

from __future__ import annotations

import re

# Of escape sequences (ECMA-48) those that are complete, within a line and of sensible length. What begins as one and is
# none loses its escape character only: it must not take the rest of the answer with it.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])")
_BEGUN = re.compile(r"(?:\r|\x1b(?:\[[0-?]{0,64}[ -/]{0,8}|\][^\x07\x1b\n]{0,2000}\x1b?)?)\Z")
_LINE_ENDS = re.compile(r"\r\n?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


class CleanPieces:
    """Cleans a text that comes in pieces: the result is the same, however it was cut."""

    def __init__(self) -> None:
        self._begun = ""

    def add(self, piece: str) -> str:
        """What can be shown now: without an escape sequence or line end at its end that may go on."""
        text = self._begun + piece
        begun = _BEGUN.search(text, max(0, len(text) - 2100))
        self._begun = begun[0] if begun else ""
        return clean(text[: len(text) - len(self._begun)])

    def end(self) -> str:
        """What was held back; nothing more comes."""
        rest, self._begun = self._begun, ""
        return clean(rest)


def clean(text: str) -> str:
    """Text without escape sequences and control characters; a carriage return ends a line, as in Markdown."""
    text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    return _CONTROLS.sub("", text).encode(errors="replace").decode()


def without_turning(text: str) -> str:
    """Text without the characters that make others stand in another order than they come.

    Scripts that are read from the right need none of them; and what joins emoji stays.
    """
    return text.translate(_TURNING)
