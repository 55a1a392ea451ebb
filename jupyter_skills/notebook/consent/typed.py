"""Asking by typing, where there are no buttons."""

from __future__ import annotations

import sys
from contextlib import suppress

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.approval.request import GRANTING, ApprovalRequest, Choice, Decision, reason_of
from jupyter_skills.notebook.interrupt import blocking

_ANSWERS: dict[str, Choice] = {
    "y": "run",
    "yes": "run",
    "a": "code",
    "always": "code",
    "s": "skill",
    "skill": "skill",
    "e": "edit",
    "edit": "edit",
}
_PLAIN_NO = ("n", "no")
_INPUT = input


def prompt_for(request: ApprovalRequest) -> str:
    """The question that an answer is typed behind."""
    skill = f"allow the [s]kill {request.skill}, " if request.skill else ""
    return f"Run it? [y]es, [a]lways exactly this code, {skill}[e]dit, or say why not: "


def typed_decision(request: ApprovalRequest, shell: InteractiveShell) -> Decision | None:
    """Asks for a line; None where nobody can type.

    Nothing else goes on until they have answered. What was typed before the question stood there is no answer to it.

    Args:
        request: What is asked for.
        shell: Where the code would run.
    """
    kernel, prompt = getattr(shell, "kernel", None), prompt_for(request)
    if kernel is None:
        _forget_what_was_typed()
    try:
        with blocking():
            # Not what ``input`` stands for by now: code that ran here before could have put an answer of its own there.
            answer = _INPUT(prompt) if kernel is None else type(kernel).raw_input(kernel, prompt)
    except EOFError:
        answer = ""  # Ctrl-D
    except (NotImplementedError, RuntimeError) as error:
        # Jupyter raises a StdinNotImplementedError of its own, which is one of these under ipykernel.
        if isinstance(error, NotImplementedError) or "stdin" in str(error).lower():
            return None
        raise
    return _understood(answer.strip(), request)


def _forget_what_was_typed() -> None:
    try:
        import termios
    except ImportError:  # Windows
        import msvcrt

        while msvcrt.kbhit():  # type: ignore[attr-defined]
            msvcrt.getwch()  # type: ignore[attr-defined]
        return
    with suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _understood(answer: str, request: ApprovalRequest) -> Decision:
    """Whatever is no clear consent declines, and what was said is the reason."""
    choice = _ANSWERS.get(answer.lower(), "decline")
    if choice == "skill" and not request.skill:
        choice = "decline"
    short = answer.lower() in (*_PLAIN_NO, *_ANSWERS)
    reason = reason_of(answer) if choice == "decline" and not short else ""
    skill = request.skill if choice == "skill" else ""
    return Decision(choice in GRANTING, "user", request.digest, choice, reason, "typed", skill)
