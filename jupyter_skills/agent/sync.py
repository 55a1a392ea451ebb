"""The one bridge from code that can't await to code that must."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from jupyter_skills.errors import AskInterrupted

_STOPPED_WITHIN = 5.0

Result = TypeVar("Result")


def run_now(coroutine_function: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any) -> Result:
    """Runs an async function from where nothing can be awaited, also where an event loop runs already.

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
        raise AskInterrupted("The cell was interrupted", "The conversation and the sandbox stay usable") from None
