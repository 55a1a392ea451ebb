"""Turning a cell that starts with ``%%ask`` into one that awaits.

Only a cell that awaits lets the kernel do anything else meanwhile: deliver clicks, cancel at once, run the
whole turn on the kernel's own event loop. A magic can't await, so the cell is rewritten before it runs.
Registered among IPython's input transformers; raw history keeps what was typed.
"""

from __future__ import annotations

import re

_CELL = re.compile(r"%%ask(?![\w?])")
_LINE = re.compile(r"%ask(?![\w?])")


def await_ask(lines: list[str]) -> list[str]:
    """Called by IPython with the lines of each cell; leaves all other cells as they are."""
    if not lines:
        return lines
    first = lines[0].rstrip("\n")
    if match := _CELL.match(first):
        return [_call("ask_cell", first[match.end() :], "".join(lines[1:]))]
    alone = not any(line.strip() for line in lines[1:])
    if alone and (match := _LINE.match(first)):
        return [_call("ask_line", first[match.end() :])]
    return lines


# IPython leaves such a transformer out when it only asks whether what was typed so far is complete. It
# then still sees a cell magic, which is complete once a blank line follows.
await_ask.has_side_effects = True  # type: ignore[attr-defined]


def _call(method: str, *texts: str) -> str:
    return f"await get_ipython().jupyter_skills.{method}({', '.join(map(repr, texts))})\n"
