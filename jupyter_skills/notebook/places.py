"""Where the code of one ``%%ask`` can run in a notebook."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jupyter_skills.agent.executor import AfterConsent, Executor, Isolated
from jupyter_skills.agent.router import Router
from jupyter_skills.errors import UsageProblem
from jupyter_skills.store.loaded import LoadedSkill

if TYPE_CHECKING:
    from jupyter_skills.notebook.session import Session

_CAUTIOUS_FIRST = ("off", "docker", "live")


class Places:
    """Makes the executors of one turn.

    Args:
        session: Whose sandbox, kernel and settings.
        consent_given: Whether the user has consented beforehand to all code of this turn.
    """

    def __init__(self, session: Session, *, consent_given: bool = False) -> None:
        self._session = session
        self._consent_given = consent_given

    def router(self, wanted: str | None, skills: Sequence[LoadedSkill]) -> Router:
        """Who runs what.

        Args:
            wanted: What the user says for this turn, if anything. Otherwise the model's own code runs where the
                skills in force were told to run, the most cautious place if they differ, or else where the
                settings say.
            skills: The skills in force.

        Raises:
            UsageProblem: Code can't run there from here.
        """
        chosen = [entry.run for entry in skills if entry.run]
        place = wanted or min(chosen, key=_CAUTIOUS_FIRST.index, default=self._session.settings.place)
        default = self._executor(place)
        return Router(default, self._executor, forced=wanted is not None)

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
        from jupyter_skills.approval.policy import Always, approver_for
        from jupyter_skills.notebook.consent import TypedConsent
        from jupyter_skills.notebook.live_kernel import ShellKernel

        policy = session.settings.approval
        return AfterConsent(
            ShellKernel(session.shell, session.limits),
            Always(True, "-y") if self._consent_given else approver_for(policy, [TypedConsent()]),
            trusts=session.trust.trusts,
            lay_out=session.copies.lay_out,
            on_asking=session.settle,
            timeout=session.limits.timeout,
        )
