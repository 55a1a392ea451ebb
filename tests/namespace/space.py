"""A namespace in which code runs between a snapshot and a look at what it did."""

from __future__ import annotations

import textwrap
from typing import Any

from jupyter_skills.namespace.delta import Delta, Undone
from jupyter_skills.namespace.snapshot import Snapshot

PLENTY = 1e6  # seconds: what a test is about must not depend on how fast the machine is


class Space:
    """A namespace such as a notebook's.

    Args:
        setup: Code that fills it.
    """

    def __init__(self, setup: str = "") -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        self.do(setup)

    def __getitem__(self, name: str) -> Any:
        return self.names[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.names[name] = value

    def do(self, code: str) -> None:
        """Runs code as the user's own."""
        exec(textwrap.dedent(code), self.names)

    def watched(self) -> list[str]:
        return [name for name in self.names if not name.startswith("_")]

    def take(self, *, seconds: float = PLENTY, memory: int = 1 << 30) -> Snapshot:
        return Snapshot.take(self.names, self.watched(), seconds=seconds, memory=memory)

    def run(self, code: str, *, seconds: float = PLENTY, memory: int = 1 << 30) -> Delta:
        """Runs code that can be taken back."""
        snapshot = self.take(seconds=seconds, memory=memory)
        self.do(code)
        return snapshot.compare(self.names, self.watched())

    def undo(self, delta: Delta, *, force: bool = False) -> Undone:
        return delta.undo(self.names, force=force)


def told(delta: Delta) -> list[tuple[str, str, str, str]]:
    """The changes as plain tuples."""
    return [(one.name, one.kind, one.before, one.after) for one in delta.changes]


def kinds(delta: Delta) -> dict[str, str]:
    """What became of each name that changed."""
    return {one.name: one.kind for one in delta.changes}
