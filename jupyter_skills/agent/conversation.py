"""What was said so far."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from jupyter_skills.agent.compaction import Exchange, compacted
from jupyter_skills.models.client import Message
from jupyter_skills.models.messages import portable


class Conversation:
    """The exchanges of one conversation, without the system message, which is made anew for each turn.

    It only ever grows by whole exchanges: every tool call in it has its result, so any provider takes it.
    """

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._model = ""
        self._grown = False
        self.activated: dict[str, str] = {}
        """The digest of each skill whose instructions were given in it."""

    def branch(self) -> Conversation:
        """One that goes on from here by itself, for a turn of which nobody knows yet what will come of it."""
        branch = Conversation()
        branch._exchanges, branch._model = list(self._exchanges), self._model
        branch.activated = dict(self.activated)
        return branch

    def follow(self, branch: Conversation) -> None:
        """Takes over what a branch has become, if an exchange was added to it; otherwise nothing of it stays."""
        if branch._grown:
            self._exchanges, self._model, self.activated = branch._exchanges, branch._model, branch.activated

    def __len__(self) -> int:
        return sum(map(len, self._exchanges))

    @property
    def messages(self) -> list[Message]:
        """A copy of them all."""
        return copy.deepcopy(self.read())

    def read(self) -> list[Message]:
        """They themselves, for those who change nothing."""
        return [message for exchange in self._exchanges for message in exchange]

    def continued_by(self, model: str) -> None:
        """Called before a model goes on with it: what only another one can read is taken out."""
        if self._model not in ("", model):
            self._exchanges = [portable(exchange) for exchange in self._exchanges]
        self._model = model

    def extend(self, exchange: Sequence[Message]) -> None:
        """Adds an exchange."""
        self._exchanges.append(copy.deepcopy(list(exchange)))
        self._grown = True

    def compact(self, going_on: Exchange, room: int) -> Exchange | None:
        """Makes it shorter.

        Args:
            going_on: The exchange that is not yet in it.
            room: How many characters there are for both.

        Returns:
            That exchange, shorter too if need be; None if nothing more could be left out.
        """
        *earlier, last = compacted([*self._exchanges, going_on], room)
        if [*earlier, last] == [*self._exchanges, going_on]:
            return None
        self._exchanges = earlier
        return last
