"""Kernels that have an id, as those of a Jupyter server have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from uuid import uuid4

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.frontend import Notebook


def connection_file(kernel_id: str) -> Path:
    """Where Jupyter keeps it."""
    return Path(os.environ["JUPYTER_RUNTIME_DIR"], f"kernel-{kernel_id}.json")


class NumberedNotebook(Notebook):
    """A kernel of our own with an id.

    Args:
        folder: Its working folder.
        environment: What is different in its environment.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(folder)
        self.id = str(uuid4())
        self.environment = {**os.environ, **(environment or {})}

    def __enter__(self) -> Self:
        connection_file(self.id).parent.mkdir(parents=True, exist_ok=True)
        self.manager = KernelManager(kernel_name="python3", connection_file=str(connection_file(self.id)))
        self.manager.start_kernel(cwd=str(self.folder), env=self.environment)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        return self

    def restart(self, *, now: bool = False) -> None:
        """Restarts the kernel, and waits until it answers."""
        self.manager.restart_kernel(now=now)
        self.client.wait_for_ready(timeout=60)
        self.run("%load_ext jupyter_skills")


class ServersNotebook(Notebook):
    """A client of a kernel that a server runs.

    Args:
        folder: Its working folder.
        kernel_id: Its id.
    """

    def __init__(self, folder: Path, kernel_id: str) -> None:
        super().__init__(folder)
        self.id = kernel_id

    def __enter__(self) -> Self:
        self.client = BlockingKernelClient(connection_file=str(connection_file(self.id)))
        self.client.load_connection_file()
        self.client.start_channels(hb=False)  # a kernel that is slow to start would be taken for a dead one
        self.client.wait_for_ready(timeout=60)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
