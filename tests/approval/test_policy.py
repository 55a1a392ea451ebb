"""Who decides whether code may run in the live kernel."""

from __future__ import annotations

import pytest

from jupyter_skills.approval.policy import Always, Chain, approver_for
from jupyter_skills.approval.request import LONGEST_REASON, ApprovalRequest, Decision, reason_of
from jupyter_skills.errors import ConsentUnavailable

REQUEST = ApprovalRequest("run_python", "print(1)")


class Person:
    """Answers as told; ``None`` is one who can't be asked here."""

    def __init__(self, granted: bool | None, digest: str = REQUEST.digest) -> None:
        self.granted, self.digest, self.asked = granted, digest, 0

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        self.asked += 1
        return None if self.granted is None else Decision(self.granted, "user", self.digest)


async def test_the_first_who_can_be_asked_decides() -> None:
    absent, present, later = Person(None), Person(granted=False), Person(granted=True)
    decision = await Chain([absent, present, later]).decide(REQUEST)
    assert (decision.granted, later.asked) == (False, 0)


async def test_nobody_to_ask_is_an_error_and_never_a_consent() -> None:
    for people in ([], [Person(None)]):
        with pytest.raises(ConsentUnavailable, match="nobody here to ask"):
            await Chain(people).decide(REQUEST)


async def test_a_consent_to_other_code_is_no_consent() -> None:
    other = ApprovalRequest("run_python", "print(2)").digest
    with pytest.raises(ConsentUnavailable):
        await Chain([Person(granted=True, digest=other)]).decide(REQUEST)


@pytest.mark.parametrize(("policy", "granted"), [("deny", False), ("allow", True)])
async def test_a_rule_asks_nobody(policy: str, *, granted: bool) -> None:
    person = Person(not granted)
    decision = await approver_for(policy, [person]).decide(REQUEST)
    assert decision is not None
    assert (decision.granted, decision.by, person.asked) == (granted, "setting", 0)


async def test_the_user_decides_when_the_rule_is_to_ask() -> None:
    decision = await approver_for("ask", [Person(granted=True)]).decide(REQUEST)
    assert decision is not None
    assert (decision.granted, decision.by) == (True, "user")


async def test_a_decision_names_the_code_it_is_about() -> None:
    assert (await Always(granted=True, by="-y").decide(REQUEST)).digest == REQUEST.digest
    assert ApprovalRequest("run_python", "print(1) ").digest != REQUEST.digest


@pytest.mark.parametrize("policy", ["ask", "deny"])
async def test_where_nobody_is_it_is_an_error_that_names_the_ways_out(policy: str) -> None:
    with pytest.raises(ConsentUnavailable) as caught:
        await approver_for(policy, [Person(None)], someone=False).decide(REQUEST)
    assert all(way in str(caught.value) for way in ("-r docker", "-y", "JupyterSkills.approval"))
    assert "\n" not in str(caught.value)


async def test_where_nobody_is_the_explicit_setting_still_allows() -> None:
    decision = await approver_for("allow", [], someone=False).decide(REQUEST)
    assert decision is not None
    assert decision.granted


def test_a_reason_is_one_line_of_bounded_length() -> None:
    assert reason_of("  not \n now\t") == "not now"
    assert len(reason_of("x" * 10_000)) == LONGEST_REASON
