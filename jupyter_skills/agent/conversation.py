"""What was said so far."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from jupyter_skills.models.client import Message


class Conversation:
    """The messages of one conversation, without the system message, which is made anew for each turn.

    It only ever grows by whole exchanges: every tool call in it has its result, so any provider takes it.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self.activated: dict[str, str] = {}
        """The digest of each skill whose instructions were given in it."""

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> list[Message]:
        """A copy."""
        return copy.deepcopy(self._messages)

    def extend(self, messages: Iterable[Message]) -> None:
        """Adds an exchange."""
        self._messages.extend(copy.deepcopy(list(messages)))
