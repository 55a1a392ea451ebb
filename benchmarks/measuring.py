"""What the benchmarks share: both kinds of kernels, calls that are timed, a heading, rows of a table.

Not a program of its own. Figures are medians of what was measured turn by turn in one run, so that their ratios and
differences travel from one machine to another.
"""

from __future__ import annotations

import ast
import asyncio
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox

READY_WITHIN = 60.0
WARM_UP_CALLS, WARM_UP_STARTS = 10, 1

MOST_OVER_LOCAL_CALL = 3.0  # ms
MOST_TIMES_LOCAL_START = 2.0

# Random pixels: compression would change nothing about their size.
NOISE = """
import io, os
from IPython.display import Image, display
import PIL.Image
side = round(({size} / 3) ** 0.5)
buffer = io.BytesIO()
PIL.Image.frombytes("RGB", (side, side), os.urandom(3 * side * side)).save(buffer, "PNG", compress_level=0)
picture = Image(buffer.getvalue())
"""

Row = tuple[str, str, str, str]
Message = dict[str, Any]


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs a benchmark in a profile of its own.

    No startup files of the user's are read, and nothing is added to the user's history or audit.
    """
    with tempfile.TemporaryDirectory() as profile:
        os.environ["IPYTHONDIR"] = os.environ["JUPYTER_DATA_DIR"] = profile
        asyncio.run(main())


def machine(*packages: str, engine: bool = False) -> str:
    """The machine and the programs that figures depend on, in a line.

    Args:
        packages: Those whose versions matter.
        engine: Whether the Docker engine's does.
    """
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    parts = [f"{os.cpu_count()} cores", f"load average {load}", f"Python {platform.python_version()}"]
    parts += [f"{package} {version(package)}" for package in packages]
    if engine:
        docker = Engine()
        parts.append(f"Docker engine {docker.info()['ServerVersion']}")
        docker.close()
    return ", ".join(parts)


def show(rows: Sequence[tuple[str, ...]]) -> None:
    """Prints a table; the first row holds the titles."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


async def warm_calls(calls: int) -> list[Row]:
    """``1`` run in both kernels, call by call."""
    ours: list[float] = []
    local: list[float] = []
    async with local_kernel() as client, isolated_kernel() as kernel:
        for number in range(WARM_UP_CALLS + calls):
            seconds = await timed(isolated_call(kernel)), await timed(local_call(client))
            if number >= WARM_UP_CALLS:
                ours.append(seconds[0])
                local.append(seconds[1])
    mine, other = statistics.median(ours), statistics.median(local)
    difference = mine - other
    return [
        ("run_python, warm: isolated", spread(ours), "", ""),
        ("  local kernel", spread(local), "", ""),
        ("  isolated / local", f"{mine / other:.2f}", "", ""),
        judged("  isolated - local", f"{difference:.1f} ms", difference, MOST_OVER_LOCAL_CALL, "ms"),
    ]


async def cold_starts(starts: int) -> list[Row]:
    """Both kernels from nothing until they are ready, start by start; who is first changes each round."""
    took: dict[Any, list[float]] = {isolated_kernel: [], local_kernel: []}
    order = list(took)
    for number in range(WARM_UP_STARTS + starts):
        for kernel in order:
            seconds = await start_of(kernel())
            if number >= WARM_UP_STARTS:
                took[kernel].append(seconds)
        order.reverse()
    ours, local = took[isolated_kernel], took[local_kernel]
    ratio = statistics.median(ours) / statistics.median(local)
    return [
        ("cold start: isolated", spread(ours), "", ""),
        ("  local kernel", spread(local), "", ""),
        judged("  isolated / local", f"{ratio:.2f}", ratio, MOST_TIMES_LOCAL_START),
    ]


@asynccontextmanager
async def local_kernel() -> AsyncIterator[AsyncKernelClient]:
    """The ordinary kernel, once it is as ready as ``IsolatedKernel.start`` makes its own."""
    manager = AsyncKernelManager(kernel_name="python3")
    # Each start would warn there that Jupyter's default transport is not encrypted.
    await manager.start_kernel(stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels(stdin=False, hb=False)
    try:
        await asyncio.wait_for(until_ready(client), READY_WITHIN)
        yield client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


@asynccontextmanager
async def isolated_kernel() -> AsyncIterator[IsolatedKernel]:
    """The kernel in a container."""
    kernel = IsolatedKernel(DockerSandbox())
    try:
        await kernel.start()
        yield kernel
    finally:
        await kernel.stop()


async def until_ready(client: AsyncKernelClient) -> None:
    """Waits for a reply on shell and one message on iopub, as ``IsolatedKernel`` does."""
    heard_iopub = asyncio.ensure_future(client.get_iopub_msg())
    await awaited(client.get_shell_msg, client.kernel_info())
    while not heard_iopub.done():
        # The subscription may have come after the first answer's messages; the next answer's will be heard.
        await awaited(client.get_shell_msg, client.kernel_info())
        await asyncio.wait({heard_iopub}, timeout=0.02)


async def isolated_call(kernel: IsolatedKernel) -> None:
    """What ``run_python`` costs a turn: the code, its output and the look at new files."""
    execution = await kernel.run("python", "1", timeout=60, on_output=lambda _: None)
    assert execution.text == "1\n", execution


async def local_call(
    client: AsyncKernelClient, code: str = "1", on_message: Callable[[Message], None] = lambda _: None
) -> None:
    """Code in the local kernel, to the reply on shell and ``idle`` on iopub.

    Args:
        client: The kernel's.
        code: What to run; it must not fail.
        on_message: Called with each message on iopub that belongs to it.
    """

    def idle(message: Message) -> bool:
        on_message(message)
        return is_idle(message)

    request = client.execute(code, allow_stdin=False)
    reply, _ = await asyncio.gather(
        awaited(client.get_shell_msg, request), awaited(client.get_iopub_msg, request, idle)
    )
    assert reply["content"]["status"] == "ok", reply["content"]


async def reported(client: AsyncKernelClient, code: str) -> tuple[Any, int]:
    """Runs code that sets ``report``; returns that, and how many messages would show up below a cell."""
    shown = 0

    def idle(message: Message) -> bool:
        nonlocal shown
        shown += message["msg_type"] not in ("status", "execute_input")
        return is_idle(message)

    request = client.execute(code, user_expressions={"report": "report"}, allow_stdin=False)
    reply, _ = await asyncio.gather(
        awaited(client.get_shell_msg, request), awaited(client.get_iopub_msg, request, idle)
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    return ast.literal_eval(reply["content"]["user_expressions"]["report"]["data"]["text/plain"]), shown


def is_idle(message: Message) -> bool:
    """Whether it is the last message of an execution on iopub."""
    return bool(message["content"].get("execution_state") == "idle")


async def awaited(
    receive: Callable[[], Awaitable[Message]], request: str, wanted: Callable[[Message], bool] = lambda _: True
) -> Message:
    """The first message that belongs to a request and is wanted."""
    while True:
        message = await receive()
        if message["parent_header"].get("msg_id") == request and wanted(message):
            return message


def noise(size: int) -> str:
    """Code that makes ``picture``, a PNG of this many bytes, ready to be displayed."""
    return NOISE.format(size=size)


async def timed(work: Awaitable[Any]) -> float:
    """How many milliseconds it takes."""
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def spare_of(kernel: IsolatedKernel) -> None:
    """Waits until the spare that ``prepare`` has begun is ready.

    Nothing public tells: users need not know. The pool keeps a ``concurrent.futures.Future`` for each spare.
    """
    pool = kernel._launcher._pool  # type: ignore[attr-defined]
    await asyncio.wait({asyncio.wrap_future(spare) for spare in pool._spares})


async def start_of(kernel: AbstractAsyncContextManager[Any]) -> float:
    """How many milliseconds a kernel takes to get ready; on return it is gone, so that the next one starts alone."""
    began = time.perf_counter()
    async with kernel:
        took = (time.perf_counter() - began) * 1000
    await settled()
    return took


async def settled() -> None:
    """Waits until the engine has none of our containers left, and a moment longer: it tidies up after that."""
    await asyncio.to_thread(_settle)


def _settle() -> None:
    engine = Engine()
    while engine.containers(owner=str(os.getpid())):
        time.sleep(0.05)
    engine.close()
    time.sleep(0.5)


def judged(figure: str, measured: str, value: float, bound: float, unit: str = "") -> Row:
    """A row with a bound."""
    return figure, measured, f"<= {bound:g} {unit}".rstrip() if bound else "none", "yes" if value <= bound else "NO"


def spread(milliseconds: Sequence[float]) -> str:
    """The median, and the quartiles around it."""
    low, middle, high = statistics.quantiles(milliseconds, n=4)
    return f"{middle:.1f} ms ({low:.1f} to {high:.1f})"
