"""The rules that decide without a person, and the chain that ends in an error if nobody can decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_skills.approval.request import ApprovalRequest, Approver, Decision
from jupyter_skills.errors import ConsentUnavailable


@dataclass(frozen=True)
class Always:
    """Gives the same answer to everything. Implements ``Approver``.

    Args:
        granted: The answer.
        by: Whose answer it is.
    """

    granted: bool
    by: str

    async def decide(self, request: ApprovalRequest) -> Decision:
        """See ``Approver``."""
        return Decision(self.granted, self.by, request.digest)


@dataclass(frozen=True)
class Chain:
    """Asks one after the other until one decides. Implements ``Approver``.

    Args:
        approvers: Whom to ask, in order.
    """

    approvers: Sequence[Approver]

    async def decide(self, request: ApprovalRequest) -> Decision:
        """The first decision.

        Raises:
            ConsentUnavailable: Nobody could decide. Never is that taken for consent.
        """
        for approver in self.approvers:
            decision = await approver.decide(request)
            if decision is not None and decision.digest == request.digest:
                return decision
        raise ConsentUnavailable(
            "The model wants to run code in this kernel, and there is nobody here to ask",
            "Use '-r docker', or give your consent beforehand with '-y'",
        )


def approver_for(policy: str, people: Sequence[Approver]) -> Approver:
    """Who decides under a policy.

    Args:
        policy: ``ask``, ``deny`` or ``allow``, as in ``JupyterSkills.approval``.
        people: Whom to ask under ``ask``.
    """
    if policy == "ask":
        return Chain(people)
    return Always(policy == "allow", "setting")
