"""One at a time, in the order of arrival, across event loops and threads."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager


class Turnstile:
    """Lets one call at a time through. An ``asyncio.Lock`` belongs to one loop; a notebook has two."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[tuple[Future[None], asyncio.AbstractEventLoop]] = deque()
        self._taken = False

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Waits for all who came before."""
        turn: Future[None] = Future()
        with self._mutex:
            if self._taken:
                self._waiting.append((turn, asyncio.get_running_loop()))
            else:
                self._taken = True
                turn.set_result(None)
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
            self._taken = False
