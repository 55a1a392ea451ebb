"""What running code in the live kernel costs beyond running it as a cell, and how soon a person sees what it prints.

Both are measured in an ordinary kernel, side by side. Run it on an idle machine:

    .venv/bin/python benchmarks/live.py

It takes about half a minute, needs no model, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import statistics
from typing import Any

from measuring import Row, judged, local_kernel, machine, reported, run, show, spread

REPEATS = 200
MOST_OVER_CELL = 5.0  # ms
MOST_LATE = 20.0  # ms from a print to the message that shows it, when no pause has to be kept

COMMON = """
import asyncio, statistics, time
from types import SimpleNamespace
get_ipython().run_line_magic("load_ext", "jupyter_skills")
from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted
from jupyter_skills.execution.result import Execution
from jupyter_skills.notebook.live.kernel import ShellKernel
from jupyter_skills.notebook.render.notebook import NotebookRenderer
from jupyter_skills.notebook.render.throttle import SHORTEST_PAUSE

session = get_ipython().jupyter_skills
shell, kernel = session.shell, ShellKernel(session)
numbers = list(range(1000))
words = {f"word {number}": [number] for number in range(50)}
CODES = {"1 + 1": "1 + 1", "print, 100 lines": "for line in range(100): print('line', line)", "sum": "sum(numbers)"}

async def as_cell(code):
    began = time.perf_counter()
    result = await shell.run_cell_async(code, store_history=False, transformed_cell=shell.transform_cell(code))
    took = time.perf_counter() - began
    assert result.success
    return took * 1000

async def as_code(code):
    began = time.perf_counter()
    done = await kernel.run(code, lambda _: None)
    took = time.perf_counter() - began
    assert done.outcome == "ok", done
    return took * 1000
"""

OVERHEAD = """
report = {{}}
for name, code in CODES.items():
    both = []
    for _ in range({repeats}):
        both.append((await as_cell(code), await as_code(code)))
    report[name] = both[5:]
"""

# The hook is called where the message is handed on, so all that was done for the update lies before it.
LATENESS = """
report, printed = [], []
publisher = type(shell.display_pub)
original = publisher.publish

def publish(self, *args, **kwargs):
    original(self, *args, **kwargs)
    if printed:
        report.append((time.perf_counter() - printed.pop()) * 1000)

publisher.publish = publish
try:
    for _ in range({repeats}):
        renderer = NotebookRenderer(live=True)
        renderer.show(CallStarted("run_python", "", "live", "python", "print(1)"))
        time.sleep(SHORTEST_PAUSE * 2)
        code = "printed.append(time.perf_counter())\\nprint(1)"
        done = await kernel.run(code, lambda text: renderer.show(CallOutput(text)))
        printed.clear()
        renderer.show(CallFinished(True, "", done))
finally:
    publisher.publish = original
"""


async def main() -> None:
    async with local_kernel() as client:
        await reported(client, f"{COMMON}\nreport = 0")
        costs, _ = await reported(client, OVERHEAD.format(repeats=REPEATS))
        late, _ = await reported(client, LATENESS.format(repeats=20))
    rows: list[Row] = [("figure", "measured", "bound", "within")]
    for name, both in costs.items():
        rows += overhead(name, both)
    middle = statistics.median(late)
    rows.append(judged("from a print to its update", f"{middle:.1f} ms", middle, MOST_LATE, "ms"))
    rows.append(("  median and quartiles", spread(late), "", ""))
    print(f"{machine('ipykernel')}\n")
    show(rows)


def overhead(name: str, both: list[Any]) -> list[Row]:
    """Rows for a piece of code that ran in turns as a cell and as a model's code."""
    cells, codes = zip(*both, strict=True)
    over = statistics.median(code - cell for cell, code in both)
    return [
        (f"{name}: as a cell", spread(cells), "", ""),
        ("  as a model's code", spread(codes), "", ""),
        judged("  code - cell", f"{over:.2f} ms", over, MOST_OVER_CELL, "ms"),
    ]


if __name__ == "__main__":
    run(main)
