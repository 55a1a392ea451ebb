"""litellm, imported when it is first needed, and tidied up after."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

_TIDY_WITHIN = 1.0  # seconds

_litellm: Any = None


async def imported() -> Any:
    """The library, imported off the event loop: its import takes seconds."""
    return _litellm or await asyncio.to_thread(import_now)


def import_now() -> Any:
    """The same for those who can't await, or whose caller has imported it already."""
    global _litellm
    if _litellm is not None:
        return _litellm
    switch = "LITELLM_LOCAL_MODEL_COST_MAP"
    before = os.environ.get(switch)
    os.environ[switch] = before or "True"  # else the import asks a web server for prices
    try:
        litellm: Any = import_module("litellm")
    finally:
        if before is None:
            os.environ.pop(switch, None)
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = 10_000  # a table may well repeat itself a hundred times
    litellm.suppress_debug_info = True  # else it prints advertisements into the cell
    litellm.disable_hf_tokenizer_download = True  # else counting tokens, and building some replies, asks a web server
    _litellm = litellm
    return litellm


def provider_of(model: str, arguments: Mapping[str, Any]) -> str:
    """The provider that litellm would ask; empty if it knows none, which it will say itself.

    Args:
        model: The model's name.
        arguments: What else goes to it; they may name the provider, or its address.
    """
    if given := arguments.get("custom_llm_provider"):
        return str(given)
    try:
        return str(import_now().get_llm_provider(model=model, api_base=arguments.get("api_base"))[1])
    except Exception:  # noqa: BLE001 -- the request itself will meet it, with all that is to be said of it
        return ""


async def end_its_tasks() -> None:
    """Ends what litellm leaves in the running event loop, for those who end the loop; Python would complain of it."""
    if _litellm is None:
        return
    with suppress(Exception):  # nobody is there any more to tell
        logging = import_module("litellm.litellm_core_utils.logging_worker").GLOBAL_LOGGING_WORKER
        await asyncio.wait_for(logging.flush(), _TIDY_WITHIN)
    with suppress(Exception):
        await asyncio.wait_for(_litellm.close_litellm_async_clients(), _TIDY_WITHIN)
    package = os.path.dirname(_litellm.__file__)
    theirs = {task for task in asyncio.all_tasks() if _file_of(task).startswith(package)}
    for task in theirs:
        task.cancel()
    if theirs:
        await asyncio.wait(theirs, timeout=_TIDY_WITHIN)


def _file_of(task: asyncio.Task[Any]) -> str:
    code = getattr(task.get_coro(), "cr_code", None)
    return code.co_filename if code is not None else ""
