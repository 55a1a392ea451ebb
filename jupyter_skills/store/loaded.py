"""What is in force in a kernel, as the registry has it in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from jupyter_skills.errors import SkillProblem
from jupyter_skills.skills.skill import Skill

_OF_A_KERNEL = re.compile(r"kernel-(?P<id>.*\D.*)\.json", re.ASCII)


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


@dataclass(frozen=True)
class BrokenSkill:
    """A skill that was put in force and can't be read now, by this kernel at least.

    Args:
        name: The name it was loaded by.
        problem: Why it can't be read.
        pinned: See ``LoadedSkill``.
        run: See ``LoadedSkill``.
        place: Where it should be: a folder, or ``store:…``.
    """

    name: str
    problem: SkillProblem
    pinned: bool = False
    run: str = ""
    place: str = ""


@dataclass(frozen=True)
class Kernel:
    """Which kernel it is.

    Args:
        owner: The user whose kernel it is.
        id: Its id at the Jupyter server.
        connection_file: The file that is there as long as the kernel is, over restarts too; empty if there is none.
    """

    owner: str
    id: str
    connection_file: str = ""

    @classmethod
    def of(cls, connection_file: str, owner: str) -> Kernel | None:
        """The kernel with that connection file; None if its name tells no id.

        A server's kernels have one, ``kernel-ID.json``. What is started otherwise has a number that comes again, or
        none, and nobody else would ask for its skills.
        """
        match = _OF_A_KERNEL.fullmatch(Path(connection_file).name)
        return cls(owner, match["id"], connection_file) if match else None
