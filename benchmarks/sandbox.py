"""How long the sandbox keeps one waiting, next to a local kernel and next to other ways to run code in Docker.

Each figure is measured next to what it is compared with, turn by turn in the same run, and given as a ratio or a
difference of medians where it can be. Run it on an idle machine:

    .venv/bin/python benchmarks/sandbox.py

It takes a quarter of an hour, needs a Docker engine on this machine with the sandbox image, and exits with status 0
whatever it finds. ``--quick`` measures everything twice or so, to see whether it works; ``--only ours`` or ``--only
peers`` does a half.

llm-sandbox, which LiteLLM's executor needs as well, is no dependency of ours. To have both measured, install it into an
environment of its own, and run the script there with ours in sight:

    .venv/bin/python -m venv peers
    peers/bin/pip install llm-sandbox
    packages=$(.venv/bin/python -c "import site; print(site.getsitepackages()[0])")
    PYTHONPATH=$packages:$PWD peers/bin/python benchmarks/sandbox.py

It installs packages in its containers, and starts the image's own command in them. Where installing takes more than an
open network (a bundle of certificates, an index), or the image has no command because its base has none, build one on
top of ours that has it, and name that with ``--peer-image``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import sandbox_limits
import sandbox_peers
from measuring import (
    Message,
    Row,
    cold_starts,
    isolated_kernel,
    judged,
    local_call,
    local_kernel,
    machine,
    noise,
    run,
    settled,
    show,
    spare_of,
    spread,
    timed,
    warm_calls,
)

from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox

MIB = 1024 * 1024

MOST_FOR_PNG = {1: 60.0, 10: 400.0}  # ms by MiB
MOST_FOR_FIRST_FIGURE = 100.0  # ms
MOST_UNTIL_SHOWN = 50.0  # ms

FIGURE = "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); plt.show()"
# Each line says when it was printed; the code goes on meanwhile, with the interpreter to itself or not.
PRINTS = """
import time
for _ in range({times}):
    print("x", time.time(), flush=False)
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:
        {meanwhile}
"""
MEANWHILE = {"sleeps": "time.sleep(0.01)", "computes": "pass"}


@dataclass(frozen=True)
class Counts:
    """How often each thing is done."""

    starts: int = 10
    calls: int = 300
    small_pictures: int = 30
    large_pictures: int = 10
    first_figures: int = 10
    prints: int = 20
    stagings: int = 5
    unused: int = 6
    memory: int = 3
    prints_of_much: int = 100
    displays_of_much: int = 30
    kills: int = 10
    restarts: int = 5
    interrupts: int = 10
    peers: int = 3


QUICK = Counts(2, 20, 3, 2, 2, 3, 2, 2, 2, 10, 3, 2, 2, 2, 1)


async def main(arguments: argparse.Namespace) -> None:
    """Measures everything and prints the tables."""
    counts = QUICK if arguments.quick else Counts()
    print(f"{machine('ipykernel', engine=True)}\n", flush=True)
    if arguments.only != "peers":
        rows: list[Row] = [("figure", "measured", "bound", "holds")]
        work: list[Callable[[], Coroutine[Any, Any, list[Row]]]] = [
            lambda: cold_starts(counts.starts),
            lambda: warm_calls(counts.calls),
            lambda: pictures(1, counts.small_pictures),
            lambda: pictures(10, counts.large_pictures),
            lambda: first_figures(counts.first_figures),
            lambda: streaming("sleeps", counts.prints),
            lambda: streaming("computes", counts.prints),
            lambda: sandbox_limits.staging(counts.stagings),
            lambda: sandbox_limits.unused_skills(counts.unused),
            lambda: sandbox_limits.memory(counts.memory),
            lambda: sandbox_limits.growth("prints", counts.prints_of_much),
            lambda: sandbox_limits.growth("displays", counts.displays_of_much),
            lambda: sandbox_limits.killed_owners(counts.kills),
            lambda: sandbox_limits.restarts(counts.restarts),
            lambda: sandbox_limits.interrupts(counts.interrupts),
        ]
        for measure in work:
            try:
                found = await measure()
            except Exception as error:  # noqa: BLE001 -- one thing that goes wrong must not cost the other figures
                found = [(f"not measured: {type(error).__name__}", " ".join(str(error).split())[:60], "", "NO")]
            print(f"  {found[0][0]}: {found[0][1]}", file=sys.stderr, flush=True)
            rows += found
            await settled()
        show(rows)
        print(flush=True)
    if arguments.only != "ours":
        await sandbox_peers.main(counts.peers, arguments.peer_image)
    print(f"\nafterwards: {machine('ipykernel', engine=True)}")


async def pictures(size: int, times: int) -> list[Row]:
    """A PNG of noise that is there already, displayed; ours is decoded and checked, the local one just received.

    Args:
        size: In MiB.
        times: How often.
    """
    ours: list[float] = []
    local: list[float] = []
    code = noise(size * MIB)
    async with local_kernel() as client, isolated_kernel() as kernel:
        assert (await kernel.run("python", code, timeout=60, on_output=_ignore)).outcome == "ok"
        await local_call(client, code)
        lost = 0
        for number in range(1 + times):
            began = time.perf_counter()
            came = await _shown(kernel, size)
            mine, other = (time.perf_counter() - began) * 1000, await timed(_shown_locally(client, size))
            lost += not came
            if number and came:
                ours.append(mine)
                local.append(other)
    middle = statistics.median(ours)
    return [
        judged(f"{size} MiB PNG displayed: isolated", spread(ours), middle, MOST_FOR_PNG[size], "ms"),
        ("  local kernel, not decoded", spread(local), "", ""),
        ("  isolated - local", f"{middle - statistics.median(local):.1f} ms", "", ""),
        judged("  pictures that did not come", str(lost), lost, 0),
    ]


async def _shown(kernel: IsolatedKernel, size: int) -> bool:
    execution = await kernel.run("python", "display(picture)", timeout=60, on_output=_ignore)
    assert execution.outcome == "ok", execution
    return [len(image.data) > 0.95 * size * MIB for image in execution.images] == [True]


async def _shown_locally(client: Any, size: int) -> None:
    received = 0

    def count(message: Message) -> None:
        nonlocal received
        received += len(message["content"].get("data", {}).get("image/png", ""))

    await local_call(client, "display(picture)", count)
    assert received > 1.2 * size * MIB, received


async def first_figures(times: int) -> list[Row]:
    """The first figure of a session: with a kernel kept ready, without one, and in a fresh local kernel.

    With ``pool_size=1`` the session takes the spare, and the next spare is begun while the figure is drawn: that is
    part of the figure.
    """
    took: dict[Any, list[list[float]]] = {_figures_from_pool: [], _figures_from_nothing: [], _figures_locally: []}
    order = list(took)
    for _ in range(times):
        for figures in order:
            took[figures].append(await figures())
            await settled()
        order.append(order.pop(0))
    (pooled, second), (cold, _), (local, local_second) = (zip(*each, strict=True) for each in took.values())
    middle = statistics.median(pooled)
    return [
        judged("first figure, from the pool", spread(pooled), middle, MOST_FOR_FIRST_FIGURE, "ms"),
        ("  the second one there", spread(second), "", ""),
        ("  from nothing", spread(cold), "", ""),
        ("  local kernel, from nothing", spread(local), "", ""),
        ("  the second one there", spread(local_second), "", ""),
        ("  local, from nothing / from the pool", f"{statistics.median(local) / middle:.1f}", "", ""),
    ]


async def _figures_from_pool() -> list[float]:
    kernel = IsolatedKernel(DockerSandbox(pool_size=1))
    try:
        kernel.prepare()
        await spare_of(kernel)
        return [await timed(_drawn(kernel)) for _ in range(2)]
    finally:
        await kernel.stop()


async def _figures_from_nothing() -> list[float]:
    kernel = IsolatedKernel(DockerSandbox())
    try:
        return [await timed(_drawn(kernel)) for _ in range(2)]
    finally:
        await kernel.stop()


async def _drawn(kernel: IsolatedKernel) -> None:
    execution = await kernel.run("python", FIGURE, timeout=60, on_output=_ignore)
    assert len(execution.images) == 1, execution


async def _figures_locally() -> list[float]:
    received = 0

    def count(message: Message) -> None:
        nonlocal received
        received += "image/png" in message["content"].get("data", {})

    began = time.perf_counter()
    async with local_kernel() as client:
        await local_call(client, FIGURE, count)
        took = (time.perf_counter() - began) * 1000
        second = await timed(local_call(client, FIGURE, count))
    assert received == 2
    return [took, second]


async def streaming(meanwhile: str, times: int) -> list[Row]:
    """From a ``print`` inside to its arrival here, while the code goes on. Takes the container's clock for ours."""
    code = PRINTS.format(times=times, meanwhile=MEANWHILE[meanwhile])
    ours: list[tuple[str, float]] = []
    local: list[tuple[str, float]] = []

    def heard_local(message: Message) -> None:
        if message["msg_type"] == "stream":
            local.append((message["content"]["text"], time.time()))

    async with local_kernel() as client, isolated_kernel() as kernel:
        # One after the other: at once they would share the processors.
        await kernel.run("python", code, timeout=60, on_output=lambda text: ours.append((text, time.time())))
        await local_call(client, code, heard_local)
    delays, local_delays = _delays(ours), _delays(local)
    assert len(delays) == len(local_delays) == times, (ours, local)
    middle = statistics.median(delays)
    return [
        judged(f"print to arrival, code {meanwhile}: isolated", spread(delays), middle, MOST_UNTIL_SHOWN, "ms"),
        ("  slowest", f"{max(delays):.1f} ms", "", ""),
        ("  local kernel", spread(local_delays), "", ""),
    ]


def _delays(pieces: list[tuple[str, float]]) -> list[float]:
    """Milliseconds from each line's own time to the arrival of its end; pieces need not be whole lines."""
    found = []
    line = ""
    for text, arrived in pieces:
        for part in text.splitlines(keepends=True):
            line += part
            if line.endswith("\n"):
                found.append((arrived - float(line.split()[1])) * 1000)
                line = ""
    return found


def _ignore(_: str) -> None:
    """For output that doesn't matter."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the sandbox.")
    parser.add_argument("--quick", action="store_true", help="everything twice or so, to see whether it works")
    parser.add_argument("--only", choices=("ours", "peers"), help="a half of it")
    parser.add_argument(
        "--peer-image", default=DockerSandbox().image, help="what peers run from that can be told; ours by default"
    )
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _arguments()
    run(lambda: main(chosen))
