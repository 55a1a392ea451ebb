"""Event loops whose time passes by waiting for nothing but timers, and for those no time at all."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class Clock(selectors.DefaultSelector):
    """Looks for what is ready, and else is at once where the next timer is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(timeout and 0)
        if not ready and timeout:
            self.now += timeout
        return ready


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of its clock."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs it in such a loop."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(coroutine)
