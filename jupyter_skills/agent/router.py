"""Which executor runs what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jupyter_skills.agent.executor import Executor
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import LoadedSkill


def no_other(_: str) -> None:
    """For those who have one executor only."""


@dataclass(frozen=True)
class Router:
    """Chooses where code runs.

    Args:
        default: Runs the model's own code; None if it may run none.
        other: Called with ``docker`` or ``live`` for the executor of that place, when a skill wants another
            than the default, or may not use it; None if there is none.
        forced: Whether the user chose the default for this turn, so that what a skill wants does not count.
    """

    default: Executor | None
    other: Callable[[str], Executor | None] = no_other
    forced: bool = False

    def for_tools_of(self, entry: LoadedSkill, skill: Skill) -> Executor | None:
        """Runs the tools of a skill; None if they may not run.

        Args:
            entry: How the skill was put in force.
            skill: A snapshot of it.
        """
        usual = self.default.place if self.default else "off"
        place = usual if self.forced else entry.run or usual
        if place == "off":
            return None
        executor = self.default if place == usual else self.other(place)
        if executor is not None and not executor.accepts(skill):
            executor = self.other("docker")
        return executor or (self.default if self.default and self.default.accepts(skill) else None)
