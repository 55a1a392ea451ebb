"""What is asked, what is answered, and who can be asked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ApprovalRequest:
    """Code that wants to run in the live kernel.

    Args:
        tool: The tool that the model called.
        code: Exactly the code that will run.
        language: What it is written in.
    """

    tool: str
    code: str
    language: str = "python"

    @property
    def digest(self) -> str:
        """``sha256:…`` of the code: what a decision is bound to."""
        return "sha256:" + hashlib.sha256(self.code.encode()).hexdigest()


@dataclass(frozen=True)
class Decision:
    """An answer to one request, and to no other.

    Args:
        granted: Whether the code may run.
        by: Who decided: ``user``, ``-y`` or ``setting``.
        digest: The digest of the code it is about.
    """

    granted: bool
    by: str
    digest: str


class Approver(Protocol):
    """Someone, or some rule, that can be asked."""

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """Called once for each piece of code, before it runs.

        Returns:
            The decision, or None if this approver can't decide here and the next is to be asked.
        """
        ...
