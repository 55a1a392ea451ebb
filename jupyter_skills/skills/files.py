"""The files of a skill: in a folder, or held in memory as an archive or a snapshot gave them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jupyter_skills.errors import InvalidSkill

# None of these belongs to what the author wrote, and all change without the skill changing.
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git", "node_modules", ".ipynb_checkpoints", ".venv", "__macosx"})
_SKIPPED_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})

ARCHIVE_SUFFIXES = (".zip", ".skill")

# Bounds on what a skill may be, far above any skill seen in use (1,100 files).
MOST_FILES = 10_000
MOST_BYTES = 64 * 1024 * 1024
PLAIN_MODE = 0o644


@dataclass(frozen=True)
class FileEntry:
    """One file.

    Args:
        content: Its bytes.
        mode: Its permission bits, such as ``0o755``.
    """

    content: bytes = field(repr=False)
    mode: int = PLAIN_MODE

    @property
    def executable(self) -> bool:
        """Whether its owner may execute it."""
        return bool(self.mode & 0o100)


class SkillFiles(Protocol):
    """Where a skill's files come from. ``Skill`` asks it; paths are relative, with ``/``."""

    @property
    def root(self) -> Path | None:
        """The folder they lie in, if they do."""
        ...

    def paths(self) -> list[str]:
        """All files, sorted; links, devices and what version control or tools leave behind are left out.

        Raises:
            InvalidSkill: There are too many.
        """
        ...

    def entry(self, path: str) -> FileEntry:
        """The file at a path that ``paths`` lists.

        Raises:
            InvalidSkill: It can't be read.
        """
        ...


@dataclass(frozen=True)
class FolderFiles:
    """Files in a folder, read when they are asked for. Implements ``SkillFiles``."""

    root: Path

    def paths(self) -> list[str]:
        """See ``SkillFiles``."""
        found: list[str] = []
        for where, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not is_skipped_folder(name)]
            inside = os.path.relpath(where, self.root)
            for name in names:
                path = name if inside == "." else f"{inside}/{name}".replace(os.sep, "/")
                if (
                    not is_junk([name], is_folder=False)
                    and _is_text(path)
                    and _is_plain_file(os.path.join(where, name))
                ):
                    found.append(path)
            if len(found) > MOST_FILES:
                raise InvalidSkill(
                    f"'{self.root}' holds more than {MOST_FILES:,} files", "Keep data of that size outside of the skill"
                )
        return sorted(found)

    def entry(self, path: str) -> FileEntry:
        """See ``SkillFiles``."""
        try:
            # A link or a pipe that took the file's place since the listing is not followed, or waited for.
            with open(self.root / path, "rb", opener=_open_plain) as file:
                facts = os.fstat(file.fileno())
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            reason, remedy = error.strerror, "Check its permissions"
            if error.errno in (errno.ELOOP, errno.EINVAL):
                reason, remedy = "it is a link or no file", "Put the file itself there"
            raise InvalidSkill(f"The file '{path}' in '{self.root}' can't be read: {reason}", remedy) from None
        if len(content) > MOST_BYTES:
            raise InvalidSkill(
                f"The file '{path}' in '{self.root}' has more than {MOST_BYTES >> 20} MiB",
                "Keep data of that size outside of the skill",
            )
        return FileEntry(content, stat.S_IMODE(facts.st_mode) & 0o777)


@dataclass(frozen=True)
class MemoryFiles:
    """Files held in memory. Implements ``SkillFiles``."""

    entries: Mapping[str, FileEntry] = field(repr=False)
    root: Path | None = None

    def paths(self) -> list[str]:
        """See ``SkillFiles``."""
        return sorted(self.entries)

    def entry(self, path: str) -> FileEntry:
        """See ``SkillFiles``."""
        return self.entries[path]


def in_memory(files: SkillFiles) -> MemoryFiles:
    """All files as they are now.

    Raises:
        InvalidSkill: One can't be read, or they are too large for a skill.
    """
    if isinstance(files, MemoryFiles):
        return files
    entries: dict[str, FileEntry] = {}
    room = MOST_BYTES
    for path in files.paths():
        entries[path] = files.entry(path)
        room -= len(entries[path].content)
        if room < 0:
            raise InvalidSkill(
                f"'{files.root}' holds more than {MOST_BYTES >> 20} MiB", "Keep data of that size outside of the skill"
            )
    return MemoryFiles(entries, files.root)


def is_skipped_folder(name: str) -> bool:
    """Whether a folder of this name belongs to a tool, not to a skill."""
    return name.lower() in _SKIPPED_FOLDERS


def is_junk(parts: Sequence[str], *, is_folder: bool) -> bool:
    """Whether a path, given by its parts, is that of something a tool left behind."""
    folders = parts if is_folder else parts[:-1]
    last = parts[-1].lower()
    return any(map(is_skipped_folder, folders)) or (not is_folder and (last.startswith("._") or last in _SKIPPED_FILES))


def _is_text(path: str) -> bool:
    """Whether a path is text; one that is not could not be told to a model."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _open_plain(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is no file")
    return descriptor


def _is_plain_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
