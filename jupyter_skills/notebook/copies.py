"""Skills' files laid out for the live kernel: copies, so that what runs is what was trusted and consented to."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.skills.files import FolderFiles, MemoryFiles, in_memory
from jupyter_skills.skills.layout import lay_out
from jupyter_skills.skills.skill import Skill

_DIGITS = 16


class SkillCopies:
    """Folders with the files of skills, one for each version of each; gone with the session."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def lay_out(self, skill: Skill) -> str:
        """The folder of a skill's files as they are; made anew if anything in it has changed since it was made.

        Args:
            skill: A snapshot.

        Raises:
            SkillProblem: It can't be made.
        """
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="jupyter-skills-copies-", ignore_cleanup_errors=True)
        version = skill.digest.removeprefix("sha256:")[:_DIGITS]
        target = Path(self._folder.name, version, skill.name)
        files = in_memory(skill.content)
        if not _is_laid_out(files, target):
            shutil.rmtree(target, ignore_errors=True)
            lay_out(files, target)
        return str(target)

    def clear(self) -> None:
        """Deletes all of them."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _is_laid_out(files: MemoryFiles, folder: Path) -> bool:
    """Whether a folder holds these files and nothing else: no compiled module either, which would run instead."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    there = {path.relative_to(folder).as_posix() for path in found}
    if there != set(files.paths()):
        return False
    now = FolderFiles(folder)
    try:
        return all(now.entry(path).content == files.entry(path).content for path in there)
    except InvalidSkill:
        return False
