"""Words for people: sizes, long texts and lists, and what strangers wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from unicodedata import category

CHARACTERS_PER_TOKEN = 4


def plain(text: str) -> str:
    """Text for a terminal, with every character that would steer or deceive it as an escape."""
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in "\n\t" or category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    # JSON has no such characters below the blank, and stays JSON with the others written in its own way.
    return (ascii if character < " " else json.dumps)(character)[1:-1]


def tokens(text: str) -> int:
    """About how many tokens a text is; models differ."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``1,100 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """A text of at most this many characters; one that was cut ends in ``…``."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_rows(rows: Sequence[str], most: int) -> list[str]:
    """The first rows of a list, and one that says how many more there are."""
    more = len(rows) - most
    return [*rows[:most], *([f"… and {more} more"] if more > 0 else [])]


def first_names(names: Sequence[str], most: int) -> str:
    """The first of some names in one line: ``a, b and 7 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table whose cells stand below each other; rows may be of different lengths."""
    rows = list(rows)
    widths: dict[int, int] = {}
    for row in rows:
        for position, cell in enumerate(row):
            widths[position] = max(widths.get(position, 0), len(cell))
    return ["  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
