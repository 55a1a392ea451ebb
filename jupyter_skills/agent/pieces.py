"""Work that tells of itself while it goes on, as pieces that one can iterate over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Whole(Generic[Result]):
    """What the work has come to; the last of its pieces."""

    result: Result


async def as_it_comes(
    work: Callable[[Callable[[Piece], None]], Coroutine[Any, Any, Result]], context: Context | None = None
) -> AsyncGenerator[Piece | Whole[Result], None]:
    """Yields what the work tells, then its result. To leave early stops the work, and waits until it has stopped.

    Args:
        work: Called with what it tells its pieces to; does the work.
        context: What it runs in; a copy of the caller's if not given.

    Raises:
        Exception: What the work raises, after all that it has told before.
    """
    told: asyncio.Queue[Piece | None] = asyncio.Queue()
    task = asyncio.create_task(work(told.put_nowait), context=context)
    task.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (piece := await told.get()) is not None:
            yield piece
        yield Whole(await task)
    finally:
        task.cancel()
        await asyncio.wait({task})
