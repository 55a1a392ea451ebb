"""Where the SKILL.md of a skill is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from jupyter_skills.errors import SkillNotFound

MANIFEST = "SKILL.md"


def located(path: str | Path) -> Path:
    """The folder that a path to a folder, or to a SKILL.md, means.

    Raises:
        SkillNotFound: There is none.
    """
    if not str(path).strip():
        raise SkillNotFound("No path is given", "Give a skill's folder")
    try:
        folder = Path(path).expanduser()
        if folder.name.lower() == MANIFEST.lower() and not folder.is_dir():
            folder = folder.parent
        if not folder.is_dir():
            raise SkillNotFound(f"There is no folder '{path}'", "Check the path, or see '%skill list --available'")
    except (OSError, RuntimeError) as error:  # expanduser raises the latter for a user that isn't there
        reason = getattr(error, "strerror", None) or error
        raise SkillNotFound(f"'{path}' can't be read: {reason}", "Give a skill's folder") from None
    return folder


def manifest_of(folder: Path) -> str | None:
    """The name of the SKILL.md in a folder as it is written there; None if there is none.

    Raises:
        SkillNotFound: The folder can't be read.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.lower() == MANIFEST.lower() and entry.is_file()]
    except OSError as error:
        raise SkillNotFound(f"'{folder}' can't be read: {error.strerror}", "Check its permissions") from None
    return manifest_in(names)


def manifest_in(paths: Iterable[str]) -> str | None:
    """The SKILL.md among the paths of a skill's files, however it is written; None if it is not there."""
    return min((path for path in paths if path.lower() == MANIFEST.lower()), default=None)
