"""Skills' files laid out for the live kernel: copies, so that what runs is what was trusted and consented to."""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.notebook.owned import owned_folder
from jupyter_skills.skills.files import FileEntry, FolderFiles, MemoryFiles, in_memory
from jupyter_skills.skills.layout import lay_out
from jupyter_skills.skills.skill import Skill

_DIGITS = 16


class SkillCopies:
    """Folders with the files of skills, one for each version of each; gone with the session."""

    def __init__(self) -> None:
        self._folder = ""

    def lay_out(self, skill: Skill) -> str:
        """The folder of a skill's files as they are; made anew if anything in it has changed since it was made.

        Args:
            skill: A snapshot.

        Raises:
            SkillProblem: It can't be made.
        """
        if not self._folder:
            self._folder = owned_folder("jupyter-skills-copies-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        version = skill.digest.removeprefix("sha256:")[:_DIGITS]
        target = Path(self._folder, version, skill.name)
        files = in_memory(skill.content)
        if not _is_laid_out(files, target):
            shutil.rmtree(target, ignore_errors=True)
            lay_out(files, target)
        return str(target)

    def clear(self) -> None:
        """Deletes all of them."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""


def _is_laid_out(files: MemoryFiles, folder: Path) -> bool:
    """Whether a folder holds these files and nothing else: no compiled module either, which would run instead."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    there = {path.relative_to(folder).as_posix() for path in found}
    if there != set(files.paths()):
        return False
    now = FolderFiles(folder)
    try:
        return all(_same(now.entry(path), files.entry(path)) for path in there)
    except InvalidSkill:
        return False


def _same(one: FileEntry, other: FileEntry) -> bool:
    return one.content == other.content and one.executable == other.executable
