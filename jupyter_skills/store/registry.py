"""The skills in force in one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

from jupyter_skills.errors import SkillNotFound, SkillProblem
from jupyter_skills.skills.skill import Skill


@dataclass(frozen=True)
class LoadedSkill:
    """A skill in force.

    Args:
        skill: The skill as it was read when it was loaded.
        pinned: Whether its instructions go into every request instead of waiting to be asked for.
        run: Where its code runs, ``docker``, ``live`` or ``off``; empty for the usual place.
    """

    skill: Skill
    pinned: bool = False
    run: str = ""


class Registry:
    """The skills in force in one kernel, in the order they were loaded; kept in memory."""

    def __init__(self) -> None:
        self._loaded: dict[str, LoadedSkill] = {}

    def __iter__(self) -> Iterator[LoadedSkill]:
        return iter(tuple(self._loaded.values()))

    def __len__(self) -> int:
        return len(self._loaded)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded

    def load(self, skill: Skill, *, pinned: bool = False, run: str = "") -> LoadedSkill:
        """Puts a skill in force; one of the same name is replaced, and keeps its place in the order."""
        self._loaded[skill.name] = LoadedSkill(skill, pinned, run)
        return self._loaded[skill.name]

    def refreshed(self, names: Iterable[str] | None = None) -> tuple[list[LoadedSkill], list[SkillProblem]]:
        """Reads skills again, so that what was changed in their folders since is seen.

        Args:
            names: Which ones; all if not given.

        Returns:
            The skills as they are now; and what is wrong with those that can't be read any more, which stay in
            force as they were, but are not among the former.
        """
        fresh: list[LoadedSkill] = []
        broken: list[SkillProblem] = []
        for name in list(self._loaded if names is None else names):
            entry = self.get(name)
            try:
                self._loaded[name] = replace(entry, skill=entry.skill.refreshed())
                fresh.append(self._loaded[name])
            except SkillProblem as error:
                step = f"Mend it, or take it out of force: '%skill unload {name}'"
                broken.append(type(error)(f"The skill '{name}' is left out: {error.message}", step))
        return fresh, broken

    def get(self, name: str) -> LoadedSkill:
        """A skill in force.

        Raises:
            SkillNotFound: No skill of that name is in force.
        """
        if name not in self._loaded:
            close = get_close_matches(name, self._loaded, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else "See '%skill list' for those that are"
            raise SkillNotFound(f"No skill '{name}' is loaded", hint)
        return self._loaded[name]

    def unload(self, name: str) -> None:
        """Takes a skill out of force.

        Raises:
            SkillNotFound: No skill of that name is in force.
        """
        self.get(name)
        del self._loaded[name]

    def clear(self) -> None:
        """Takes all skills out of force."""
        self._loaded.clear()
