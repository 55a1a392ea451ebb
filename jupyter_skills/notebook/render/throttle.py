"""Work that is wanted more often than it can be done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

SHORTEST_PAUSE = 0.1
"""Seconds between the end of one update and the next."""

PAUSES_PER_UPDATE = 20
"""How many times as long as an update took nothing is done after it: updates then take less than 5 % of one core."""


class Throttle:
    """Does work when it is asked for: at once if the last time is long enough ago, else as soon as it is.

    Args:
        work: What to do; it finds out itself what there is to show by then.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def ask(self) -> None:
        """Asks for the work; must be called on a running event loop."""
        if self._timer is not None:
            return
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._do()
        elif self._loop.time() >= self._not_before:
            self._do()
        else:
            self._timer = self._loop.call_at(self._not_before, self._do)

    def flush(self) -> None:
        """Does now what was asked for and is not done yet."""
        if self._timer is not None:
            self._do()

    def stop(self) -> None:
        """Forgets what was asked for and is not done yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _do(self) -> None:
        assert self._loop is not None, "there is nothing to do before it was asked for"
        self.stop()
        began = self._loop.time()
        try:
            self._work()
        finally:
            ended = self._loop.time()
            self._not_before = ended + max(SHORTEST_PAUSE, PAUSES_PER_UPDATE * (ended - began))
