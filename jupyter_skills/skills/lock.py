"""The lock: which skills a notebook was written with, to the byte.

``jupyter-skills.lock`` lies in the notebook's folder and belongs into version control. It is JSON: for each loaded
skill its name, version, digest, source, where it lies if that is near, and the digest of each file, so that
a change can be named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jupyter_skills.errors import LockBroken, SkillNotFound, SkillProblem
from jupyter_skills.skills.discovery import STORED, resolve
from jupyter_skills.skills.places import replace_text
from jupyter_skills.skills.skill import Skill
from jupyter_skills.words import first_names

LOCK_FILE = "jupyter-skills.lock"
_FORMAT = 1
_MOST_NAMED = 5
_PLACES = ("", "docker", "live", "off")
_NEAR = ("project", "folder", "archive")

Resolve = Callable[[str, Path], Skill]
"""Finds a skill by a reference and the notebook's folder; the one of ``store/finding.py`` looks into the store too."""


@dataclass(frozen=True)
class LockEntry:
    """One skill in a lock.

    Args:
        name: Its name.
        digest: Of all its files.
        source: Where it came from, as ``Source`` says it.
        version: What its metadata says, if anything.
        path: Where it lies, relative to the lock; ``store:ID@VERSION`` for a stored one; empty if it is found by its
            name.
        pinned: Whether its instructions go into every request.
        run: Where its code runs; empty for the usual place.
        files: The digest of each file.
    """

    name: str
    digest: str
    source: str = ""
    version: str = ""
    path: str = ""
    pinned: bool = False
    run: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, skill: Skill, folder: Path, *, pinned: bool = False, run: str = "") -> LockEntry:
        """The entry of a skill as it is now.

        Args:
            skill: The skill.
            folder: Where the lock will lie.
            pinned: See the class.
            run: See the class.

        Raises:
            LockBroken: Nobody could find the skill again.
            InvalidSkill: A file of it can't be read.
        """
        now = skill.snapshot()
        return cls(
            now.name,
            now.digest,
            now.source.kind if now.source.kind == "archive" else str(now.source),
            now.metadata.get("version", ""),
            _path(skill, folder),
            pinned,
            run,
            now.file_digests(),
        )

    def find(self, folder: Path, resolve: Resolve = resolve) -> Skill:
        """The skill, if it is still the same.

        Args:
            folder: Where the lock lies.
            resolve: Finds it.

        Raises:
            LockBroken: It has changed; the message says what in it.
            SkillProblem: It is not there, or can't be read.
        """
        skill = self._resolved(folder, resolve)
        now = skill.snapshot()
        if now.digest != self.digest:
            raise LockBroken(
                f"'{self.name}' is not the skill that was locked: {self.changes_to(self.of(now, folder))}",
                "Bring back the old files, or look at the new ones and run '%skill freeze' again",
            )
        return skill

    def renewed(self, folder: Path, resolve: Resolve = resolve) -> LockEntry:
        """The entry of the same skill as it is now; of a stored one, of its default version.

        Raises:
            SkillProblem: It is not there, or can't be read.
        """
        reference = self.path.partition("@")[0] if self.path.startswith(STORED) else self._reference(folder)
        return self.of(resolve(reference, folder), folder, pinned=self.pinned, run=self.run)

    def _resolved(self, folder: Path, resolve: Resolve) -> Skill:
        try:
            return resolve(self._reference(folder), folder)
        except SkillNotFound:
            if not self.path.startswith(STORED):
                raise
            try:  # another store may have the same files under another id, and the digest tells whether it does
                return resolve(self.name, folder)
            except SkillProblem:
                pass
            raise

    def _reference(self, folder: Path) -> str:
        if not self.path or self.path.startswith(STORED):
            return self.path or self.name
        return os.path.join(folder, self.path)

    def changes_to(self, other: LockEntry) -> str:
        """What is different in another entry of the same skill, in a few words."""
        ours, theirs = self.files, other.files
        kinds = {
            "changed": sorted(path for path in theirs.keys() & ours.keys() if theirs[path] != ours[path]),
            "new": sorted(theirs.keys() - ours.keys()),
            "gone": sorted(ours.keys() - theirs.keys()),
        }
        return (
            "; ".join(f"{kind}: {first_names(paths, _MOST_NAMED)}" for kind, paths in kinds.items() if paths)
            or "its digest differs"
        )


def write(entries: Iterable[LockEntry], folder: Path) -> Path:
    """Writes a lock; one that is there is replaced.

    Args:
        entries: The skills, in the order they were loaded.
        folder: Where to.

    Raises:
        LockBroken: It can't be written.
    """
    path = folder / LOCK_FILE
    content = {"format": _FORMAT, "skills": [asdict(entry) for entry in entries]}
    try:
        replace_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise LockBroken(f"'{path}' can't be written: {error.strerror}", "Make the folder writable") from None
    return path


def read(folder: Path) -> list[LockEntry]:
    """The entries of the lock in a folder.

    Raises:
        LockBroken: There is none, or it is damaged or of a later version.
    """
    path = folder / LOCK_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LockBroken(f"There is no '{LOCK_FILE}' in '{folder}'", "Make one with '%skill freeze'") from None
    except OSError as error:
        raise LockBroken(f"'{path}' can't be read: {error.strerror}", "Check its permissions") from None
    except (ValueError, RecursionError) as error:
        raise LockBroken(f"'{path}' is not a lock: {error}", "Make a new one with '%skill freeze'") from None
    if isinstance(content, dict) and isinstance(content.get("format"), int) and content["format"] > _FORMAT:
        raise LockBroken(f"'{path}' was made by a later release", "Upgrade jupyter-agent-skills")
    try:
        return [_entry(row) for row in content["skills"]]
    except (KeyError, TypeError, AttributeError):
        raise LockBroken(f"'{path}' is not a lock", "Make a new one with '%skill freeze'") from None


def find_all(folder: Path, resolve: Resolve = resolve) -> list[tuple[LockEntry, Skill]]:
    """All skills of the lock in a folder, each found to be the same to the byte; all of them or none.

    Args:
        folder: Where the lock lies.
        resolve: Finds each.

    Raises:
        LockBroken: There is no usable lock, or a skill is gone or has changed; all such are named at once.
    """
    found: list[tuple[LockEntry, Skill]] = []
    wrong: list[SkillProblem] = []
    for entry in read(folder):
        try:
            found.append((entry, entry.find(folder, resolve)))
        except SkillProblem as error:
            wrong.append(error)
    if wrong:
        raise LockBroken(". ".join(error.message for error in wrong), wrong[0].next_step)
    return found


def _entry(row: dict[str, Any]) -> LockEntry:
    texts = {key: row.get(key, "") for key in ("name", "digest", "source", "version", "path", "run")}
    files = row["files"]
    pinned = row.get("pinned", False)
    if not all(isinstance(text, str) for text in [*texts.values(), *files, *files.values()]) or not texts["digest"]:
        raise TypeError
    if not isinstance(pinned, bool) or texts["run"] not in _PLACES:
        raise TypeError
    return LockEntry(**texts, pinned=pinned, files=files)


def _path(skill: Skill, folder: Path) -> str:
    if skill.source.kind == "store":
        return f"{STORED}{skill.source.detail}"
    if skill.source.kind not in _NEAR:
        if skill.folder is None:
            raise LockBroken(f"'{skill.name}' has no files that could be found again", "Put it into a folder")
        return ""
    place = skill.folder or Path(skill.source.detail or os.devnull).expanduser().absolute()
    if not place.exists() or place == Path(os.devnull):
        raise LockBroken(f"'{skill.name}' has no files that could be found again", "Put it into a folder")
    try:
        path = Path(os.path.relpath(place, folder.resolve())).as_posix()
        return f"./{path}" if path.startswith(STORED) else path
    except ValueError:  # another drive
        return str(place)
