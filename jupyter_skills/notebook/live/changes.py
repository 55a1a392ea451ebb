"""What code does to the user's variables, and what it takes to give them back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_skills.context.names import looks_secret
from jupyter_skills.execution.result import Change
from jupyter_skills.namespace.delta import Delta
from jupyter_skills.namespace.snapshot import Snapshot
from jupyter_skills.notebook.audience import watched
from jupyter_skills.notebook.names import users_names
from jupyter_skills.settings import MEGABYTE
from jupyter_skills.words import first_names, plain

if TYPE_CHECKING:
    from jupyter_skills.notebook.session import Session

_MOST_NAMES = 5
_LATE = "no time left"


class Watch:
    """The user's variables, from now on.

    Args:
        session: Whose variables, how much may be spent on copies of them, and where those are kept.
        code: What will run meanwhile.
    """

    def __init__(self, session: Session, code: str) -> None:
        self._session = session
        self._code = code
        settings = session.settings
        self._before: Snapshot | None = None
        self._failure = ""
        try:
            self._before = Snapshot.take(
                session.shell.user_ns,
                users_names(session.shell),
                seconds=settings.undo_seconds,
                memory=settings.undo_memory * MEGABYTE,
            )
        except Exception as error:  # noqa: BLE001 -- what comes of the code matters more than what it does to variables
            self._failure = type(error).__name__

    def end(self) -> tuple[tuple[Change, ...], tuple[str, ...]]:
        """What has changed since, and what else is good to know, one sentence each. Called once."""
        shell = self._session.shell
        if self._before is None:
            return _unknown(self._failure)
        try:
            delta = self._before.compare(shell.user_ns, users_names(shell))
            self._session.history.push(delta, self._code)
        except Exception as error:  # noqa: BLE001 -- as above
            return _unknown(type(error).__name__)
        changes = tuple(map(_without_secrets, delta.changes))
        open_ends = list(self._open_ends(delta))
        if not open_ends:
            return changes, ()
        named = first_names(open_ends, _MOST_NAMES)
        return changes, (f"'%skill undo' could not give back all that these hold: {named}.",)

    def _open_ends(self, delta: Delta) -> Iterator[str]:
        """The variables that the code may have changed and that can't be given back as they were."""
        changed = {change.name for change in delta.changes if change.kind == "mutated"}
        for gap in delta.uncovered:
            # A variable that the code doesn't name is hardly of interest; '%skill undo' lists it. And how far the time
            # reaches differs from run to run, which must not be seen where a notebook has to look the same each time.
            named = re.search(rf"\b{re.escape(gap.name)}\b", self._code)
            late = gap.reason == _LATE and not watched(self._session.shell)
            if gap.name not in changed and (late or not named):
                continue
            yield plain(f"{gap.name} ({gap.what}: {gap.reason})")


def _unknown(failure: str) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    return (), (f"What it did to variables is not known, and can't be undone ({failure}).",)


def _without_secrets(change: Change) -> Change:
    """A change without the number in it, if the variable is called like a secret; texts are never in it."""
    if not looks_secret(change.name):
        return change
    return replace(change, before=_kind(change.before), after=_kind(change.after))


def _kind(described: str) -> str:
    return described if "," in described else described.partition(" ")[0]
