"""Words about sizes."""

from __future__ import annotations

import json
from unicodedata import category

CHARACTERS_PER_TOKEN = 4


def plain(text: str) -> str:
    """Text for a terminal, with every character that would steer or deceive it as an escape."""
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    match category(character):
        case "Cc" | "Cf" | "Cs" | "Zl" | "Zp" if character not in "\n\t":
            return json.dumps(character)[1:-1]  # so that JSON stays JSON
    return character


def tokens(text: str) -> int:
    """About how many tokens a text is; models differ."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``1,100 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
