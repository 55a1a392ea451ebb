"""How a turn looks wherever it is shown: its words, and the whole of it as plain text in a terminal."""

from __future__ import annotations

from typing import Protocol

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import Event


class Renderer(Protocol):
    """Shows one turn. Its methods are called on the event loop that the turn runs on."""

    def show(self, event: Event) -> None:
        """Called with each event, as it happens."""
        ...

    def settle(self) -> None:
        """Called when all that was shown must be complete: before a question, and at the end, however it comes."""
        ...

    def finish(self, answer: Answer, seconds: float) -> None:
        """Called once, after the last event of a turn, unless it failed: also of one that was stopped."""
        ...
