"""Looking for skills below a folder, and reading only what has changed since the last look."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_skills.errors import SkillProblem
from jupyter_skills.skills.discovery.roots import Root
from jupyter_skills.skills.files import FolderFiles, is_skipped_folder
from jupyter_skills.skills.manifest import manifest_in
from jupyter_skills.skills.skill import Skill

DEEPEST = 6
MOST_FOLDERS = 20_000
# Two changes within one tick of the file system's clock look the same, so what is younger is not relied on.
_SETTLED_NS = 200_000_000

# Where the folder that is named may be a skill itself.
_MAY_BE_SKILLS = ("path", "package")

Facts = tuple[int, int, int, int]


@dataclass
class Seen:
    """A folder with a SKILL.md.

    Args:
        folder: The folder.
        real: The same without links.
        manifest: The name of the SKILL.md as it is written there.
        skill: The skill; None where it can't be read.
        error: Why it can't be read.
    """

    folder: str
    real: str
    manifest: str
    skill: Skill | None = None
    error: SkillProblem | None = None
    _facts: Facts | None = None

    def refresh(self, root: Root) -> bool:
        """Reads the SKILL.md if it has changed; whether there still is one."""
        path = f"{self.folder}{os.sep}{self.manifest}"
        facts = _facts(path)
        if facts is None:
            return False
        if facts != self._facts:
            self._read(root)
            self._facts = _settled(facts)
        return True

    def _read(self, root: Root) -> None:
        folder = Path(self.folder)
        try:
            self.skill = Skill.from_manifest(FolderFiles(folder), self.manifest, folder.name, root.source)
            self.error = None
        except SkillProblem as error:
            self.skill, self.error = None, error


@dataclass
class _Tree:
    """What is known of the folders below one root."""

    folders: dict[str, Facts | None] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    complete: bool = True

    def unchanged(self) -> bool:
        """Whether no folder has got, or lost, an entry."""
        return all(facts is not None and _facts(path) == facts for path, facts in self.folders.items())


class SkillIndex:
    """The skills below folders, remembered from look to look; safe to use from several threads."""

    def __init__(self) -> None:
        self._trees: dict[Root, _Tree] = {}
        self._lock = threading.Lock()

    def look(self, root: Root) -> tuple[list[Seen], bool]:
        """The skills below a root as they are now, in order of their paths.

        Returns:
            The skills, the unreadable ones among them; and whether all folders were looked at: of a very
            large tree only the first are.
        """
        with self._lock:
            tree = self._trees.get(root)
            if tree is None or not tree.unchanged() or not all(entry.refresh(root) for entry in tree.seen.values()):
                tree = self._trees[root] = _walk(root, tree.seen if tree else {})
            return list(tree.seen.values()), tree.complete


def _walk(root: Root, known: dict[str, Seen]) -> _Tree:
    tree = _Tree()
    entered: set[str] = set()
    pending = [(str(root.folder), 0)]
    while pending:
        path, depth = pending.pop()
        real = os.path.realpath(path)
        if depth > DEEPEST or real in entered:  # the latter is a link to where we have been
            continue
        if len(entered) >= MOST_FOLDERS:
            tree.complete = False
            break
        entered.add(real)
        facts = _facts(path)
        names, folders = _entries(path)
        manifest = manifest_in(names)
        if manifest is not None and (depth or root.source.kind in _MAY_BE_SKILLS):
            old = known.get(path)
            entry = old if old is not None and old.manifest == manifest else Seen(path, real, manifest)
            if entry.refresh(root):
                tree.seen[path] = entry
            continue
        if root.within is not None and not Path(real).is_relative_to(root.within):
            continue  # or a checkout could have the whole machine searched
        tree.folders[path] = _settled(facts) if facts else None
        pending += [(f"{path}{os.sep}{name}", depth + 1) for name in sorted(folders, reverse=True)]
    return tree


def _entries(path: str) -> tuple[list[str], list[str]]:
    """The names of the plain files, and of the folders worth a look, in a folder."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir():
                    if not is_skipped_folder(entry.name):
                        folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
    except OSError:
        pass
    return files, folders


def _facts(path: str) -> Facts | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _settled(facts: Facts) -> Facts | None:
    return facts if time.time_ns() - max(facts[0], facts[1]) > _SETTLED_NS else None
