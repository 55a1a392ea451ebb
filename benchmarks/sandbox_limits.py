"""Skills on their way into the sandbox, its memory, and how it ends. Used by ``sandbox.py``."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import docker
import psutil
from measuring import Row, isolated_kernel, judged, local_kernel, noise, reported, settled, spare_of, spread, timed

from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import discard
from jupyter_skills.agent.executor import Isolated
from jupyter_skills.agent.router import Router
from jupyter_skills.agent.shelf import Shelf
from jupyter_skills.agent.tools import RUN_PYTHON, Toolbox
from jupyter_skills.models.client import ToolCall
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import LoadedSkill

MIB = 1024 * 1024
FILES, FILE_SIZE = 1100, 600  # bytes
UNUSED = 300
WARM_UP_GROWTH = 5
DEADLINE = 0.5  # seconds

MOST_AFTER_KILL = 1000.0  # ms
MOST_UNTIL_INTERRUPTED = 200.0
MOST_UNTIL_AFRESH = 3000.0  # 2 s of grace, 1 s for the fresh kernel
MOST_GROWTH = 20.0  # MiB

PUTS_OUT = {"prints": "print('x' * (10 * 2**20))", "displays": "display(picture)"}
RESIDENT = "import psutil; print(psutil.Process().memory_info().rss)"
OWNER = """
import asyncio
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
async def main():
    await IsolatedKernel(DockerSandbox()).start()
    print("started", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def staging(times: int) -> list[Row]:
    """A skill of many small files on its way into a kernel that runs, next to a copy of its folder on this side."""
    reads: list[float] = []
    copies: list[float] = []
    sent: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        source = _skill(Path(folder), "large", files=FILES)
        for number in range(times):
            copies.append(await timed(asyncio.to_thread(shutil.copytree, source, Path(folder, f"copy-{number}"))))
            began = time.perf_counter()
            skill = Skill.from_path(source).snapshot()
            staged = StagedSkill(skill.name, skill.digest, skill.to_tar)
            reads.append((time.perf_counter() - began) * 1000)
            async with isolated_kernel() as kernel:
                sent.append(await timed(kernel.stage([staged])))
                there = await kernel.run("shell", "find /skills/large -type f | wc -l", timeout=60, on_output=_ignore)
                assert int(there.text) == FILES + 1, there
    return [
        (f"staging a skill of {FILES:,} files", spread(sent), "", ""),
        ("  reading it, with its digest", spread(reads), "", ""),
        ("  staging / copying the folder", f"{statistics.median(sent) / statistics.median(copies):.1f}", "", ""),
    ]


async def unused_skills(times: int) -> list[Row]:
    """The first code of a turn, its kernel's start included, with many skills loaded of which none is used."""
    took: dict[int, list[float]] = {0: [], UNUSED: []}
    order = list(took)
    with tempfile.TemporaryDirectory() as folder:
        skills = [Skill.from_path(_skill(Path(folder), f"skill-{number}", files=3)) for number in range(UNUSED)]
        for number in range(1 + times):
            for count in order:
                kernel = IsolatedKernel(DockerSandbox())
                try:
                    spent = await timed(_first_call(kernel, skills[:count]))
                finally:
                    await kernel.stop()
                await settled()
                if number:
                    took[count].append(spent)
            order.reverse()
    ratio = statistics.median(took[UNUSED]) / statistics.median(took[0])
    return [
        (f"first call with {UNUSED} skills loaded, none used", spread(took[UNUSED]), "", ""),
        ("  with none loaded", spread(took[0]), "", ""),
        ("  ratio", f"{ratio:.2f}", "", ""),
    ]


async def _first_call(kernel: IsolatedKernel, skills: list[Skill]) -> None:
    shelf = Shelf([LoadedSkill(skill) for skill in skills], Conversation())
    toolbox = Toolbox(shelf, Router(Isolated(kernel, 60.0)), discard)
    result = await toolbox.run(ToolCall("1", RUN_PYTHON, json.dumps({"code": "6 * 7"})))
    assert "42" in result, result


def _skill(parent: Path, name: str, files: int) -> Path:
    folder = parent / name
    (folder / "data").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does a thing.\n---\nDo it.\n", encoding="utf-8")
    for number in range(files):
        (folder / "data" / f"{number}.txt").write_bytes(b"x" * FILE_SIZE)
    return folder


async def memory(times: int) -> list[Row]:
    """What a session takes that does nothing, and a kernel kept ready; the container as its control group sees it."""
    found: dict[str, list[tuple[float, float]]] = {"idle": [], "spare": []}
    local: list[float] = []
    for _ in range(times):
        async with isolated_kernel() as kernel:
            await kernel.run("python", "1", timeout=60, on_output=_ignore)
            found["idle"].append(await asyncio.to_thread(_taken))
        await settled()
        kernel = IsolatedKernel(DockerSandbox(pool_size=1))
        try:
            kernel.prepare()
            await spare_of(kernel)
            found["spare"].append(await asyncio.to_thread(_taken))
        finally:
            await kernel.stop()
        await settled()
        async with local_kernel() as client:
            resident, _ = await reported(client, "import psutil; report = psutil.Process().memory_info().rss")
            local.append(resident / MIB)
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    other = statistics.median(local)
    return [
        ("memory, idle: container", f"{medians['idle'][0]:.0f} MiB", "", ""),
        ("  kernel's process", f"{medians['idle'][1]:.0f} MiB", "", ""),
        ("  kernel's process / local kernel's", f"{medians['idle'][1] / other:.2f} ({other:.0f} MiB)", "", ""),
        ("memory, paused in the pool: container", f"{medians['spare'][0]:.0f} MiB", "", ""),
        ("  kernel's process", f"{medians['spare'][1]:.0f} MiB", "", ""),
    ]


def _taken() -> tuple[float, float]:
    """MiB that our one container takes, without what is only cached files; and that its kernel has resident."""
    engine = Engine()
    (container,) = [found.id for found in engine.containers(owner=str(os.getpid()))]
    engine.close()
    client = docker.from_env()
    try:
        facts = client.api.stats(container, stream=False)["memory_stats"]
        idle = facts["stats"].get("total_inactive_file", facts["stats"].get("inactive_file", 0))
        processes = client.api.top(container, "-eo pid,rss,args")["Processes"]
    finally:
        client.close()
    (resident,) = [int(rss) for _, rss, command in processes if "-m ipykernel_launcher" in command]
    return (facts["usage"] - idle) / MIB, resident / 1024


async def growth(output: str, calls: int) -> list[Row]:
    """How much both sides grow while a session puts out 10 MiB, again and again. In a process of its own.

    Args:
        output: ``prints``, of which little crosses over, or ``displays``, all of which does.
        calls: How often.
    """
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, fresh) as pool:
        here, inside, spent = await asyncio.get_running_loop().run_in_executor(pool, _grown, output, calls)
    return [
        judged(f"growth, {calls} {output} of 10 MiB: this side", f"{here:.1f} MiB", here, MOST_GROWTH, "MiB"),
        judged("  kernel's process", f"{inside:.1f} MiB", inside, MOST_GROWTH, "MiB"),
        ("  one such call", f"{spent:.0f} ms", "", ""),
    ]


def _grown(output: str, calls: int) -> tuple[float, float, float]:
    return asyncio.run(_growth(output, calls))


async def _growth(output: str, calls: int) -> tuple[float, float, float]:
    async def put_out() -> None:
        done = await kernel.run("python", PUTS_OUT[output], timeout=60, on_output=_ignore)
        assert done.outcome == "ok", done

    async def resident() -> tuple[int, int]:
        inside = await kernel.run("python", RESIDENT, timeout=60, on_output=_ignore)
        return psutil.Process().memory_info().rss, int(inside.text)

    async with isolated_kernel() as kernel:
        assert (await kernel.run("python", noise(10 * MIB), timeout=60, on_output=_ignore)).outcome == "ok"
        for _ in range(WARM_UP_GROWTH):
            await put_out()
        before = await resident()
        spent = [await timed(put_out()) for _ in range(calls)]
        after = await resident()
    here, inside = ((now - then) / MIB for now, then in zip(after, before, strict=True))
    return here, inside, statistics.median(spent)


async def killed_owners(times: int) -> list[Row]:
    """From SIGKILL for the process that owns a sandbox until the engine knows of no container of it any more."""
    took = [await asyncio.to_thread(_until_gone) for _ in range(times)]
    middle = statistics.median(took)
    return [
        judged("owner killed, container gone", spread(took), middle, MOST_AFTER_KILL, "ms"),
        ("  slowest", f"{max(took):.1f} ms", "", ""),
    ]


def _until_gone() -> float:
    engine = Engine()
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"started\n"
        assert len(engine.containers(owner=str(owner.pid))) == 1
        began = time.perf_counter()
        owner.send_signal(signal.SIGKILL)
        while engine.containers(owner=str(owner.pid)):
            time.sleep(0.002)
        took = (time.perf_counter() - began) * 1000
    engine.close()
    return took


async def restarts(times: int) -> list[Row]:
    """From the deadline of a loop that never lets go of the interpreter to the answer of the next call."""

    async def once(kernel: IsolatedKernel) -> None:
        stopped = await kernel.run("python", "sum(range(10**12))", timeout=DEADLINE, on_output=_ignore)
        assert (stopped.outcome, stopped.state_lost) == ("timeout", True), stopped
        assert (await _value(kernel)).startswith("1"), "the next call did not answer"

    took = await _after_deadline(once, times)
    middle = statistics.median(took)
    return [judged("stuck in C: deadline to the next answer", spread(took), middle, MOST_UNTIL_AFRESH, "ms")]


async def interrupts(times: int) -> list[Row]:
    """From the deadline of an endless loop in Python to the call's return; variables stay."""

    async def once(kernel: IsolatedKernel) -> None:
        stopped = await kernel.run("python", "while True: pass", timeout=DEADLINE, on_output=_ignore)
        assert (stopped.outcome, stopped.state_lost) == ("timeout", False), stopped

    took = await _after_deadline(once, times)
    middle = statistics.median(took)
    return [judged("endless loop: deadline to the return", spread(took), middle, MOST_UNTIL_INTERRUPTED, "ms")]


async def _after_deadline(once: Callable[[IsolatedKernel], Awaitable[None]], times: int) -> list[float]:
    async with isolated_kernel() as kernel:
        took: list[float] = []
        for _ in range(times):
            await _value(kernel)
            took.append(await timed(once(kernel)) - DEADLINE * 1000)
        return took


async def _value(kernel: IsolatedKernel) -> str:
    done: Any = await kernel.run("python", "1", timeout=60, on_output=_ignore)
    return str(done.text)


def _ignore(_: str) -> None:
    """For output that doesn't matter."""
