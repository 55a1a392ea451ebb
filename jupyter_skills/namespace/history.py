"""The way back over several executions."""

from __future__ import annotations

from collections import deque
from collections.abc import MutableMapping
from typing import Any, NamedTuple

from jupyter_skills.namespace.delta import Delta, Undone


class Step(NamedTuple):
    """One execution that can be taken back.

    Args:
        delta: What it changed.
        label: What it was: the code that ran.
    """

    delta: Delta
    label: str


class History:
    """What the last executions in one kernel changed, the last first.

    The last one can always be taken back, however much it holds; older ones are dropped to keep within the memory.

    Args:
        memory: In bytes; may be changed.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.undone: Step | None = None
        """What the last call of ``undo`` was about."""
        self._steps: deque[Step] = deque()
        self._rest: Step | None = None
        self.dropped = 0
        """How many executions can't be taken back any more, for the memory that this would take."""

    @property
    def last(self) -> Step | None:
        """What would be taken back next."""
        return self._steps[-1] if self._steps else None

    @property
    def is_unfinished(self) -> bool:
        """Whether the last call of ``undo`` left something that ``force`` may still give back."""
        return self._rest is not None

    def __len__(self) -> int:
        return len(self._steps)

    def push(self, delta: Delta, label: str = "") -> None:
        """Adds an execution; one that changed nothing leaves nothing to take back."""
        self._rest = None
        if not delta.changes and not delta.unchecked:
            return
        self._steps.append(Step(delta, label))
        while len(self._steps) > 1 and sum(step.delta.size for step in self._steps) > self.memory:
            self._steps.popleft()
            self.dropped += 1

    def undo(self, namespace: MutableMapping[str, Any], *, force: bool = False) -> Undone | None:
        """Takes back the last execution that has not been taken back.

        Args:
            namespace: The kernel's.
            force: Also what is left alone otherwise; see ``Delta.undo``. If the last call left something, it is about
                that, and goes no further back.

        Returns:
            What became of it; None if there is nothing to take back.
        """
        if force and self._rest is not None:
            self.undone, self._rest = self._rest, None
            return self.undone.delta.undo(namespace, force=True)
        if not self._steps:
            self.undone = None
            return None
        self.undone = self._steps.pop()
        undone = self.undone.delta.undo(namespace, force=force)
        self._rest = self.undone if undone.left and not force else None
        return undone
