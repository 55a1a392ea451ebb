"""One request at work in a task of its own, and what comes of it in order.

Whatever the request makes of being cancelled (litellm's transport may take it for a failed connection and try
again), whoever waits for it is free at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

# How many seconds the loop may be held while chunks are there without waiting; after that it is everybody's turn.
_TURN = 0.005

_DOUBT = 0.05

# How often a task that does not heed its cancellation is told once more, and the seconds in between.
_REMINDERS = 20
_REMINDED_AFTER = 0.5

# The loop itself holds tasks weakly.
_at_work: set[asyncio.Task[Any]] = set()


class Pump:
    """Awaits a call, and then each chunk of what it gives if that is a stream.

    Args:
        call: Makes what is to be awaited.
        stream: Whether that gives a stream, which is closed at the end whatever happens.
        silence: How many seconds may pass without a sign of life.
    """

    def __init__(self, call: Callable[[], Awaitable[Any]], *, stream: bool, silence: float) -> None:
        self.response: Any = None
        self._call = call
        self._stream = stream
        self._silence = silence
        self._ready: list[Any] = []
        self._news = asyncio.Event()
        self._heard = 0.0
        self._silent = False
        self._given_up = False

    async def batches(self) -> AsyncGenerator[list[Any], None]:
        """Yields the chunks as they come, all at once that are there; ``response`` is the call's result then.

        Raises:
            TimeoutError: Nothing came for too long.
            Exception: What the call or the stream raises.
        """
        loop = asyncio.get_running_loop()
        self._heard = loop.time()
        self._timer = loop.call_later(self._silence, self._watch)
        task = loop.create_task(self._work())
        _at_work.add(task)
        task.add_done_callback(self._ended)
        try:
            while True:
                if self._ready:
                    batch, self._ready = self._ready, []
                    yield batch
                elif task.done():
                    task.result()
                    return
                elif self._silent:
                    raise TimeoutError
                else:
                    await self._news.wait()
                    self._news.clear()
        finally:
            self._given_up = True
            self._timer.cancel()
            _give_up(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        _at_work.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be there to look at it
        self._news.set()

    def _watch(self, *, doubted: bool = False) -> None:
        # One timer for the whole stream: it looks when the last chunk came, and sets itself anew.
        loop = asyncio.get_running_loop()
        left = self._heard + self._silence - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._watch)
        elif not doubted:  # the loop may have been held up, and a chunk lie there unread
            self._timer = loop.call_later(_DOUBT, partial(self._watch, doubted=True))
        else:
            self._silent = True
            self._news.set()

    async def _work(self) -> None:
        self.response = await self._call()
        if self._stream:
            try:
                await self._read()
            finally:
                close = getattr(self.response, "aclose", None)
                if close is not None:
                    with suppress(Exception):
                        await close()

    async def _read(self) -> None:
        now = asyncio.get_running_loop().time
        since = perf_counter()
        async for chunk in self.response:
            if self._given_up:
                return
            self._heard = now()
            self._ready.append(chunk)
            self._news.set()
            if perf_counter() - since > _TURN:
                await asyncio.sleep(0)
                since = perf_counter()


def _give_up(task: asyncio.Task[Any]) -> None:
    loop = asyncio.get_running_loop()

    def remind(left: int) -> None:
        if not task.done():
            task.cancel()
            if left:
                loop.call_later(_REMINDED_AFTER, remind, left - 1)

    remind(_REMINDERS)
