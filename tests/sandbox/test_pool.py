"""Kernels that are ready before they are needed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable

import docker
import pytest

from jupyter_skills.errors import EngineMissing
from jupyter_skills.sandbox.docker.launcher import DockerLauncher
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from tests.conftest import until

pytestmark = pytest.mark.docker


@pytest.fixture
async def pooled() -> AsyncIterator[IsolatedKernel]:
    """A sandbox with one kernel kept ready."""
    sandbox = IsolatedKernel(DockerSandbox(pool_size=1))
    sandbox.prepare()
    await filled(sandbox)
    yield sandbox
    await sandbox.stop()


async def filled(sandbox: IsolatedKernel) -> None:
    assert isinstance(sandbox._launcher, DockerLauncher)
    await sandbox._launcher._pool.filled()


async def text(sandbox: IsolatedKernel, code: str) -> str:
    return (await sandbox.run("python", code, timeout=30, on_output=lambda _: None)).text


async def test_the_kernel_kept_ready_is_the_one_that_runs_the_code(
    pooled: IsolatedKernel, containers: Callable[..., list[str]]
) -> None:
    ready = containers()
    assert len(ready) == 1
    assert await text(pooled, "import os, socket; print(socket.gethostname())") == "sandbox\n"
    assert ready[0] in containers()
    await filled(pooled)
    assert len(containers()) == 2, "another one is kept ready in its place"


async def test_it_has_imported_what_figures_need_and_shows_nothing_of_it(pooled: IsolatedKernel) -> None:
    names = await text(pooled, "[name for name in dir() if not name.startswith('_')]")
    assert names == "['In', 'Out', 'exit', 'get_ipython', 'open', 'quit']\n"
    assert await text(
        pooled, "import sys; 'matplotlib.pyplot' in sys.modules, len(sys.modules['matplotlib.pyplot'].get_fignums())"
    ) == ("(True, 0)\n")
    done = await pooled.run(
        "python", "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()", timeout=30, on_output=lambda _: None
    )
    assert len(done.images) == 1


async def test_it_stands_still_until_it_is_needed(pooled: IsolatedKernel) -> None:
    client = docker.from_env()
    (spare,) = client.containers.list(filters={"label": f"jupyter_skills.owner={os.getpid()}"})
    states = [row[-1] for row in spare.top(ps_args="-o pid,stat")["Processes"]]
    assert sum(state.startswith("T") for state in states) == 1, states
    assert sum(state.startswith("S") for state in states) == 1, "process 1 must see when its owner is gone"


async def test_a_kernel_that_died_is_replaced_by_the_one_kept_ready(
    pooled: IsolatedKernel, containers: Callable[..., list[str]]
) -> None:
    await text(pooled, "1")
    await filled(pooled)
    before = containers()
    await pooled.run("python", "import os; os._exit(1)", timeout=30, on_output=lambda _: None)
    assert await text(pooled, "2") == "2\n"
    assert set(containers()) & set(before)


async def test_a_changed_setting_makes_those_kept_ready_useless(
    pooled: IsolatedKernel, containers: Callable[..., list[str]]
) -> None:
    (stale,) = containers()
    pooled._settings.memory = "512m"
    files = "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"
    limit = await text(
        pooled,
        f"from pathlib import Path\n[Path(file).read_text() for file in {files} if Path(file).exists()]",
    )
    assert str(512 * 1024**2) in limit
    await filled(pooled)
    until(lambda: stale not in containers())


async def test_stopping_ends_those_kept_ready(pooled: IsolatedKernel, containers: Callable[..., list[str]]) -> None:
    await pooled.stop()
    until(lambda: not containers())


async def test_without_an_engine_nothing_is_said_until_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    sandbox = IsolatedKernel(DockerSandbox(pool_size=1))
    sandbox.prepare()
    await filled(sandbox)
    with pytest.raises(EngineMissing):
        await sandbox.start()
    await sandbox.stop()


async def test_those_on_their_way_can_be_let_go_of_while_the_loop_that_asked_for_them_is_kept_busy() -> None:
    sandbox = IsolatedKernel(DockerSandbox(pool_size=1))
    sandbox.prepare()
    # As a line magic does: the cell keeps its loop from running, and waits for another one.
    elsewhere = threading.Thread(target=asyncio.run, args=(sandbox.stop(),))
    elsewhere.start()
    elsewhere.join()


async def test_a_stop_that_is_given_up_ends_them_all_the_same(containers: Callable[..., list[str]]) -> None:
    sandbox = IsolatedKernel(DockerSandbox(pool_size=2))
    sandbox.prepare()
    stop = asyncio.create_task(sandbox.stop())
    await asyncio.wait({stop}, timeout=0.05)
    stop.cancel()
    await asyncio.wait({stop})
    until(lambda: not containers())
