"""Lines that are overwritten while they come, as those of progress bars are."""

from __future__ import annotations

from jupyter_skills.execution.output import overwritten

_LONGEST = 4096


class Lines:
    """Cuts a text that comes in pieces into what stays and a last line that may still be overwritten.

    That line is bounded: what goes beyond a few thousand characters stays.
    """

    def __init__(self) -> None:
        self._last = ""

    def add(self, piece: str) -> str:
        """Takes the next piece; returns what has come to stay."""
        settled, end, line = (self._last + piece).rpartition("\n")
        # Of a line that is overwritten again and again only the last state is kept.
        self._last = line if "\r" not in line else overwritten(line) + "\r" * line.endswith("\r")
        settled = overwritten(settled) + end
        if len(self._last) > _LONGEST:
            settled += overwritten(self._last)
            self._last = ""
        return settled

    @property
    def last(self) -> str:
        """The last line as it looks now; empty after the end of a line."""
        return overwritten(self._last)
