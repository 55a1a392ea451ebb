"""Which of several skills in one place is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from jupyter_skills.errors import SkillNotFound, UsageProblem
from jupyter_skills.words import first_names

_MOST_SHOWN = 20


class Named(Protocol):
    """What can be chosen by its name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


T = TypeVar("T", bound=Named)


def chosen(there: Sequence[T], name: str | None, *, everything: bool, where: str) -> list[T]:
    """Those that are meant.

    Args:
        there: All there are.
        name: The one that was asked for, if any.
        everything: Whether all are.
        where: The place, for errors.

    Raises:
        SkillNotFound: There is none, or none of that name.
        UsageProblem: There are several, and nothing says which.
    """
    names = first_names([item.name for item in there], _MOST_SHOWN)
    if not there:
        raise SkillNotFound(f"There is no skill in '{where}'", "A skill is a folder with a SKILL.md in it")
    if name is not None:
        matching = [item for item in there if item.name == name]
        if not matching:
            raise SkillNotFound(f"There is no skill '{name}' in '{where}'", f"There are: {names}")
        if len(matching) > 1:
            raise UsageProblem(
                f"There are {len(matching)} skills '{name}' in '{where}'", "Name the folder, with #subdirectory=FOLDER"
            )
        return matching
    if len(there) > 1 and not everything:
        raise UsageProblem(
            f"There are {len(there)} skills in '{where}': {names}", "Choose one with #NAME, or take all with --all"
        )
    return list(there)
