"""JSON that was sent to us."""

from __future__ import annotations

import json
from typing import Any

from jupyter_skills.errors import UsageProblem

# Reading it holds up the server's loop; nothing that is asked for here comes near this.
_MOST = 1 << 20


def object_in(text: bytes | str, what: str) -> dict[str, Any]:
    """A JSON object that can be stored, and be written as JSON again.

    Python's own parser takes more than that: numbers without end, halves of characters, and NUL, which no database
    keeps.

    Args:
        text: The JSON.
        what: What it is, to begin a sentence with.

    Raises:
        UsageProblem: It is no such thing.
    """
    if len(text) > _MOST:
        raise UsageProblem(f"{what} has more than {_MOST >> 10} KiB", "Keep that much in a file")
    try:
        value = json.loads(text)
        written = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise UsageProblem(f"{what} is no JSON, or none that can be kept", "Send JSON in UTF-8") from None
    if b"\\u0000" in written.replace(rb"\\", b""):
        raise UsageProblem(f"{what} has a NUL character in it", "Leave it out")
    if not isinstance(value, dict):
        raise UsageProblem(f"{what} is JSON, but no object", "Send something like {…}")
    return value
