"""Turning a cell that starts with ``%%ask`` into one that awaits.

Only a cell that awaits lets the kernel do anything else meanwhile: deliver clicks, cancel at once, run the
whole turn on the kernel's own event loop. A magic can't await, so the cell is rewritten before it runs.
Registered before all of IPython's input transformers, some of which change what looks like an interpreter's prompt
(``>>>``, ``In [1]:``) anywhere in a cell; raw history keeps what was typed.
"""

from __future__ import annotations

import re
from itertools import dropwhile

_CELL = re.compile(r"(?P<indent>[ \t]*)%%ask(?![\w?])")
_LINE = re.compile(r"[ \t]*%ask(?![\w?])")


def await_ask(lines: list[str]) -> list[str]:
    """Called by IPython with the lines of each cell; leaves all other cells as they are."""
    cell = list(dropwhile(_is_blank, lines))
    if not cell:
        return lines
    first = cell[0].rstrip("\n")
    if match := _CELL.match(first):
        return [_call("ask_cell", first[match.end() :], "".join(_dedented(cell[1:], match["indent"])))]
    if all(map(_is_blank, cell[1:])) and (match := _LINE.match(first)):
        return [_call("ask_line", first[match.end() :])]
    return lines


# IPython leaves such a transformer out when it only asks whether what was typed so far is complete. It
# then still sees a cell magic, which is complete once a blank line follows.
await_ask.has_side_effects = True  # type: ignore[attr-defined]


def _is_blank(line: str) -> bool:
    return not line.strip()


def _dedented(lines: list[str], indent: str) -> list[str]:
    """The lines as IPython takes those of a cell that is indented as a whole."""
    return [line.removeprefix(indent) for line in lines]


def _call(method: str, *texts: str) -> str:
    return f"await get_ipython().jupyter_skills.{method}({', '.join(map(repr, texts))})\n"
