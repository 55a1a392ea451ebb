"""A sandbox doesn't outlive its owner, and what does all the same is swept away: only ever our own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import docker
import pytest

from jupyter_skills.sandbox.docker.engine import LABEL, Engine
from jupyter_skills.sandbox.docker.owner import MACHINE, OWNER, labels, sweep
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from tests.conftest import until

pytestmark = pytest.mark.docker

KILLED = 100


def own(doing: str, ready: Connection) -> None:
    """What an owner process does: it has a sandbox, which is idle, at work, or kept ready in a pool."""

    async def main() -> None:
        sandbox = IsolatedKernel(DockerSandbox(pool_size=1 if doing == "kept ready" else 0))
        await sandbox.start()
        if doing == "at work":
            heard = asyncio.Event()
            code = "print('on', flush=True)\nwhile True: pass"
            work = asyncio.create_task(sandbox.run("python", code, timeout=600, on_output=lambda _: heard.set()))
            await heard.wait()
            assert not work.done()
        elif doing == "kept ready":
            sandbox._launcher.prepare(())
            await sandbox._launcher._pool.filled()
        ready.send("ready")
        await asyncio.sleep(600)

    asyncio.run(main())


@pytest.fixture(scope="module")
def owners() -> Iterator[Callable[[str], multiprocessing.Process]]:
    """Starts owner processes, from a server that has the imports done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "jupyter_skills.sandbox.docker.launcher"])

    def start(doing: str) -> multiprocessing.Process:
        here, there = context.Pipe()
        process = context.Process(target=own, args=(doing, there))
        process.start()
        there.close()
        assert here.recv() == "ready"
        here.close()
        return process

    return start


def left_of(pid: int) -> list[Path]:
    folder = Path(tempfile.gettempdir())
    return [path for path in folder.iterdir() if f"jupyter-skills-{pid}-" in path.name]


def test_a_hundred_killed_owners_each_take_their_container_along_within_a_second(
    owners: Callable[[str], multiprocessing.Process], containers: Callable[..., list[str]]
) -> None:
    volumes = len(docker.from_env().volumes.list())
    for _ in range(KILLED):
        owner = owners("idle")
        assert owner.pid is not None
        assert len(containers(owner.pid)) == 1
        os.kill(owner.pid, signal.SIGKILL)
        owner.join()
        assert until(lambda pid=owner.pid: not containers(pid), within=5) < 1.0
        assert left_of(owner.pid) == [], "no socket, no folder"
    assert len(docker.from_env().volumes.list()) == volumes


@pytest.mark.parametrize(("doing", "number"), [("at work", 1), ("kept ready", 2)])
def test_so_does_an_owner_whose_kernels_are_busy_or_stand_still(
    owners: Callable[[str], multiprocessing.Process], containers: Callable[..., list[str]], doing: str, number: int
) -> None:
    owner = owners(doing)
    assert owner.pid is not None
    assert len(containers(owner.pid)) == number
    os.kill(owner.pid, signal.SIGKILL)
    owner.join()
    until(lambda: not containers(owner.pid), within=5)


@pytest.fixture
def container() -> Iterator[Callable[..., str]]:
    """Makes a container with labels; removed after the test if it is still there."""
    client = docker.from_env()
    made = []

    def make(found: dict[str, str], *, started: bool = True) -> str:
        command = ["python3", "-c", "input()"]
        one = client.containers.create(
            DockerSandbox().image, command, labels=found, stdin_open=True, network_mode="none"
        )
        made.append(one)
        if started:
            one.start()
        return str(one.id)

    yield make
    for one in made:
        one.remove(force=True) if one.id in {each.id for each in client.containers.list(all=True)} else None


def ended_process() -> str:
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()
    return str(process.pid)


def test_what_outlived_its_owner_is_swept_and_nothing_else(container: Callable[..., str]) -> None:
    gone = ended_process()
    here = labels()[MACHINE]
    elsewhere = "0" * 12 + here[12:]
    before_the_restart = here.partition("/")[0] + "/another-boot"
    orphans = {
        container({LABEL: "1", OWNER: gone, MACHINE: here}),
        container({LABEL: "1", OWNER: str(os.getpid()), MACHINE: before_the_restart}),
        container({LABEL: "1", OWNER: gone}, started=False),
    }
    others = {
        container({OWNER: gone, MACHINE: here}),
        container({LABEL: "1", OWNER: str(os.getpid()), MACHINE: here}),
        container({LABEL: "1", OWNER: gone, MACHINE: elsewhere}),
        container({LABEL: "1", OWNER: gone}),
    }
    engine = Engine()
    try:
        assert set(sweep(engine)) & (orphans | others) == orphans
        assert sweep(engine) == []
    finally:
        engine.close()
    there = {one.id for one in docker.from_env().containers.list(all=True)}
    assert others <= there
    assert not orphans & there
