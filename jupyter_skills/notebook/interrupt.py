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
from types import FrameType

from jupyter_skills.errors import AskInterrupted


@contextmanager
def interruptible() -> Iterator[None]:
    """Around code that awaits: an interrupt cancels it at once and comes out as ``AskInterrupted``."""
    task = asyncio.current_task()
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
        if task is not None:
            task.uncancel()
        raise AskInterrupted from None
    finally:
        for handle in pending:
            handle.cancel()  # an interrupt in the last moment must not strike what comes after


@contextmanager
def blocking() -> Iterator[None]:
    """Around user code inside ``interruptible``: an interrupt raises KeyboardInterrupt right there.

    Only while that code is at work, though. While it awaits, the event loop is, and a KeyboardInterrupt
    would end the loop and the kernel with it; then the interrupt is handled as ``interruptible`` does.
    """
    caller = sys._getframe(2)  # the frame that has this manager in its with statement, past contextlib's own
    outer = signal.getsignal(signal.SIGINT)

    def raise_or_cancel(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame is caller:
                raise KeyboardInterrupt
            frame = frame.f_back
        if callable(outer):
            outer(number, frame)

    with _handling_interrupt(raise_or_cancel):
        yield


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
