"""A provider that is too busy is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from jupyter_skills.errors import ModelBusy
from jupyter_skills.models.around import Around
from jupyter_skills.models.client import ModelClient, ModelRequest, Pause, Piece, TextDelta

# Nobody waits at a notebook for longer than that.
_LONGEST_WAIT = 60.0


class Patient(Around):
    """Asks again while the provider is busy. Implements ``ModelClient``.

    It waits for as long as the provider asks, or else for 1, 2, 4… seconds. An answer of which text has come is
    not asked for again.

    Args:
        client: Reaches the model.
        tries: How often a request is sent at most.
    """

    def __init__(self, client: ModelClient, tries: int = 4) -> None:
        super().__init__(client)
        self._tries = tries

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """See ``ModelClient``; yields a ``Pause`` before each wait."""
        tried = 0
        while True:
            tried += 1
            shown = False
            try:
                async with aclosing(self._client.answer(request)) as pieces:
                    async for piece in pieces:
                        # Of reasoning only that there is some was shown: it may come again.
                        shown = shown or isinstance(piece, TextDelta)
                        yield piece
            except ModelBusy as busy:
                if shown or self._tries == 1:
                    raise
                wait = 2.0 ** (tried - 1) if busy.wait is None else busy.wait
                if wait > _LONGEST_WAIT:
                    raise _later(busy, wait) from busy
                if tried >= self._tries:
                    raise _given_up(busy, tried) from busy
                reason = busy.message
            else:
                return
            yield Pause(wait, reason)
            await asyncio.sleep(wait)


def _later(busy: ModelBusy, wait: float) -> ModelBusy:
    return ModelBusy(busy.message, f"Run the cell again in {_duration(wait)}", busy.wait)


def _given_up(busy: ModelBusy, tried: int) -> ModelBusy:
    return ModelBusy(f"{busy.message} (asked {tried} times)", busy.next_step, busy.wait)


def _duration(seconds: float) -> str:
    minutes = -(-int(seconds) // 60)
    if minutes < 60:
        return f"{minutes} minutes"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
