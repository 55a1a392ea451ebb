"""Turning a cell that starts with ``%%ask`` into one that awaits.

Only a cell that awaits lets the kernel do anything else meanwhile: deliver clicks, cancel at once, run the
whole turn on the kernel's own event loop. A magic can't await, so the cell is rewritten before it runs.
Registered before all of IPython's input transformers, some of which change what looks like an interpreter's prompt
(``>>>``, ``In [1]:``) anywhere in a cell; raw history keeps what was typed.
"""

from __future__ import annotations

import re
import sys
from itertools import dropwhile

from IPython.core.interactiveshell import InteractiveShell

_MAGICS = {InteractiveShell.run_cell_magic.__code__, InteractiveShell.run_line_magic.__code__}
_CELL = re.compile(r"(?P<indent>[ \t]*)%%ask(?![\w?])")
_LINE = re.compile(r"[ \t]*%ask(?![\w?])")


def await_ask(lines: list[str]) -> list[str]:
    """Called by IPython with the lines of each cell; leaves all other cells as they are."""
    text = "".join(dropwhile(_is_blank, lines))  # IPython takes more for ends of lines than typing makes
    first, _, rest = text.partition("\n")
    if not (match := _CELL.match(first) or _LINE.match(first)) or _in_magic():
        return lines
    words = first[match.end() :].removesuffix("\r")
    if match.re is _CELL:
        return [_call("ask_cell", words, _dedented(rest, match["indent"]))]
    return lines if rest.strip() else [_call("ask_line", words)]


# IPython leaves such a transformer out when it only asks whether what was typed so far is complete. It
# then still sees a cell magic, which is complete once a blank line follows.
await_ask.has_side_effects = True  # type: ignore[attr-defined]


def _is_blank(line: str) -> bool:
    return not line.strip()


def _dedented(text: str, indent: str) -> str:
    """The lines as IPython takes those of a cell that is indented as a whole."""
    return "\n".join(line.removeprefix(indent) for line in text.split("\n")) if indent else text


def _in_magic() -> bool:
    """Whether another magic runs this cell, such as ``%%time``: these don't await, so the plain magic has to do."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_code in _MAGICS:
            return True
    return False


def _call(method: str, *texts: str) -> str:
    return f"await get_ipython().jupyter_skills.{method}({', '.join(map(repr, texts))})\n"
