"""Files that a pattern such as ``data/**/*.csv`` finds, without walking a whole disk for them."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from fnmatch import fnmatch
from glob import has_magic

MOST_ENTRIES = 20_000
"""How many files and folders a pattern may lead through."""

_SEPARATORS = r"[\\/]+" if os.name == "nt" else "/+"


class TooMuchToLookAt(Exception):
    """A pattern leads through more files and folders than may be looked at."""


def matches(pattern: str, most: int = MOST_ENTRIES) -> Iterator[str]:
    """The files a pattern finds, those in nearer folders first; it means what it means to Python's ``glob``.

    ``**`` stands for folders at any depth, each of which is entered once, however many links lead to it. What begins
    with a dot is found only by what begins with one.

    Args:
        pattern: The pattern, without ``~``.
        most: How many entries of folders are looked at, not counting those of the first: however large, that is one
            folder, and no pattern would be narrower.

    Raises:
        TooMuchToLookAt: There are more.
    """
    drive, rest = os.path.splitdrive(pattern)
    steps = re.split(_SEPARATORS, rest)
    start = drive
    if len(steps) > 1 and not steps[0]:
        start, steps = drive + os.sep, steps[1:]
    waiting = deque([(start, tuple(steps))])
    entered: set[tuple[int, int, int]] = set()
    found: set[str] = set()
    listed: set[str] = set()
    looked = 0
    while waiting:
        folder, (step, *following) = waiting.popleft()
        left = tuple(following)
        if not has_magic(step):
            path = os.path.join(folder, step)
            if left and os.path.isdir(path):
                waiting.append((path, left))
            elif not left and path not in found and _is_file(path):
                found.add(path)
                yield path
            continue
        deep = step == "**"
        if deep and _is_entered(folder, len(left), entered):
            continue
        if deep:
            waiting.append((folder, left or ("*",)))
        counts = bool(listed) and folder not in listed
        listed.add(folder)
        for entry in _entries(folder):
            looked += counts
            if looked > most:
                raise TooMuchToLookAt
            hidden = entry.name.startswith(".")
            path = os.path.join(folder, entry.name)
            if deep:
                if not hidden and _is_folder(entry):
                    waiting.append((path, (step, *left)))
            elif fnmatch(entry.name, step) and (not hidden or step.startswith(".")):
                if left and _is_folder(entry):
                    waiting.append((path, left))
                elif not left and path not in found and _is_file(path):
                    found.add(path)
                    yield path


def _is_entered(folder: str, left: int, entered: set[tuple[int, int, int]]) -> bool:
    try:
        status = os.stat(folder or os.curdir)
    except (OSError, ValueError):
        return True
    key = (status.st_dev, status.st_ino, left)
    if key in entered:
        return True
    entered.add(key)
    return False


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            yield from entries
    except (OSError, ValueError):  # one that is gone, or that can't be read
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(path: str) -> bool:
    return bool(path) and os.path.isfile(path)
