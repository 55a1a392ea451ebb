"""The verbs about this notebook's sandbox and conversation."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from jupyter_skills.agent.sync import run_now
from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.words import count


def sandbox(session: Session, options: argparse.Namespace) -> None:
    """Start, stop, restart or fill this notebook's isolated kernel, or say how it stands."""
    act, takes_words = _ACTIONS[options.action]
    if options.word and not takes_words:
        raise UsageProblem(f"%skill sandbox {options.action}: '{options.word[0]}' is one word too many", "Leave it out")
    if takes_words and not options.word:
        raise UsageProblem(f"%skill sandbox {options.action}: {takes_words} is missing", "Say which")
    act(session, options.word)


def _status(session: Session, _: Sequence[str]) -> None:
    state = "is running" if session.sandbox_running else "is not running"
    where = session.remote.server or session.remote.provider or f"image {session.limits.image}"
    say(f"The isolated kernel {state} ({where}).")
    if session.installed:
        say(f"Installed for it: {', '.join(session.installed)}.")


def _start(session: Session, words: Sequence[str]) -> None:
    run_now(session.sandbox.start)
    _status(session, words)


def _stop(session: Session, words: Sequence[str]) -> None:
    run_now(session.stop_sandbox)
    _status(session, words)


def _restart(session: Session, words: Sequence[str]) -> None:
    run_now(session.sandbox.restart)
    _status(session, words)


def _install(session: Session, words: Sequence[str]) -> None:
    from jupyter_skills.skills.requirements import check

    wanted = check(words)
    was_running = session.sandbox_running
    before = set(session.installed)
    with session.telling(say):
        run_now(session.sandbox.install, wanted)
    installed = sorted(set(session.installed) - before)
    if not installed:
        say(f"The isolated kernel has {', '.join(wanted)} already.")
        return
    afresh = "; it was started afresh, with its files, and with the variables that you sent" if was_running else ""
    say(f"The isolated kernel has {', '.join(installed)} now{afresh}.")


def _put(session: Session, words: Sequence[str]) -> None:
    from jupyter_skills.notebook import crossing

    for word in words:
        paths = run_now(crossing.put, session.sandbox, word)
        say(f"Put {word} into /work of the sandbox ({count(len(paths), 'file')}).")


def _get(session: Session, words: Sequence[str]) -> None:
    from jupyter_skills.notebook import crossing

    for word in words:
        for path in run_now(crossing.get, session.sandbox, word):
            say(f"Saved {path}.")


def reset(session: Session, _: argparse.Namespace) -> None:
    """Forget the conversation."""
    session.reset()
    say("The conversation is forgotten.")


# What each does, and what the words after it are, if it takes any.
_ACTIONS: dict[str, tuple[Callable[[Session, Sequence[str]], None], str]] = {
    "status": (_status, ""),
    "start": (_start, ""),
    "stop": (_stop, ""),
    "restart": (_restart, ""),
    "install": (_install, "a package"),
    "put": (_put, "a file"),
    "get": (_get, "a file"),
}

VERBS = {
    "sandbox": Verb(
        sandbox,
        [
            argument("action", nargs="?", default="status", choices=list(_ACTIONS), help="what to do"),
            argument(
                "word",
                nargs="*",
                metavar="WORD",
                help="packages for install, such as 'pandas<3'; files or folders for put and get",
                completes="path",
            ),
        ],
    ),
    "reset": Verb(reset),
}
