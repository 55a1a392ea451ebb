"""Paths as users give them, and files of ours that are written whole."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_skills.errors import UsageProblem


def expanded(path: str | Path) -> Path:
    """A path with ``~`` filled in.

    Raises:
        UsageProblem: There is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UsageProblem(f"There is no home for '{path}'", "Check the name after the '~'") from None


def working_folder() -> Path:
    """The folder that we are in.

    Raises:
        UsageProblem: It has been deleted.
    """
    try:
        return Path.cwd()
    except OSError:
        raise UsageProblem("The working folder is gone", "Go to one that exists, with '%cd'") from None


def replace_text(path: Path, text: str) -> None:
    """Writes a file so that whoever reads it meanwhile has all of the old or all of the new.

    Raises:
        OSError: It can't be written; then nothing of it stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
