"""Asking the person at the keyboard. Implements ``Approver``."""

from __future__ import annotations

from jupyter_skills.approval.request import ApprovalRequest, Decision
from jupyter_skills.notebook.interrupt import blocking

_QUESTION = "Run this code in your kernel? [y/N] "


class TypedConsent:
    """Asks by ``input()``; ``y`` is consent and everything else is not.

    The code itself has been shown before: a turn announces each call.
    """

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """See ``Approver``; None where nobody can type."""
        try:
            with blocking():
                answer = input(_QUESTION)  # noqa: ASYNC250 -- nothing else is to go on until they have answered
        except (EOFError, NotImplementedError, RuntimeError) as error:
            # Jupyter raises a StdinNotImplementedError of its own, which is one of these under ipykernel.
            if isinstance(error, EOFError | NotImplementedError) or "stdin" in str(error).lower():
                return None
            raise
        granted = answer.strip().lower() == "y"
        return Decision(granted, "user", request.digest)
