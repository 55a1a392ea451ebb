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
        return Decision(self.granted, self.by, request.digest, "run" if self.granted else "decline")


@dataclass(frozen=True)
class Chain:
    """Asks one after the other until one decides. Implements ``Approver``.

    Args:
        approvers: Whom to ask, in order.
        otherwise: What the error says if nobody can decide.
    """

    approvers: Sequence[Approver]
    otherwise: str = "The model wants to run code in this kernel, and there is nobody here to ask"

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
            self.otherwise,
            "Use '-r docker', give your consent beforehand with '-y', or set JupyterSkills.approval to 'allow'",
        )


def approver_for(policy: str, people: Sequence[Approver], *, someone: bool = True) -> Approver:
    """Who decides under a policy.

    Args:
        policy: ``ask``, ``deny`` or ``allow``, as in ``JupyterSkills.approval``.
        people: Whom to ask under ``ask``.
        someone: Whether a person is there to read what becomes of it. Where nobody is, a refusal is an error, so that
            a notebook that is executed unattended fails rather than ends without having done what it was to do.
    """
    if policy == "allow":
        return Always(granted=True, by="setting")
    if policy == "ask":
        return Chain(people)
    if someone:
        return Always(granted=False, by="setting")
    return Chain((), "The model wants to run code in this kernel, which the setting JupyterSkills.approval denies")
