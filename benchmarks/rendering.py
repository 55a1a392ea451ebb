"""What showing an answer costs while it comes: how late each update is, and how the work grows with the answer.

Both are measured in an ordinary kernel, with the renderer that notebooks get and nobody but it at work. Run it on an
idle machine:

    .venv/bin/python benchmarks/rendering.py

It takes about a minute, needs no model, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from measuring import Row, judged, local_kernel, machine, reported, run, show

PER_SECOND, SECONDS = 50, 10
COUNTS = (5_000, 10_000, 20_000, 40_000)
REPEATS = 3

MOST_LATE = 20.0  # ms beyond the throttle
MOST_TIMES_FOR_TWICE = 2.2

COMMON = """
import asyncio, time
from jupyter_skills.agent.events import TextDone
from jupyter_skills.models.client import TextDelta
from jupyter_skills.notebook.render import notebook, throttle

PROSE = (
    "Some *prose* with `code`, a [link](http://example.org) and a formula, $a_1 < b$.\\n\\n" * 6
    + "## A title\\n\\n- one\\n- two\\n\\n| a | b |\\n| - | - |\\n| 1 | 2 |\\n\\n"
    + "```python\\ndef double(x):\\n    return 2 * x  # twice\\n```\\n\\n"
)
FENCE = "    total = sum(values)  # all of them\\n"
SERIES = {
    "list": ("", "- an **item** with `code` in it, and a few more words\\n"),
    "table": ("| a | b | c |\\n| - | - | - |\\n", "| one cell | **another** one | `third` |\\n"),
}

def answer(kind, characters):
    if kind == "fence":
        return ("```python\\n" + FENCE * (characters // len(FENCE) + 1))[:characters]
    if kind in SERIES:
        begin, line = SERIES[kind]
        return (begin + line * (characters // len(line) + 1))[:characters]
    return (PROSE * (characters // len(PROSE) + 1))[:characters]
"""

# A piece may be shown when the pause after the update before it is over; before that it isn't late. The hook is called
# where the message is handed on, so all that was done for the update lies before it.
LATENESS = """
published, arrived, free, late = [], [], [0.0], []
publisher = type(get_ipython().display_pub)
original = publisher.publish

def publish(self, *args, **kwargs):
    original(self, *args, **kwargs)
    now = time.perf_counter()
    if arrived:
        late.append((now - max(arrived[0], free[0])) * 1000)
        arrived.clear()

work = throttle.Throttle._do

def timed(self):
    work(self)
    free[0] = time.perf_counter() + self._not_before - self._loop.time()

async def turn():
    text = answer("prose", {per_second} * {seconds} * 4)
    renderer = notebook.NotebookRenderer(live=True)
    begin = time.perf_counter()
    for number in range({per_second} * {seconds}):
        await asyncio.sleep(max(0, begin + number / {per_second} - time.perf_counter()))
        arrived.append(time.perf_counter())
        renderer.show(TextDelta(text[4 * number : 4 * number + 4]))
    renderer.show(TextDone(text))

publisher.publish, throttle.Throttle._do = publish, timed
try:
    await turn()
finally:
    publisher.publish, throttle.Throttle._do = original, work
report = late
"""

# Pieces come as fast as the loop takes them: each is a turn of the loop, as with a real stream.
WORK = """
async def turn(text):
    renderer = notebook.NotebookRenderer(live=True)
    for begin in range(0, len(text), 4):
        renderer.show(TextDelta(text[begin : begin + 4]))
        await asyncio.sleep(0)
    renderer.show(TextDone(text))

async def idle(text):
    for begin in range(0, len(text), 4):
        TextDelta(text[begin : begin + 4])
        await asyncio.sleep(0)

async def cost(work, text):
    began = time.process_time()
    await work(text)
    return time.process_time() - began

text = answer({kind!r}, 4 * {count})
report = (await cost(turn, text)) - (await cost(idle, text))
"""


async def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine('ipykernel', 'markdown-it-py')}\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    async with local_kernel() as client:
        await reported(client, COMMON + "report = 0")
        rows += await lateness(client)
        rows += await work(client, "prose", "prose and code")
        rows += await work(client, "fence", "one code block")
        rows += await work(client, "list", "one list")
        rows += await work(client, "table", "one table")
    show(rows)


async def lateness(client: Any) -> list[Row]:
    """How long after a piece has come, and the throttle is over, the update is handed to the frontend."""
    late, _ = await reported(client, LATENESS.format(per_second=PER_SECOND, seconds=SECONDS))
    return [
        (f"updates, {PER_SECOND} pieces a second for {SECONDS} s", str(len(late)), "", ""),
        judged("  beyond the throttle, p50", f"{quantile(late, 50):.1f} ms", quantile(late, 50), MOST_LATE, "ms"),
        judged("  p95", f"{quantile(late, 95):.1f} ms", quantile(late, 95), MOST_LATE, "ms"),
        judged("  max", f"{max(late):.1f} ms", max(late), MOST_LATE, "ms"),
    ]


async def work(client: Any, kind: str, name: str) -> list[Row]:
    """CPU seconds for answers of doubling lengths, beyond those that the loop takes by itself."""
    took: dict[int, list[float]] = {count: [] for count in COUNTS}
    for _ in range(REPEATS):
        for count in COUNTS:
            took[count].append((await reported(client, WORK.format(kind=kind, count=count)))[0])
    rows: list[Row] = []
    before = 0.0
    for count in COUNTS:
        seconds = statistics.median(took[count])
        rows.append((f"{name}, {count:,} pieces", f"{seconds:.2f} s, {seconds / count * 1e6:.0f} us a piece", "", ""))
        if before:
            ratio = seconds / before
            rows.append(judged("  times half as many", f"{ratio:.2f}", ratio, MOST_TIMES_FOR_TWICE))
        before = seconds
    return rows


def quantile(values: Sequence[float], percent: int) -> float:
    """The value that this share of all values does not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


if __name__ == "__main__":
    run(main)
