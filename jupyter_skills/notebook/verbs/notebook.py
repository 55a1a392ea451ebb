"""The verbs about this notebook's sandbox and conversation."""

from __future__ import annotations

import argparse

from jupyter_skills.notebook.session import Session, run_now
from jupyter_skills.notebook.verbs.verb import Verb, argument, say


def sandbox(session: Session, options: argparse.Namespace) -> None:
    """Start, stop or restart this notebook's isolated kernel, or say whether it runs."""
    if options.action in ("stop", "restart"):
        run_now(session.stop_sandbox)
    if options.action in ("start", "restart"):
        run_now(session.sandbox.start)
    state = "is running" if session.sandbox_running else "is not running"
    say(f"The isolated kernel {state} (image {session.limits.image}).")


def reset(session: Session, _: argparse.Namespace) -> None:
    """Forget the conversation."""
    session.reset()
    say("The conversation is forgotten.")


VERBS = {
    "sandbox": Verb(
        sandbox,
        [
            argument(
                "action", nargs="?", default="status", choices=["status", "start", "stop", "restart"], help="what to do"
            )
        ],
    ),
    "reset": Verb(reset),
}
