"""What is wrong with a skill, said so that its author can mend it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One thing about a skill that its author should know.

    Args:
        rule: A short, stable name for the rule that is broken, such as ``name-directory``.
        message: What is wrong, as one sentence without a full stop.
        remedy: What to do about it, as one sentence without a full stop.
        line: The line in ``path`` that it is about, from 1; None where it is about no single line.
        path: The file it is about, relative to the skill's folder.
        severity: ``error``: the specification forbids it; ``warning``: it advises against it, or others may stumble.
    """

    rule: str
    message: str
    remedy: str
    line: int | None = None
    path: str = "SKILL.md"
    severity: Severity = "error"

    def __str__(self) -> str:
        """All of it in one line."""
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return " ".join(f"{where}: {self.severity}: {self.message}. {self.remedy}. [{self.rule}]".split())

    def as_json(self) -> dict[str, Any]:
        """All of it for ``json.dumps``."""
        return asdict(self)
