"""Private folders that don't outlive their process for long."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil


def owned_folder(prefix: str, base: str | None = None) -> str:
    """Makes a private folder; those of the same prefix whose owners are gone are cleared away.

    Args:
        prefix: What its name begins with; the owner's process id follows.
        base: Where to make it; the folder for temporary files if not given.
    """
    base = base or tempfile.gettempdir()
    for folder in Path(base).glob(f"{prefix}*"):
        owner = folder.name.removeprefix(prefix).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=base)
