"""The bridges from code that can't await to code that must."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from jupyter_skills.errors import AskInterrupted

_STOPPED_WITHIN = 5.0
_one_at_a_time = threading.Lock()

Result = TypeVar("Result")


def run_now(coroutine_function: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any) -> Result:
    """Runs an async function from where nothing can be awaited, also where an event loop runs already.

    It runs on this thread if it can, for what belongs to this thread, such as the notebook's kernel.

    Raises:
        AskInterrupted: The user stopped it; nothing of it goes on.
    """
    from jupyter_core.utils import run_sync

    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    over = threading.Event()

    async def watched() -> Result:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        try:
            return await coroutine_function(*arguments)
        finally:
            over.set()

    try:
        return run_sync(watched)()
    except KeyboardInterrupt:
        for loop, task in running:
            loop.call_soon_threadsafe(task.cancel)
            over.wait(_STOPPED_WITHIN)
        raise AskInterrupted from None


def run_apart(coroutine_function: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any) -> Result:
    """The same on a thread of its own, whose event loop goes on between calls.

    litellm leaves work behind for later. In a loop that stops with each call it would never be done.

    Raises:
        AskInterrupted: The user stopped it; nothing of it goes on.
    """
    with _one_at_a_time:  # else several threads would each make one
        loop = _loop_apart(os.getpid())
    over = threading.Event()

    async def watched() -> Result:
        try:
            return await coroutine_function(*arguments)
        finally:
            _end_at_exit(loop, os.getpid())
            over.set()

    if _running_loop() is loop:  # called by what it runs itself, it would wait for ever
        return run_now(coroutine_function, *arguments)
    future = asyncio.run_coroutine_threadsafe(watched(), loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        over.wait(_STOPPED_WITHIN)
        raise AskInterrupted from None


def pieces_of(stream: AsyncIterator[Result]) -> Iterator[Result]:
    """The pieces of a stream that was made apart, for those who can't await. To leave early closes it."""

    async def following() -> Any:
        return await anext(stream, None)

    try:
        while (piece := run_apart(following)) is not None:
            yield piece
    finally:
        if hasattr(stream, "aclose"):
            run_apart(stream.aclose)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@cache  # a process that was forked has no threads of its parent's
def _loop_apart(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="jupyter-skills-completions", daemon=True).start()
    return loop


@cache
def _end_at_exit(loop: asyncio.AbstractEventLoop, process: int) -> None:
    """Called once there was work: whoever registers last is called first, and litellm has an end of its own."""
    atexit.register(_end, loop, process)


def _end(loop: asyncio.AbstractEventLoop, process: int) -> None:
    if process != os.getpid():
        return
    from jupyter_skills.models.litellm_import import end_its_tasks

    with suppress(Exception):  # nobody is there any more to tell
        asyncio.run_coroutine_threadsafe(end_its_tasks(), loop).result(_STOPPED_WITHIN)
    loop.call_soon_threadsafe(loop.stop)
