"""One at a time, in the order of arrival, across event loops and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager


class Turnstile:
    """Lets one call at a time through. An ``asyncio.Lock`` belongs to one loop; a notebook has two."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._last: Future[None] = Future()
        self._last.set_result(None)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Waits for all who came before."""
        mine: Future[None] = Future()
        with self._mutex:
            before, self._last = self._last, mine
        try:
            if not before.done():
                await asyncio.wait({asyncio.wrap_future(before)})
            yield
        finally:
            # Who gives up waiting must not let the next one in before those in front are through.
            before.add_done_callback(lambda _: mine.set_result(None))
