"""Words about sizes."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4


def tokens(text: str) -> int:
    """About how many tokens a text is; models differ."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``1,100 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
