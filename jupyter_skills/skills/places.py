"""Paths as users give them."""

from __future__ import annotations

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
