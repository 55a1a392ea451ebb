"""litellm, imported when it is first needed."""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import Any


async def imported() -> Any:
    """The library, imported off the event loop: its import takes seconds."""
    return await asyncio.to_thread(_import)


def _import() -> Any:
    switch = "LITELLM_LOCAL_MODEL_COST_MAP"
    before = os.environ.get(switch)
    os.environ[switch] = before or "True"  # else the import asks a web server for prices
    try:
        litellm: Any = import_module("litellm")
    finally:
        if before is None:
            del os.environ[switch]
    litellm.suppress_debug_info = True  # else it prints advertisements into the cell
    litellm.disable_hf_tokenizer_download = True  # else counting tokens, and building some replies, asks a web server
    return litellm
