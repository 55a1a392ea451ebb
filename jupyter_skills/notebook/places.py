"""Where the code of one ``%%ask`` can run in a notebook."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jupyter_skills.agent.executor import AfterConsent, Executor, Isolated
from jupyter_skills.agent.router import Router, own_place
from jupyter_skills.errors import UsageProblem
from jupyter_skills.store.loaded import LoadedSkill

if TYPE_CHECKING:
    from jupyter_skills.approval.request import Approver
    from jupyter_skills.notebook.session import Session


class Places:
    """Makes the executors of one turn.

    Args:
        session: Whose sandbox, kernel and settings.
        consent_given: Whether the user has consented beforehand to all code of this turn.
    """

    def __init__(self, session: Session, *, consent_given: bool = False) -> None:
        self._session = session
        self._consent_given = consent_given
        self._edits = session.edits.turn()

    def router(self, wanted: str | None, skills: Sequence[LoadedSkill]) -> Router:
        """Who runs what.

        Args:
            wanted: What the user says for this turn, if anything. Otherwise the model's own code runs in the most
                cautious of the places that the user has set and that were chosen for the skills in force.
            skills: The skills in force.

        Raises:
            UsageProblem: Code can't run there from here.
        """
        setting = self._session.settings.place_set or ""
        place = own_place(wanted or "", setting, (entry.run for entry in skills))
        return Router(self._executor(place), self._executor, forced=wanted is not None, setting=setting)

    def _executor(self, place: str) -> Executor | None:
        session = self._session
        if place == "off":
            return None
        if place == "docker":
            return Isolated(session.sandbox, session.limits.timeout)
        if threading.current_thread() is not threading.main_thread():
            raise UsageProblem(
                "Code can't run in this kernel from within other code", "Put %%ask at the very start of a cell"
            )
        from jupyter_skills.notebook.live.kernel import ShellKernel

        return AfterConsent(
            ShellKernel(session),
            self._approver(),
            trusts=session.trust.trusts,
            lay_out=session.copies.lay_out,
            on_asking=session.settle,
            hand_over=self._edits.add,
            timeout=session.limits.timeout,
        )

    def _approver(self) -> Approver:
        from jupyter_skills.approval.memory import Remembering
        from jupyter_skills.approval.policy import Always, approver_for
        from jupyter_skills.notebook.audience import can_answer
        from jupyter_skills.notebook.consent.person import prepare

        if self._consent_given:
            return Always(granted=True, by="-y")
        session = self._session
        someone, policy = can_answer(session.shell), session.settings.approval
        if someone and policy == "ask":
            prepare()
        return approver_for(policy, [Remembering(session.consents, session.person)], someone=someone)
