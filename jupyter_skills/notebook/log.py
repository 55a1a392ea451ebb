"""Every piece of code that the model has had run in this notebook, for ``%skill log``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_skills.agent.answer import CodeRun


@dataclass(frozen=True)
class Logged:
    """One of them.

    Args:
        cell: The number of the cell that asked.
        moment: When that cell had ended, in seconds since the epoch.
        run: What ran.
    """

    cell: int
    moment: float
    run: CodeRun
