"""The isolated kernel as other Jupyter clients start it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from jupyter_skills.sandbox.settings import KERNEL_NAME
from tests.conftest import until

pytestmark = pytest.mark.docker


def test_nbclient_runs_a_notebook_in_it(workdir: Path, containers: Callable[..., list[str]]) -> None:
    cells = [
        "import os; os.getuid()",
        "x = 1",
        "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()",
        "print(x)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name=KERNEL_NAME, timeout=60).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert outputs[0][0].data["text/plain"] == "10001"
    assert "image/png" in outputs[2][0].data
    assert outputs[3][0].text == "1\n"
    until(lambda: not containers())


async def test_it_restarts_with_the_same_connection_and_shuts_down(containers: Callable[..., list[str]]) -> None:
    manager = AsyncKernelManager(kernel_name=KERNEL_NAME)
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=30)
        await client.execute_interactive("x = 1", timeout=30)
        info = manager.get_connection_info()
        await manager.restart_kernel()
        assert manager.get_connection_info() == info
        await client.wait_for_ready(timeout=30)
        reply = await client.execute_interactive("x", timeout=30, output_hook=lambda _: None)
        assert reply["content"]["ename"] == "NameError"
    finally:
        client.stop_channels()
        await manager.shutdown_kernel()
    assert not await manager.is_alive()
    until(lambda: not containers())


async def test_several_clients_share_one_kernel() -> None:
    manager = AsyncKernelManager(kernel_name=KERNEL_NAME)
    await manager.start_kernel()
    clients = [manager.client() for _ in range(2)]
    try:
        for number, client in enumerate(clients):
            client.session = client.session.clone()
            client.session.session = f"client-{number}"
            client.start_channels()
            await client.wait_for_ready(timeout=30)
            reply = await client.execute_interactive(f"x{number} = {number}", timeout=30)
            assert reply["content"]["status"] == "ok"
            assert await client.is_alive()
        reply = await clients[0].execute_interactive("assert (x0, x1) == (0, 1)", timeout=30)
        assert reply["content"]["status"] == "ok"
    finally:
        for client in clients:
            client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def test_a_kernel_that_dies_is_noticed() -> None:
    manager = AsyncKernelManager(kernel_name=KERNEL_NAME)
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=30)
        client.execute("import os; os._exit(7)")
        assert manager.provisioner is not None
        assert await manager.provisioner.wait() == 7
        assert not await manager.is_alive()
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
