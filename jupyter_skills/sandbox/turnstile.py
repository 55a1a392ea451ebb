"""One at a time, or a few, in the order of arrival, across event loops and threads."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager


class Turnstile:
    """Lets so many at a time through. An ``asyncio.Lock`` belongs to one loop; a notebook has two.

    Args:
        places: How many.
    """

    def __init__(self, places: int = 1) -> None:
        self._free = places
        self._mutex = threading.Lock()
        self._waiting: deque[tuple[Future[None], asyncio.AbstractEventLoop]] = deque()

    @asynccontextmanager
    async def through(self) -> AsyncIterator[None]:
        """Waits for all who came before."""
        turn: Future[None] = Future()
        with self._mutex:
            if self._free:
                self._free -= 1
                turn.set_result(None)
            else:
                self._waiting.append((turn, asyncio.get_running_loop()))
        try:
            if not turn.done():
                await asyncio.wait({asyncio.wrap_future(turn)})
        except BaseException:
            if not self._gives_up(turn):
                self._next()
            raise
        try:
            yield
        finally:
            self._next()

    def _gives_up(self, turn: Future[None]) -> bool:
        """Takes a turn out of the queue; false if it has come meanwhile."""
        with self._mutex:
            if turn.done():
                return False
            self._waiting = deque(one for one in self._waiting if one[0] is not turn)
            return True

    def _next(self) -> None:
        with self._mutex:
            while self._waiting:
                turn, loop = self._waiting.popleft()
                if not loop.is_closed():  # else nobody waits any more
                    turn.set_result(None)
                    return
            self._free += 1
