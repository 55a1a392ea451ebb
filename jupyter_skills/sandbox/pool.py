"""Kernels that are made ready before they are needed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from jupyter_skills.sandbox.host import KernelHost
from jupyter_skills.sandbox.thread import LoopThread, to_the_end

Recipe = tuple[object, ...]
Host = TypeVar("Host", bound=KernelHost)


class Pool(Generic[Host]):
    """Keeps kernels of one recipe ready.

    They are made in a thread of its own: who waits for one may keep the loop that asked for it from running.

    Args:
        make: Makes one ready, by a recipe.
    """

    def __init__(self, make: Callable[[Recipe], Coroutine[Any, Any, Host]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._recipe: Recipe = ()
        self._spares: list[Future[Host]] = []

    @property
    def empty(self) -> bool:
        """Whether there are no spares, made or on their way."""
        return not self._spares

    def fill(self, recipe: Recipe, size: int) -> None:
        """Begins to make spares until there are ``size``; those of another recipe are let go of.

        One that can't be made is no error: whoever needs a kernel will hear of it.
        """
        with self._lock:
            usable = self._spares if recipe == self._recipe else []
            stale = [spare for spare in self._spares if spare not in usable]
            if size > len(usable) or stale:
                self._thread = self._thread or LoopThread("jupyter-skills-pool")
            if self._thread is None:
                return
            fresh = [self._thread.submit(self._make(recipe)) for _ in range(size - len(usable))]
            self._recipe, self._spares = recipe, [*usable, *fresh]
            for spare in stale:
                self._thread.submit(_let_go(spare))

    async def take(self, recipe: Recipe) -> Host | None:
        """A spare of this recipe, awaited if it is on its way; None if there is none."""
        while True:
            with self._lock:
                spare = self._spares.pop(0) if self._spares and recipe == self._recipe else None
            if spare is None:
                return None
            try:
                host = await _kept(spare)
            except asyncio.CancelledError:
                with self._lock:
                    usable = recipe == self._recipe and self._thread is not None
                    if usable:
                        self._spares.insert(0, spare)
                if not usable:
                    await to_the_end(_let_go(spare))
                raise
            if host is not None and host.alive:
                return host

    async def filled(self) -> None:
        """Returns when no spare is on its way any more."""
        with self._lock:
            spares = list(self._spares)
        for spare in spares:
            await _kept(spare)

    async def close(self) -> None:
        """Ends all spares."""
        with self._lock:
            spares, self._spares = self._spares, []
            thread, self._thread = self._thread, None
        await to_the_end(_all_let_go(spares, thread))


async def _all_let_go(spares: Iterable[Future[Host]], thread: LoopThread | None) -> None:
    for spare in spares:
        await _let_go(spare)
    if thread is not None:
        thread.stop()


async def _kept(spare: Future[Host]) -> Host | None:
    waiting = asyncio.wrap_future(spare)
    await asyncio.wait({waiting})  # unlike an await, this leaves the spare as it is when it is cancelled
    return None if waiting.cancelled() or waiting.exception() else waiting.result()


async def _let_go(spare: Future[Host]) -> None:
    host = await _kept(spare)
    if host is not None:
        await host.end()
