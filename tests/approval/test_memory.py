"""What a person said not to be asked about again: bound to exactly that code, or to that version of a skill."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jupyter_skills.approval.memory import Consents, Remembering
from jupyter_skills.approval.request import ApprovalRequest, Choice, Decision

OWN = ApprovalRequest("run_python", "x = 1")
TOOL = ApprovalRequest("mine__count", "call()", skill="mine", skill_digest="sha256:1")


class Person:
    """Answers as told, and counts the questions."""

    def __init__(self, choice: Choice = "run", *, granted: bool = True, digest: str = "") -> None:
        self.choice, self.granted, self.digest, self.asked = choice, granted, digest, 0

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        self.asked += 1
        return Decision(self.granted, "user", self.digest or request.digest, self.choice, skill=request.skill)


async def asked_again(first: ApprovalRequest, choice: Choice, second: ApprovalRequest) -> bool:
    person = Person(choice)
    remembering = Remembering(Consents(), person)
    await remembering.decide(first)
    decision = await remembering.decide(second)
    assert decision is not None
    assert decision.digest == second.digest
    return person.asked == 2


@pytest.mark.parametrize(
    ("first", "choice", "second", "again"),
    [
        (OWN, "run", OWN, True),
        (OWN, "code", OWN, False),
        (OWN, "code", replace(OWN, code="x = 1 "), True),
        (OWN, "code", replace(OWN, code="x = 2"), True),
        (OWN, "code", replace(OWN, language="shell"), True),
        (OWN, "code", replace(OWN, skill="mine", skill_digest="sha256:1"), True),
        (OWN, "skill", OWN, True),
        (TOOL, "skill", replace(TOOL, code="call(2)"), False),
        (TOOL, "skill", replace(TOOL, tool="mine__other", code="other()"), False),
        (TOOL, "skill", replace(TOOL, skill_digest="sha256:2"), True),
        (TOOL, "skill", replace(TOOL, skill="yours"), True),
        (TOOL, "skill", OWN, True),
        (TOOL, "skill", replace(OWN, code=TOOL.code), True),
        (TOOL, "code", TOOL, False),
        (TOOL, "code", replace(TOOL, skill_digest="sha256:2"), True),
        (TOOL, "code", replace(TOOL, skill="", skill_digest=""), True),
    ],
)
async def test_another_byte_is_asked_about_again(
    first: ApprovalRequest, choice: Choice, second: ApprovalRequest, *, again: bool
) -> None:
    assert await asked_again(first, choice, second) is again


async def test_it_says_who_consented_and_to_what() -> None:
    consents = Consents()
    consents.remember(OWN, Decision(True, "user", OWN.digest, "code"))
    consents.remember(TOOL, Decision(True, "user", TOOL.digest, "skill"))
    decisions = [await consents.decide(request) for request in (OWN, TOOL)]
    assert [decision and (decision.granted, decision.words) for decision in decisions] == [
        (True, "user, for exactly this code"),
        (True, "user, for mine"),
    ]


@pytest.mark.parametrize(
    "decision",
    [
        Decision(False, "user", OWN.digest, "code"),
        Decision(True, "user", ApprovalRequest("run_python", "other").digest, "code"),
        Decision(False, "user", OWN.digest, "edit"),
        Decision(False, "user", OWN.digest, "decline", "no"),
    ],
    ids=["declined", "for other code", "edited", "declined with a reason"],
)
async def test_what_is_no_consent_to_this_code_is_not_kept(decision: Decision) -> None:
    consents = Consents()
    consents.remember(OWN, decision)
    assert await consents.decide(OWN) is None


async def test_a_skill_without_a_digest_is_not_kept() -> None:
    assert await asked_again(replace(TOOL, skill_digest=""), "skill", replace(TOOL, skill_digest=""))


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision(True, "user", "", how="typed"), "user, typed"),
        (Decision(True, "user", "", "code", how="by button"), "user, by button, for exactly this code"),
        (Decision(True, "user", "", "skill", how="typed", skill="mine"), "user, typed, for mine"),
        (Decision(False, "user", "", "edit", how="by button"), "user, by button, taken to edit"),
        (Decision(False, "user", "", "decline", how="by button"), "user, by button, declined"),
        (Decision(False, "user", "", "decline", "not now", "typed"), "user, typed, declined: not now"),
        (Decision(True, "-y", ""), "-y"),
        (Decision(False, "setting", "", "decline"), "setting, declined"),
    ],
)
def test_a_decision_can_be_put_into_words(decision: Decision, words: str) -> None:
    assert decision.words == words
