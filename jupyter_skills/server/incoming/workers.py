"""Threads for work that would hold up the server's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Each thread that computes makes the loop wait for the interpreter's lock, some milliseconds at a time. Two of them
# keep the disk and the processor busy; with one for each upload the server would hardly answer anything else.
_WORKERS = ThreadPoolExecutor(2, thread_name_prefix="jupyter-skills")


async def off_loop(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What a function returns that takes a while; it runs in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_WORKERS, lambda: function(*args, **kwargs))
