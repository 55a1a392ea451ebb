"""What is asked, what is answered, and who can be asked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal, Protocol

from jupyter_skills.words import shortened

Choice = Literal["run", "code", "skill", "edit", "decline"]
"""What a person may choose: run it; run it and don't ask again for exactly this code; allow this skill in this
session; take the code into a cell of one's own; decline."""

GRANTING: tuple[Choice, ...] = ("run", "code", "skill")
FOR_THIS_CODE = "for exactly this code"
LONGEST_REASON = 500
"""Characters of a reason that are passed on."""


def reason_of(words: str) -> str:
    """What someone said of why they decline, in one line and no longer than a reason may be."""
    return shortened(" ".join(words.split()), LONGEST_REASON)


@dataclass(frozen=True)
class ApprovalRequest:
    """Code that wants to run in the live kernel.

    Args:
        tool: The tool that the model called.
        code: Exactly the code that will run.
        language: What it is written in.
        skill: The skill whose tool it is; empty for the model's own code.
        skill_digest: The digest of that skill's files.
        source: The text of the skill's file that the code runs, as far as it is text.
        modules: The names under which that file can import files of the skill, whatever else is called so.
    """

    tool: str
    code: str
    language: str = "python"
    skill: str = ""
    skill_digest: str = ""
    source: str = field(default="", repr=False)
    modules: tuple[str, ...] = field(default=(), repr=False)

    @property
    def digest(self) -> str:
        """``sha256:…`` of the code: what a decision is bound to."""
        return "sha256:" + hashlib.sha256(self.code.encode()).hexdigest()


@dataclass(frozen=True)
class Decision:
    """An answer to one request, and to no other.

    Args:
        granted: Whether the code may run.
        by: Who decided: ``user``, ``-y`` or ``setting``; for a consent that was given to more than one piece of code
            also to what.
        digest: The digest of the code it is about.
        choice: What a person chose.
        reason: Why they declined, in their words, for the model; bounded.
        how: How they were asked: ``by button`` or ``typed``.
        skill: The skill that they allowed, if it is one that they chose to allow.
    """

    granted: bool
    by: str
    digest: str
    choice: Choice = "run"
    reason: str = ""
    how: str = ""
    skill: str = ""

    @property
    def words(self) -> str:
        """Who decided, how and what, for a log: ``user, typed, for exactly this code``."""
        chosen = {"code": FOR_THIS_CODE, "skill": f"for {self.skill}", "edit": "taken to edit"}.get(self.choice, "")
        if self.choice == "decline":
            chosen = f"declined: {self.reason}" if self.reason else "declined"
        return ", ".join(filter(None, (self.by, self.how, chosen)))


class Approver(Protocol):
    """Someone, or some rule, that can be asked."""

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """Called once for each piece of code, before it runs.

        Returns:
            The decision, or None if this approver can't decide here and the next is to be asked.
        """
        ...
