"""The names in an archive: each must lie inside of the skill's folder, and mean the same file on every computer."""

from __future__ import annotations

import re
import unicodedata

from jupyter_skills.errors import InvalidArchive
from jupyter_skills.skills.files import MOST_FILES
from jupyter_skills.words import shortened

_LONGEST_PART, _LONGEST_PATH, _DEEPEST = 255, 1024, 64
_LONGEST_SHOWN = 120
# A Finder archive holds a twin of every file, and one from a developer's folder what is skipped anyway.
MOST_NAMES = 4 * MOST_FILES
_RENAME = "Rename it, and zip the skill again"

# What would break a line, end it for a terminal or turn its direction, and halves of characters.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_DRIVE = re.compile("[A-Za-z]:")


def parts_of(path: str) -> list[str]:
    """The parts of a relative path, each of which names something right inside of the one before it."""
    parts = path.split("/")
    if _UNPRINTABLE.search(path):
        reason = "has characters in it that can't be shown"
    elif "\\" in path:
        reason = "has a backslash in it"
    elif not path or path.startswith("/"):
        reason = "is not that of a file inside of a folder"
    elif any(part in ("", ".", "..") or _DRIVE.match(part) for part in parts):
        reason = "could lead elsewhere"
    elif (
        len(parts) > _DEEPEST
        or len(path.encode()) > _LONGEST_PATH
        or any(len(part.encode()) > _LONGEST_PART for part in parts)
    ):
        reason = "is too long"
    else:
        return parts
    raise InvalidArchive(f"The name {shown(path)} {reason}", _RENAME)


class TakenNames:
    """The names taken so far, as a file system sees them that minds neither case nor Unicode form."""

    def __init__(self) -> None:
        self._taken: dict[tuple[int, str], tuple[str, bool, int]] = {}

    def take(self, parts: list[str], is_folder: bool) -> None:
        """Takes a path and the folders above it.

        Raises:
            InvalidArchive: Something else has it.
        """
        above = 0
        for depth, part in enumerate(parts):
            inner = is_folder or depth < len(parts) - 1
            folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", part).casefold())
            known = self._taken.get((above, folded))
            if known is None:
                known = self._taken[above, folded] = (part, inner, len(self._taken) + 1)
            elif known[0] != part:
                both = f"{shown('/'.join(parts[: depth + 1]))} beside {shown(known[0])}"
                raise InvalidArchive(f"There is {both}, one and the same name on many computers", _RENAME)
            elif not (known[1] and inner):
                raise InvalidArchive(f"There is more than one {shown('/'.join(parts[: depth + 1]))}", _RENAME)
            above = known[2]
        if len(self._taken) > MOST_NAMES:
            raise too_many(MOST_NAMES)


def shown(name: str) -> str:
    """A name in quotes, without anything that a terminal would obey, and of bearable length."""
    return repr(shortened(name, _LONGEST_SHOWN))


def too_many(most: int) -> InvalidArchive:
    """The error of an archive with more names than a skill may have."""
    return InvalidArchive(
        f"The archive holds more than {most:,} files and folders", "Keep data of that size outside of the skill"
    )
