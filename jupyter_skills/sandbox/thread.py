"""Work that outlasts whoever waits for it: in a thread with an event loop of its own, in a plain one, or right here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from jupyter_skills.errors import SandboxDied

_T = TypeVar("_T")


class LoopThread:
    """A thread that runs an event loop until ``stop``. What is asked of it after that is not done.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._mutex = threading.Lock()
        self._stopped = False
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Has a coroutine run there; it goes on whoever awaits it, and is cancelled by ``stop``."""
        with self._mutex:
            if not self._stopped:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        never: Future[_T] = Future()
        never.cancel()
        return never

    def call(self, do: Callable[[], object]) -> None:
        """Has a function called there."""
        with self._mutex:
            if not self._stopped:
                self._loop.call_soon_threadsafe(do)

    def stop(self) -> None:
        """Ends the thread; callable from anywhere, also there."""
        with self._mutex:
            if not self._stopped:
                self._stopped = True
                self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self) -> None:
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        self._loop.close()


async def outlasting(work: Future[_T]) -> _T:
    """Awaits what goes on even if whoever awaits it is cancelled.

    Raises:
        SandboxDied: It was cancelled, for the thread has ended.
    """
    try:
        return await asyncio.shield(asyncio.wrap_future(work))
    except asyncio.CancelledError:
        if work.cancelled():
            raise SandboxDied("lost", "The isolated kernel is gone") from None
        raise


async def to_the_end(work: Coroutine[Any, Any, object]) -> None:
    """Awaits work that must come to its end even if whoever awaits it is cancelled again, meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                break
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def in_thread(work: Callable[[], _T]) -> _T:
    """Has a function called in a thread that keeps nothing from ending: neither its caller nor the process."""
    outcome: Future[_T] = Future()

    def call() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- raised where it is awaited
            outcome.set_exception(error)

    threading.Thread(target=call, name="jupyter-skills-work", daemon=True).start()
    waiting = asyncio.wrap_future(outcome)
    await asyncio.wait({waiting})
    return waiting.result()
