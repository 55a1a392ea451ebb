"""How long something has been waited for, told while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_QUIET = 3
_EVERY = 1


class Ticker:
    """Tells the seconds of a wait: the first ones not at all, then one by one.

    Args:
        tell: Called with the seconds so far.
    """

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begins to count at 0; must be called on a running event loop."""
        self.stop()
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._timer = loop.call_at(self._began + _QUIET, self._tick, loop, _QUIET)

    def stop(self) -> None:
        """Ends the count; nothing is told any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self, loop: asyncio.AbstractEventLoop, seconds: int) -> None:
        # Where the loop was busy for long, the seconds that nobody was told are left out.
        now = max(seconds, int(loop.time() - self._began))
        self._timer = loop.call_at(self._began + now + _EVERY, self._tick, loop, now + _EVERY)
        self._tell(now)
