"""Consent that holds for more than one piece of code: what a person said not to be asked about again."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_skills.approval.request import FOR_THIS_CODE, ApprovalRequest, Approver, Decision

_Code = tuple[str, str, str, str]


class Consents:
    """What was consented to in one session, by digests: another byte is another thing. Implements ``Approver``.

    Consent to code is to that code as the same thing: the text of a skill's tool call from that version of the skill.
    Consent to a skill is to the tools of that version of it, and never to the model's own code.
    """

    def __init__(self) -> None:
        self._code: set[_Code] = set()
        self._skills: set[tuple[str, str]] = set()

    def remember(self, request: ApprovalRequest, decision: Decision) -> None:
        """Keeps what a decision says of the code to come, if it says anything."""
        if not decision.granted or decision.digest != request.digest:
            return
        if decision.choice == "code":
            self._code.add(_code_of(request))
        elif decision.choice == "skill" and request.skill and request.skill_digest:
            self._skills.add((request.skill, request.skill_digest))

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """See ``Approver``; None for what nobody has consented to yet."""
        if _code_of(request) in self._code:
            return Decision(granted=True, by=f"user, {FOR_THIS_CODE}", digest=request.digest)
        if request.skill and (request.skill, request.skill_digest) in self._skills:
            return Decision(granted=True, by=f"user, for {request.skill}", digest=request.digest)
        return None


@dataclass(frozen=True)
class Remembering:
    """Asks someone, and keeps what they don't want to be asked again. Implements ``Approver``.

    Args:
        consents: Where it is kept.
        person: Who is asked.
    """

    consents: Consents
    person: Approver

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """See ``Approver``."""
        decision = await self.consents.decide(request) or await self.person.decide(request)
        if decision is not None:
            self.consents.remember(request, decision)
        return decision


def _code_of(request: ApprovalRequest) -> _Code:
    return request.language, request.digest, request.skill, request.skill_digest
