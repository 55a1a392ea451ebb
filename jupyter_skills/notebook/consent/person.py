"""The person at the notebook. Implements ``Approver``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.approval.request import ApprovalRequest, Decision
from jupyter_skills.notebook.audience import can_answer
from jupyter_skills.notebook.consent import card
from jupyter_skills.notebook.consent.facts import Facts, facts_of
from jupyter_skills.notebook.consent.typed import typed_decision
from jupyter_skills.notebook.render.place import Place
from jupyter_skills.words import plain

if TYPE_CHECKING:
    from jupyter_skills.notebook.consent.buttons import Buttons

_WAITING = "waiting for your consent"
_SILENCES = 2  # after so many questions without a report, in a row, no more buttons are tried


def prepare() -> None:
    """Loads what a question needs, on a thread, while the model is still thinking."""

    def load() -> None:
        import jupyter_skills.look
        import jupyter_skills.notebook.consent.buttons  # noqa: F401

        with suppress(ImportError):
            import ipywidgets  # type: ignore[import-untyped]  # noqa: F401

    threading.Thread(target=load, name="jupyter-skills-consent", daemon=True).start()


class Person:
    """Asks with buttons where a click can arrive, by typing elsewhere, and says that nobody is there where nobody is.

    Args:
        shell: Where the code would run.
        waiting: Called with what is waited for, and with an empty text when the wait is over.
    """

    def __init__(self, shell: InteractiveShell, waiting: Callable[[str], None]) -> None:
        self._shell = shell
        self._waiting = waiting
        self._silences = 0

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """See ``Approver``."""
        if not can_answer(self._shell):
            return None
        facts = facts_of(self._shell, request)
        if getattr(self._shell, "kernel", None) is None:
            print("├─ " + plain(facts.text).replace("\n", "\n│ "))  # noqa: T201 -- below the code, in its frame
            return typed_decision(request, self._shell)
        return await self._in_notebook(request, facts)

    async def _in_notebook(self, request: ApprovalRequest, facts: Facts) -> Decision | None:
        place, decision = Place(), None
        buttons = self._buttons(request, facts)
        ended = "Interrupted: it did not run."
        self._waiting(_WAITING)
        try:
            if buttons is not None:
                place.show(buttons.bundle(self._shell))
                if await self._can_click(buttons):
                    decision = await buttons.decision()
            if decision is None:
                note = "" if buttons is None else card.WITHDRAWN
                place.show({"text/html": card.html(facts, note), "text/plain": facts.text})
                if buttons is not None:
                    buttons.close()
                decision = typed_decision(request, self._shell)
            ended = card.line(decision, skill=request.skill)
        finally:
            self._waiting("")
            # First the output, then what it showed: a page must never have a view of what is gone.
            place.show(card.line_bundle(ended))
            if buttons is not None:
                buttons.close()
        return decision

    def _buttons(self, request: ApprovalRequest, facts: Facts) -> Buttons | None:
        if self._silences >= _SILENCES:
            return None
        from jupyter_skills.notebook.consent.buttons import Buttons

        try:
            return Buttons(request, facts)
        except Exception:  # noqa: BLE001 -- no ipywidgets, or one that is broken: there is still the keyboard
            return None

    async def _can_click(self, buttons: Buttons) -> bool:
        reported = await buttons.reported()
        self._silences = 0 if reported else self._silences + 1
        return reported
