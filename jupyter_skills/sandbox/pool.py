"""Kernels that are made ready before they are needed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from jupyter_skills.errors import SkillsError
from jupyter_skills.sandbox.host import KernelHost

Recipe = tuple[object, ...]
Host = TypeVar("Host", bound=KernelHost)


class Pool(Generic[Host]):
    """Keeps kernels of one recipe ready. Its methods may be called in several event loops.

    Args:
        make: Makes one ready, by a recipe.
    """

    def __init__(self, make: Callable[[Recipe], Awaitable[Host]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._recipe: Recipe = ()
        self._spares: list[Future[Host]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def fill(self, recipe: Recipe, size: int) -> None:
        """Begins to make spares until there are ``size``; those of another recipe are let go of.

        One that can't be made is no error: whoever needs a kernel will hear of it.
        """
        with self._lock:
            usable = self._spares if recipe == self._recipe else []
            stale = [spare for spare in self._spares if spare not in usable]
            fresh: list[Future[Host]] = [Future() for _ in range(size - len(usable))]
            self._recipe, self._spares = recipe, [*usable, *fresh]
        for spare in fresh:
            self._in_background(self._fulfil(spare, recipe))
        for spare in stale:
            self._in_background(_let_go(spare))

    async def take(self, recipe: Recipe) -> Host | None:
        """A spare of this recipe, awaited if it is on its way; None if there is none."""
        while True:
            with self._lock:
                spare = self._spares.pop(0) if self._spares and recipe == self._recipe else None
            if spare is None:
                return None
            host = await _kept(spare)
            if host is not None and host.alive:
                return host

    async def close(self) -> None:
        """Ends all spares."""
        with self._lock:
            spares, self._spares = self._spares, []
        for spare in spares:
            await _let_go(spare)

    def _in_background(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.add(task)  # the loop itself holds its tasks weakly
        task.add_done_callback(self._tasks.discard)

    async def _fulfil(self, spare: Future[Host], recipe: Recipe) -> None:
        try:
            spare.set_result(await self._make(recipe))
        except BaseException as error:
            spare.set_exception(error)
            with self._lock, contextlib.suppress(ValueError):
                self._spares.remove(spare)
            if not isinstance(error, SkillsError):
                raise


async def _kept(spare: Future[Host]) -> Host | None:
    waiting = asyncio.wrap_future(spare)
    await asyncio.wait({waiting})  # unlike an await, this leaves the spare as it is when it is cancelled
    return None if waiting.cancelled() or waiting.exception() else waiting.result()


async def _let_go(spare: Future[Host]) -> None:
    host = await _kept(spare)
    if host is not None:
        await host.end()
