"""Which executor runs what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jupyter_skills.agent.executor import Executor
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import LoadedSkill

CAUTIOUS_FIRST = ("off", "docker", "live")
USUAL = "docker"


def most_cautious(places: Iterable[str]) -> str:
    """The most cautious of some places; empty names count for nothing, and for none there is the usual one."""
    return min(filter(None, places), key=CAUTIOUS_FIRST.index, default=USUAL)


def place_for(cell: str, setting: str, skill: str, *, trusted: bool) -> str:
    """Where the code of a skill's own tools runs: ``docker``, ``live`` or ``off``.

    What the user says holds, and a skill can only tighten it; where the user says nothing the skill's choice holds.

    Args:
        cell: What the user says for this turn; empty if nothing.
        setting: What the user has set; empty if nothing. Counts where the cell says nothing.
        skill: What was chosen for the skill when it was loaded; empty if nothing.
        trusted: Whether the skill is trusted; the code of others never runs live.
    """
    place = most_cautious((cell or setting, skill))
    return place if trusted or place != "live" else "docker"


def own_place(cell: str, setting: str, skills: Iterable[str]) -> str:
    """Where the model's own code runs.

    Args:
        cell: As for ``place_for``. It is said of this very code, so nothing else counts beside it.
        setting: As for ``place_for``.
        skills: What was chosen for each skill in force.
    """
    return cell or most_cautious((setting, *skills))


def no_other(_: str) -> None:
    """For those who have one executor only."""


@dataclass(frozen=True)
class Router:
    """Chooses where code runs.

    Args:
        default: Runs the model's own code; None if it may run none.
        other: Called with ``docker`` or ``live`` for the executor of that place, when a skill wants another
            than the default, or may not use it; None if there is none.
        forced: Whether the user chose the default for this turn.
        setting: Where the user's settings say that code runs; empty if they say nothing.
    """

    default: Executor | None
    other: Callable[[str], Executor | None] = no_other
    forced: bool = False
    setting: str = ""

    def for_tools_of(self, entry: LoadedSkill, skill: Skill) -> Executor | None:
        """Runs the tools of a skill; None if they may not run.

        Args:
            entry: How the skill was put in force.
            skill: A snapshot of it.
        """
        cell = self._usual if self.forced else ""
        place = place_for(cell, self.setting, entry.run, trusted=True)
        executor = self._executor(place)
        if executor is not None and not executor.accepts(skill):
            place = place_for(cell, self.setting, entry.run, trusted=False)
            executor = self._executor(place)
        if executor is None and place != "off" and self.default is not None and self.default.accepts(skill):
            cautious = CAUTIOUS_FIRST.index(self.default.place) <= CAUTIOUS_FIRST.index(place)
            executor = self.default if cautious else None
        return executor

    @property
    def _usual(self) -> str:
        return self.default.place if self.default else "off"

    def _executor(self, place: str) -> Executor | None:
        if place == "off":
            return None
        return self.default if place == self._usual else self.other(place)
