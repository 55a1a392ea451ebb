"""Real processes that use one store at the same time, and the skills that they put into it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import Barrier
from typing import Any, TypeVar

from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import TEXT

MANY = 8
STUCK_AFTER = 120.0  # seconds

# Forked from a process that has imported the store and done nothing else: quick, and with no connection of ours.
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["jupyter_skills.store.store", "tests.store.processes"])

Result = TypeVar("Result")

_barrier: Barrier


class Crowd:
    """As many processes as ``MANY`` says, which begin each piece of work at the same moment."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(MANY, PROCESSES, _enter, (PROCESSES.Barrier(MANY),))

    def run(self, work: Callable[..., Coroutine[Any, Any, Result]], *arguments: object) -> list[Result]:
        """Has each process do the work.

        Args:
            work: A coroutine function of a module; it gets the process's number and the arguments.
            arguments: What to give it.

        Returns:
            What came of it in each process.
        """
        futures = [self._pool.submit(_together, work, number, *arguments) for number in range(MANY)]
        return [future.result(STUCK_AFTER) for future in futures]

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown()


def _enter(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _together(work: Callable[..., Coroutine[Any, Any, Any]], *arguments: object) -> Any:
    _barrier.wait(STUCK_AFTER)
    return asyncio.run(work(*arguments))


def a_skill(name: str, body: str = "Do it.", *, description: str = "Does a thing.", files: int = 3) -> Skill:
    """A skill with as many files, besides its SKILL.md, that hold what its body does."""
    manifest = f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"
    content = {"SKILL.md": FileEntry(manifest.encode())}
    content |= {f"data/{number}.txt": FileEntry(f"{number}: {body}\n".encode()) for number in range(files)}
    return Skill.from_files(MemoryFiles(content), name, TEXT)
