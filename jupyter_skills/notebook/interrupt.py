"""Stopping a cell that awaits.

ipykernel answers an interrupt of an async cell by cancelling its task, but doesn't wake the event loop for
it, and code that blocks inside such a cell isn't interrupted at all (ipykernel issues 881 and 1239). The
two managers here are the two cures; both work on the main thread, where Python handles signals, and do
nothing elsewhere.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from jupyter_skills.errors import AskInterrupted


@contextmanager
def interruptible() -> Iterator[None]:
    """Around code that awaits: an interrupt cancels it at once and comes out as ``AskInterrupted``."""
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task is not None else 0
    loop = asyncio.get_running_loop()
    pending: list[asyncio.Handle] = []

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if task is not None:
            pending.append(loop.call_soon_threadsafe(task.cancel))

    try:
        with _handling_interrupt(stop):
            yield
    except (asyncio.CancelledError, KeyboardInterrupt) as error:
        if isinstance(error, asyncio.CancelledError) and not pending:
            raise
        while task is not None and task.cancelling() > cancelled_before:
            task.uncancel()
        raise AskInterrupted from None
    finally:
        for handle in pending:
            handle.cancel()  # an interrupt in the last moment must not strike what comes after


class Interrupts:
    """The interrupts that came while code was at work; see ``blocking``.

    Args:
        outer: What handles an interrupt around it.
    """

    def __init__(self, outer: object) -> None:
        self.happened = False
        self._outer = outer
        self._task = asyncio.current_task()
        self._cancelled_before = self._task.cancelling() if self._task is not None else 0
        self._held = 0
        self._late: BaseException | None = None

    def hold(self) -> None:
        """Has interrupts wait: what begins here must not be torn. On the main thread only."""
        self._held += 1

    def release(self) -> None:
        """Ends ``hold``; raises what came meanwhile."""
        self._held -= 1
        if not self._held and self._late is not None:
            late, self._late = self._late, None
            raise late

    def pass_on(self) -> None:
        """Has an interrupt that code was stopped by, or has swallowed, stop what is around it too."""
        while self._task is not None and self._task.cancelling() > self._cancelled_before:
            self._task.uncancel()  # that was for the code, and what is around it has its own way
        if not callable(self._outer):
            raise KeyboardInterrupt
        self._outer(signal.SIGINT, None)

    def strike(self, *, own_task: bool) -> None:
        """Stops the code where it is at work, or as soon as nothing is held.

        Args:
            own_task: Whether it is at work itself, not a task that it has started; those hear of it by being cancelled.
        """
        self.happened = True
        if not own_task and self._task is not None:
            self._task.cancel()  # at once: the next of the tasks that it waits for may block, too
        error = KeyboardInterrupt() if own_task else asyncio.CancelledError()
        if not self._held:
            raise error
        self._late = error


_at_work: ContextVar[Interrupts | None] = ContextVar("jupyter_skills_at_work", default=None)


@contextmanager
def blocking() -> Iterator[Interrupts]:
    """Around user code inside ``interruptible``: an interrupt raises KeyboardInterrupt right there.

    Only while that code is at work, though. While it awaits, the event loop is, and a KeyboardInterrupt
    would end the loop and the kernel with it; then the interrupt is handled as ``interruptible`` does. The same is
    true of a task that the code has started: that is cancelled where it is at work.
    """
    caller = sys._getframe(2)  # the frame that has this manager in its with statement, past contextlib's own
    outer = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(outer)

    def raise_or_cancel(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame is caller:
                interrupts.strike(own_task=True)
                return
            frame = frame.f_back
        if _at_work.get() is interrupts:
            interrupts.strike(own_task=False)
        elif callable(outer):
            outer(number, frame)

    token = _at_work.set(interrupts)
    try:
        with _handling_interrupt(raise_or_cancel):
            yield interrupts
    finally:
        _at_work.reset(token)


@contextmanager
def _handling_interrupt(handler: object) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
