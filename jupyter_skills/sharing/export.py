"""Skills written to the disk, whole or not at all, and never over something else by accident."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from jupyter_skills.errors import UsageProblem
from jupyter_skills.skills.files import in_memory
from jupyter_skills.skills.layout import lay_out
from jupyter_skills.skills.manifest import manifest_in
from jupyter_skills.skills.places import expanded
from jupyter_skills.skills.skill import Skill

_TEMPORARY = ".jupyter-skills-"
_FORCE = "Name another place with -o, or replace it with --force"


def target_of(output: str | None, name: str, suffix: str) -> Path:
    """The path that is to be written.

    Args:
        output: What the user gave: a folder, ending in ``/`` unless it is there, or the path itself; None for here.
        name: The skill's name.
        suffix: What the name is followed by in a folder.
    """
    if output is None:
        return Path(f"{name}{suffix}")
    path = expanded(output)
    return path / f"{name}{suffix}" if output.endswith(("/", os.sep)) or path.is_dir() else path


def write_zip(content: bytes, target: Path, *, force: bool) -> None:
    """Writes an archive.

    Args:
        content: The archive.
        target: Its path; folders above it are made.
        force: Whether a file there may be replaced.

    Raises:
        UsageProblem: There is something already, or it can't be written.
    """
    if target.is_dir() or (os.path.lexists(target) and not force):
        raise UsageProblem(f"There is a '{target}' already", _FORCE)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # In a folder that only we may write, so that nobody can lay a link where the file will be.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_TEMPORARY) as folder:
            temporary = Path(folder, "new")
            temporary.write_bytes(content)
            _put(temporary, target, force=force)
    except OSError as error:
        raise UsageProblem(f"'{target}' can't be written: {error.strerror}", "Name another file with -o") from None


def write_folder(skill: Skill, target: Path, *, force: bool) -> None:
    """Lays out a skill's files.

    Args:
        skill: The skill.
        target: The path of its folder; folders above it are made.
        force: Whether a skill's folder there may be replaced. Nothing else ever is.

    Raises:
        UsageProblem: There is something already, or it can't be written.
        SkillProblem: A file can't be laid out.
    """
    there = os.path.lexists(target)
    if there and not (force and _is_skill(target)):
        raise UsageProblem(f"There is a '{target}' already", _FORCE if _is_skill(target) else "Name another with -o")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_TEMPORARY) as temporary:
            lay_out(in_memory(skill.content), Path(temporary, "new"))
            if there:
                target.rename(Path(temporary, "old"))
            try:
                Path(temporary, "new").rename(target)
            except OSError:
                if there:
                    Path(temporary, "old").rename(target)
                raise
    except OSError as error:
        raise UsageProblem(f"'{target}' can't be written: {error.strerror}", "Name another folder with -o") from None


def _put(temporary: Path, target: Path, *, force: bool) -> None:
    """Gives a file its name; if it may not replace another, then not one that came meanwhile either."""
    if force:
        temporary.replace(target)
        return
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise UsageProblem(f"There is a '{target}' already", _FORCE) from None
    except OSError:  # a file system without links
        temporary.rename(target)


def _is_skill(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and manifest_in(os.listdir(folder)) is not None
    except OSError:
        return False
