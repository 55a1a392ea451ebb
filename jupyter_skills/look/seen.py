"""What was seen so far, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jupyter_skills.look.result import Look, Touch
from jupyter_skills.words import first_names, plain

# A card that says more than this is not read.
MOST_TOUCHES = 100
MOST_IN_SENTENCE = 3
LONGEST = 100

# Which part of a Look each kind belongs to, and the sentence that it makes; without one it is no risk. Worst first.
KINDS: dict[str, tuple[str, str]] = {
    "delete": ("files", "Deletes files"),
    "forget": ("hidden", "Deletes variables of the notebook"),
    "secret": ("secrets", "Reads what may hold keys or passwords"),
    "send": ("network", "Sends data out over the network"),
    "hidden": ("hidden", "Does what can't be seen from here"),
    "install": ("installs", "Installs packages into this environment or changes those that are there"),
    "run": ("processes", "Runs a program"),
    "exit": ("processes", "May end the kernel, and all variables with it"),
    "write": ("files", "Writes files, over those that are there"),
    "move": ("files", "Moves files, or changes who may read them"),
    "database": ("files", "Changes a database"),
    "fetch": ("network", "Uses the network"),
    "serve": ("network", "Lets others connect to this machine"),
    "thread": ("processes", "May go on after the cell has ended"),
    "later": ("processes", "Leaves code behind that runs later"),
    "environment": ("processes", "Changes settings of the whole kernel"),
    "make": ("files", ""),
    "read": ("files", ""),
    "query": ("files", ""),
    "folder": ("files", ""),
    "maybe": ("network", ""),
}
_PARTS = ("files", "network", "processes", "installs", "secrets", "hidden")
_LEAVES = ("send", "fetch", "run", "hidden", "maybe")


class _One(NamedTuple):
    kind: str
    what: str
    call: str
    line: int


class Seen:
    """Gathers what is seen; what is seen twice counts once."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.binds: dict[str, None] = {}
        self.deletes: dict[str, None] = {}
        self.changes: dict[str, None] = {}
        self._things: dict[_One, None] = {}

    def add(self, kind: str, what: str, call: str, line: int) -> None:
        """Notes one thing.

        Args:
            kind: One of ``KINDS``.
            what: The phrase of its Touch.
            call: How a sentence cites it.
            line: Its line, from 1, or 0.
        """
        self._things[_One(kind, short(what), short(call), line)] = None

    def names(self) -> tuple[tuple[str, ...], ...]:
        """The four lists of names."""
        return tuple(self.reads), tuple(self.binds), tuple(self.deletes), tuple(self.changes)

    def look(self) -> Look:
        """All of it."""
        things = sorted(self._things, key=lambda one: one.line)
        parts = {part: _touches(one for one in things if KINDS[one.kind][0] == part) for part in _PARTS}
        reads, binds, deletes, changes = self.names()
        return Look(
            reads, binds, deletes, changes, **parts, risks=tuple(_sentences(things)), complete=not parts["hidden"]
        )


def short(text: str) -> str:
    """A text in one line that shows all it holds, cut where it is long."""
    cut = text[: LONGEST * 4]
    line = plain(" ".join(cut.split()))
    return line if len(line) <= LONGEST and len(cut) == len(text) else line[: LONGEST - 1] + "…"


def _touches(things: Iterable[_One]) -> tuple[Touch, ...]:
    found = list(dict.fromkeys(Touch(one.what, one.line) for one in things))
    more = len(found) - MOST_TOUCHES
    return (*found[:MOST_TOUCHES], *([Touch(f"and {more} more", found[MOST_TOUCHES].line)] if more > 0 else []))


def _sentences(things: list[_One]) -> Iterable[str]:
    kinds = {one.kind for one in things}
    for kind, (_, sentence) in KINDS.items():
        cited = list(dict.fromkeys(_cited(one) for one in things if one.kind == kind))
        if cited and sentence:
            if kind == "secret" and not kinds.isdisjoint(_LEAVES):
                sentence += ", and could send it away"
            yield f"{sentence}: {first_names(cited, MOST_IN_SENTENCE)}."


def _cited(one: _One) -> str:
    return f"{one.call} (line {one.line})" if one.line else one.call
