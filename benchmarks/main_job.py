"""How long the user waits for us: loading the extension, one call in the sandbox, its cold start.

Each figure is measured next to what it is compared with, turn by turn in the same run, and given as a ratio
or a difference of medians, so that it travels from one machine to another. Run it on an idle machine:

    .venv/bin/python benchmarks/main_job.py

It takes about a minute, needs a Docker engine with the sandbox image, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import ast
import asyncio
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox

LOADS = 15
WARM_UP_CALLS, CALLS = 10, 300
WARM_UP_STARTS, STARTS = 1, 10
READY_WITHIN = 60.0

MOST_FOR_LOAD = 150.0  # ms
MOST_OVER_LOCAL_CALL = 3.0  # ms
MOST_TIMES_LOCAL_START = 2.0

# The audit hook is called some 260 times during the load, which the time doesn't show.
LOAD = """
import sys, time
attempts = []
watched = {"socket.connect", "socket.getaddrinfo", "socket.sendto"}
sys.addaudithook(lambda event, facts: attempts.append(event) if event in watched else None)
began = time.perf_counter()
get_ipython().extension_manager.load_extension("jupyter_skills")
report = {
    "milliseconds": (time.perf_counter() - began) * 1000,
    "attempts": len(attempts),
    "heavy": sum(name in sys.modules for name in ("litellm", "docker", "sqlalchemy")),
    "there": hasattr(get_ipython(), "jupyter_skills"),
}
"""
TIMED_IMPORT = """
import time
began = time.perf_counter()
import IPython.core.interactiveshell
print((time.perf_counter() - began) * 1000)
"""

Row = tuple[str, str, str, str]
Message = dict[str, Any]


async def main() -> None:
    """Measures everything and prints the table."""
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"ipykernel {version('ipykernel')}, Docker engine {Engine().version()}\n"
    )
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    rows += await loading()
    rows += await warm_calls()
    rows += await cold_starts()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


async def loading() -> list[Row]:
    """``%load_ext jupyter_skills`` in fresh kernels, next to the import of IPython's shell in fresh interpreters."""
    loads: list[float] = []
    imports: list[float] = []
    printed = heavy = attempts = 0
    for _ in range(LOADS):
        async with local_kernel() as client:
            report, messages = await reported(client, LOAD)
        assert report["there"], "the extension did not load"
        loads.append(report["milliseconds"])
        printed += messages
        heavy += report["heavy"]
        attempts += report["attempts"]
        imports.append(float(await asyncio.to_thread(subprocess.check_output, [sys.executable, "-c", TIMED_IMPORT])))
    load, shell = statistics.median(loads), statistics.median(imports)
    return [
        judged("load_ext in a fresh kernel", spread(loads), load, MOST_FOR_LOAD, "ms"),
        ("  import of IPython's shell", spread(imports), "", ""),
        ("  load_ext / that import", f"{load / shell:.2f}", "", ""),
        judged("  messages printed", str(printed), printed, 0),
        judged("  litellm, docker or sqlalchemy imported", str(heavy), heavy, 0),
        judged("  connections attempted", str(attempts), attempts, 0),
    ]


async def warm_calls() -> list[Row]:
    """``1`` run in both kernels, call by call."""
    ours: list[float] = []
    local: list[float] = []
    async with local_kernel() as client, isolated_kernel() as kernel:
        for number in range(WARM_UP_CALLS + CALLS):
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


async def cold_starts() -> list[Row]:
    """Both kernels from nothing until they are ready, start by start; who is first changes each round."""
    took: dict[Any, list[float]] = {isolated_kernel: [], local_kernel: []}
    order = list(took)
    for number in range(WARM_UP_STARTS + STARTS):
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


async def local_call(client: AsyncKernelClient) -> None:
    """The same code in the local kernel, to the reply on shell and ``idle`` on iopub."""
    request = client.execute("1", allow_stdin=False)
    await asyncio.gather(awaited(client.get_shell_msg, request), awaited(client.get_iopub_msg, request, is_idle))


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
    return message["content"].get("execution_state") == "idle"


async def awaited(
    receive: Callable[[], Awaitable[Message]], request: str, wanted: Callable[[Message], bool] = lambda _: True
) -> Message:
    """The first message that belongs to a request and is wanted."""
    while True:
        message = await receive()
        if message["parent_header"].get("msg_id") == request and wanted(message):
            return message


async def timed(work: Awaitable[Any]) -> float:
    """How many milliseconds it takes."""
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def start_of(kernel: AbstractAsyncContextManager[Any]) -> float:
    """How many milliseconds a kernel takes to get ready; on return it is gone, so that the next one starts alone."""
    began = time.perf_counter()
    async with kernel:
        took = (time.perf_counter() - began) * 1000
    await asyncio.to_thread(settle)
    return took


def settle() -> None:
    """Waits until the engine has none of our containers left, and a moment longer: it tidies up after that."""
    engine = Engine()
    while engine.containers({"jupyter_skills.owner": str(os.getpid())}):
        time.sleep(0.05)
    engine.close()
    time.sleep(0.5)


def judged(figure: str, measured: str, value: float, bound: float, unit: str = "") -> Row:
    """A row with a bound."""
    return figure, measured, f"<= {bound:g} {unit}".rstrip() if bound else "none", "yes" if value <= bound else "NO"


def spread(milliseconds: list[float]) -> str:
    """The median, and the quartiles around it."""
    low, middle, high = statistics.quantiles(milliseconds, n=4)
    return f"{middle:.1f} ms ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    # A profile of our own: no startup files of the user's, and nothing added to the user's history.
    with tempfile.TemporaryDirectory() as profile:
        os.environ["IPYTHONDIR"] = profile
        asyncio.run(main())
