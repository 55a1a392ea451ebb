"""What is at work in the running event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import jupyter_skills

_PACKAGE = str(Path(jupyter_skills.__file__).parent)


async def our_tasks_are_over() -> None:
    """Waits for all that the package has begun: it comes to its end by itself, or was stopped."""
    while left := {task for task in asyncio.all_tasks() if _file_of(task).startswith(_PACKAGE)}:
        async with asyncio.timeout(10):
            await asyncio.wait(left)


def _file_of(task: asyncio.Task[object]) -> str:
    code = getattr(task.get_coro(), "cr_code", None)
    return code.co_filename if code is not None else ""
