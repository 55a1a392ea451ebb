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

# What is soon done must not wait for uploads.
_ANSWERERS = ThreadPoolExecutor(1, thread_name_prefix="jupyter-skills-answers")


async def off_loop(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What a function returns that takes a while; it runs in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_WORKERS, lambda: function(*args, **kwargs))


async def off_loop_to_answer(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Likewise, for what makes an answer: it waits for other answers only."""
    return await asyncio.get_running_loop().run_in_executor(_ANSWERERS, lambda: function(*args, **kwargs))
