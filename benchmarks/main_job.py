"""How long the user waits for us: loading the extension, one call in the sandbox, its cold start.

Each figure is measured next to what it is compared with, turn by turn in the same run, and given as a ratio
or a difference of medians, so that it travels from one machine to another. Run it on an idle machine:

    .venv/bin/python benchmarks/main_job.py

It takes about a minute, needs a Docker engine with the sandbox image, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys

from measuring import Row, cold_starts, judged, local_kernel, machine, reported, run, show, spread, warm_calls

LOADS = 15
CALLS = 300
STARTS = 10

MOST_FOR_LOAD = 150.0  # ms

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


async def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine('ipykernel', engine=True)}\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    rows += await loading()
    rows += await warm_calls(CALLS)
    rows += await cold_starts(STARTS)
    show(rows)


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


if __name__ == "__main__":
    run(main)
