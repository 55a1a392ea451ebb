"""The sandbox's folders from inside: files in, a listing, files out.

Process 1 uses it, and so does the kernel itself where there is no process 1 of ours (``sandbox/remote/``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from typing import IO

WORK, SKILLS = "/work", "/skills"
_NEVER_PRODUCTS = {"__pycache__", ".ipynb_checkpoints"}
_MOST_LOOKED_AT = 20_000
_MOST_NAMED = 2 * 1024 * 1024  # characters of paths: the answer has to fit into one frame
_FULL = 64 * 1024


def unpack(archive: IO[bytes], target: str, replace: bool) -> None:
    """Unpacks a tar of regular files that the host made.

    Args:
        archive: The tar.
        target: The folder to fill.
        replace: Whether what lay there before goes away.
    """
    if replace:
        shutil.rmtree(target, ignore_errors=True)
    with tarfile.open(fileobj=archive) as members:
        for member in members:
            path = os.path.join(target, member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            content = members.extractfile(member)
            assert content is not None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # were it a link, its target would be written to
            try:
                with open(path, "wb") as file:
                    shutil.copyfileobj(content, file)
            except OSError:
                os.unlink(path)  # half a file would look like a whole one
                raise
            os.chmod(path, member.mode)


def listing(limit: int, root: str = WORK) -> tuple[list[tuple[str, int, int]], bool]:
    """The regular files below a folder, as path, size in bytes and time of change in nanoseconds.

    Args:
        limit: How many to list at most.
        root: The folder.

    Returns:
        The files, and whether these are all.
    """
    found: list[tuple[str, int, int]] = []
    folders, looked_at, room = [root], 0, _MOST_NAMED
    while folders:
        try:
            entries = os.scandir(folders.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                looked_at += 1
                room -= len(entry.path)
                if len(found) >= limit or looked_at > _MOST_LOOKED_AT or room < 0:
                    return sorted(found), False
                with contextlib.suppress(OSError, UnicodeError):
                    entry.path.encode()
                    facts = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(facts.st_mode) and entry.name not in _NEVER_PRODUCTS:
                        folders.append(entry.path)
                    elif stat.S_ISREG(facts.st_mode):
                        found.append((os.path.relpath(entry.path, root), facts.st_size, facts.st_mtime_ns))
    return sorted(found), True


def content(path: str, limit: int, chunk: int) -> Iterator[bytes]:
    """The bytes of one regular file, if it is within the limit.

    Args:
        path: Its path; a relative one is below the working folder.
        limit: In bytes.
        chunk: How many bytes to give at once.

    Raises:
        OSError: It can't be read.
        ValueError: It is something else than a regular file, or too large.
    """
    number = os.open(os.path.join(WORK, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(number, "rb") as file:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is not a regular file")
        if facts.st_size > limit:
            raise ValueError(f"its {facts.st_size:,} bytes are over the limit of {limit:,}")
        while limit > 0 and (piece := file.read(min(chunk, limit))):
            limit -= len(piece)
            yield piece


def full() -> list[str]:
    """The folders that have no room left."""
    found = []
    for folder in (WORK, "/tmp", SKILLS):  # noqa: S108 -- the container's own
        with contextlib.suppress(OSError):
            room = os.statvfs(folder)
            if room.f_bavail * room.f_frsize < _FULL or (room.f_files and not room.f_favail):
                found.append(folder)
    return found
