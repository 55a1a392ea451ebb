"""Runs inside the isolated kernel: ``!command`` without a terminal in between, which would keep all that is printed."""

from __future__ import annotations

import subprocess
from typing import Any


def install(shell: Any) -> None:
    """Has ``!`` and ``%system`` lines print straight to where the kernel's output goes.

    Args:
        shell: The kernel's shell.
    """

    def system(command: str) -> None:
        """Runs a command; its exit status is left in ``_exit_code``, as IPython does."""
        line = shell.var_expand(command, depth=1)
        shell.user_ns["_exit_code"] = subprocess.call(["/bin/bash", "-c", line], stdin=subprocess.DEVNULL)

    shell.system = system
