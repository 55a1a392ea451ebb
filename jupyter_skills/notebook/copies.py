"""Skills' files laid out for the live kernel: copies, so that what runs is what was trusted and consented to."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jupyter_skills.skills.files import in_memory
from jupyter_skills.skills.layout import lay_out
from jupyter_skills.skills.skill import Skill

_DIGITS = 16


class SkillCopies:
    """Folders with the files of skills, one for each version of each; gone with the session."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def lay_out(self, skill: Skill) -> str:
        """The folder of a skill's files as they are; made at the first use.

        Args:
            skill: A snapshot.

        Raises:
            SkillProblem: It can't be made.
        """
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="jupyter-skills-copies-", ignore_cleanup_errors=True)
        version = skill.digest.removeprefix("sha256:")[:_DIGITS]
        target = Path(self._folder.name, version, skill.name)
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            lay_out(in_memory(skill.content), target)
        return str(target)

    def clear(self) -> None:
        """Deletes all of them."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
