"""Work that is wanted more often than it can be done."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Protocol

from jupyter_skills.notebook.author import apart

SHORTEST_PAUSE = 0.1
"""Seconds between the end of one update and the next."""

PAUSES_PER_UPDATE = 20
"""How many times as long as an update took nothing is done after it: updates then take less than 5 % of one core."""


class Updates(Protocol):
    """Does work when it is asked for: at once if the last time is long enough ago, else as soon as it is."""

    def ask(self) -> None:
        """Asks for the work."""
        ...

    def flush(self) -> None:
        """Does now what was asked for and is not done yet."""
        ...

    def stop(self) -> None:
        """Forgets what was asked for and is not done yet."""
        ...


class Throttle:
    """Works on the event loop, and not while something blocks that. Implements ``Updates``.

    Args:
        work: What to do; it finds out itself what there is to show by then.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def ask(self) -> None:
        """See ``Updates``; must be called on a running event loop."""
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
        """See ``Updates``."""
        if self._timer is not None:
            self._do()

    def stop(self) -> None:
        """See ``Updates``."""
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
            self._not_before = ended + _pause(ended - began)


class ThreadThrottle:
    """Works in whatever thread asks, or else in one of its own, so that nothing has to wait for the event loop.

    It works in the context that it was made in: what it publishes belongs to that cell, from any thread.
    Implements ``Updates``; all of it may be called from any thread.

    Args:
        work: What to do, never in two threads at once.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._context = apart()
        self._changed = threading.Condition()  # it is reentrant: what runs at any moment, such as __del__, may print
        self._wanted = False
        self._stopped = False
        self._worker = 0  # the identifier of the thread that is at work
        self._not_before = 0.0
        self._timer: threading.Timer | None = None

    def ask(self) -> None:
        """See ``Updates``."""
        with self._changed:
            if self._stopped:
                return
            self._wanted = True
            if self._worker or self._timer is not None:
                return
            wait = self._not_before - time.monotonic()
            if wait > 0:
                self._set_timer(wait)
                return
            self._begin()
        self._do()

    def flush(self) -> None:
        """See ``Updates``; waits for another thread that is at it."""
        with self._changed:
            self._await_worker()
            if not self._wanted or self._worker:
                return
            self._begin()
        self._do()

    def stop(self) -> None:
        """See ``Updates``; nothing is done any more once this returns, whatever is asked for later."""
        with self._changed:
            self._stopped = True
            self._wanted = False
            self._drop_timer()
            self._await_worker()
            self._wanted = False
            self._drop_timer()

    def _begin(self) -> None:
        self._drop_timer()
        self._wanted = False
        self._worker = threading.get_ident()

    def _due(self) -> None:
        with self._changed:
            if self._timer is not threading.current_thread():
                return  # it was stopped in its last moment
            self._timer = None
            if not self._wanted or self._worker:
                return
            self._begin()
        self._do()

    def _do(self) -> None:
        began = time.monotonic()
        try:
            self._context.copy().run(self._work)
        finally:
            with self._changed:
                ended = time.monotonic()
                self._not_before = ended + _pause(ended - began)
                self._worker = 0
                self._changed.notify_all()
                if self._wanted:
                    self._set_timer(self._not_before - ended)

    def _await_worker(self) -> None:
        while self._worker not in (0, threading.get_ident()):
            self._changed.wait()

    def _set_timer(self, wait: float) -> None:
        self._timer = threading.Timer(wait, self._due)
        self._timer.daemon = True
        self._timer.start()

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _pause(took: float) -> float:
    return max(SHORTEST_PAUSE, PAUSES_PER_UPDATE * took)
