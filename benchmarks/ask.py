"""What asking costs beyond litellm: a long streamed answer, and a turn with many skills at hand.

Ours and litellm's own run in the same kernel, turn by turn, against the same scripted server, which is a process of its
own; the figures are differences and ratios of medians. Run it on an idle machine:

    .venv/bin/python benchmarks/ask.py

It takes a few minutes, needs no engine, and exits with status 0 whatever it finds. What rendering alone costs, and how
soon a chunk is shown, is measured by ``benchmarks/rendering.py``.
"""

from __future__ import annotations

import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import Row, judged, local_kernel, machine, reported, run, show, spread

from jupyter_skills.testing import Exchange, ScriptedModel, Turn

CHUNKS = (10_000, 20_000, 40_000)
ROUNDS = 3
TURNS = 60
SKILLS = 20

MOST_OF_A_CORE = 10.0  # %
MOST_FOR_A_TURN = 5.0  # ms
MOST_FOR_DOUBLE = 2.3

# Four characters a chunk, as models send them: paragraphs, some code, a list.
PARAGRAPH = "It is **so** that words follow words, and `code` stands among them.\n\n"
CODE = "```python\nfor number in range(10):\n    print(number, number ** 2)\n```\n\n- one\n- two\n\n"

SET_UP = """
import asyncio, os, statistics, time
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
litellm.suppress_debug_info = True
get_ipython().extension_manager.load_extension("jupyter_skills")
session = get_ipython().jupyter_skills
session.settings.model, session.settings.api_base = "openai/scripted", {url!r}
from jupyter_skills.notebook.render import notebook as rendering
from jupyter_skills.notebook import ask_cell
ask_cell.renderer_for = lambda shell: rendering.NotebookRenderer(live=True)
report = None
"""
STREAMED = """
async def alone():
    stream = await litellm.acompletion(model="openai/scripted", api_base={url!r}, api_key="none", stream=True,
        messages=[{{"role": "user", "content": {prompt!r}}}], stream_options={{"include_usage": True}})
    chunks = [chunk async for chunk in stream]
    litellm.stream_chunk_builder(chunks)
    return len(chunks)

async def ours():
    await session.ask_cell("-n -r off", {prompt!r})

async def cost(work):
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return time.process_time() - cpu, time.perf_counter() - wall

report = [await cost(alone), await cost(ours)]
"""
TURN = """
from jupyter_skills import Skill, ask
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.assembly import Wishes, turn_for
skills = [Skill.from_path(path) for path in {folders!r}]
options = dict(skills=skills, run="off", stream={stream}, settings=session.settings)
draft = await ask("Hi", dry_run=True, **options)
messages = list(draft.messages)
async with turn_for(Wishes(skills=skills, run="off", settings=session.settings), Conversation()) as turn:
    tools = turn.first_request([], Conversation()).tools

async def alone():
    answer = await litellm.acompletion(model="openai/scripted", api_base={url!r}, api_key="none", stream={stream},
        messages=messages, tools=tools, timeout=60, max_retries=0)
    if {stream}:
        litellm.stream_chunk_builder([chunk async for chunk in answer])

async def ours():
    await ask("Hi", **options)

times = {{alone: [], ours: []}}
for number in range({turns} + 5):
    for work in (alone, ours) if number % 2 else (ours, alone):
        began = time.perf_counter()
        await work()
        if number >= 5:
            times[work].append((time.perf_counter() - began) * 1000)
report = [times[alone], times[ours]]
"""


async def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine('ipykernel', 'litellm')}\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    exchanges = [Exchange(f"{count} chunks", [Turn(_text(count), piece=4)]) for count in CHUNKS]
    with ScriptedModel([*exchanges, Exchange("Hi", [Turn("Hello.")])]) as model:
        async with local_kernel() as client:
            await reported(client, SET_UP.format(url=model.url))
            rows += await streamed(client, model.url)
            for stream in (True, False):
                rows += await turns(client, model.url, stream=stream)
    show(rows)


async def streamed(client: Any, url: str) -> list[Row]:
    """Long answers: processor time of the kernel, ours beyond litellm's own."""
    beyond: dict[int, list[float]] = {count: [] for count in CHUNKS}
    times: dict[int, list[float]] = {count: [] for count in CHUNKS}
    alone: dict[int, list[float]] = {count: [] for count in CHUNKS}
    share: list[float] = []
    for _ in range(ROUNDS):
        for count in CHUNKS:
            report, _ = await reported(client, STREAMED.format(url=url, prompt=f"{count} chunks"))
            (cpu_alone, _), (cpu_ours, wall_ours) = report
            beyond[count].append(cpu_ours - cpu_alone)
            times[count].append(cpu_ours)
            alone[count].append(cpu_alone)
            if count == 20_000:
                share.append(100 * (cpu_ours - cpu_alone) / wall_ours)
    middle = {count: statistics.median(values) for count, values in times.items()}
    rows: list[Row] = [
        (
            f"{count:,} chunks of one answer, processor time",
            f"{middle[count]:.2f} s; litellm alone {statistics.median(alone[count]):.2f} s; "
            f"beyond it {1e6 * statistics.median(beyond[count]) / count:.0f} us a chunk",
            "",
            "",
        )
        for count in CHUNKS
    ]
    rows.append(
        judged(
            "  beyond litellm's own, 20,000 chunks as fast as they come, of one core",
            f"{statistics.median(share):.1f} %",
            statistics.median(share),
            MOST_OF_A_CORE,
            "%",
        )
    )
    for less, more in pairwise(CHUNKS):
        ratio = middle[more] / middle[less]
        rows.append(judged(f"  {more:,} / {less:,}", f"{ratio:.2f}", ratio, MOST_FOR_DOUBLE))
    return rows


async def turns(client: Any, url: str, *, stream: bool) -> list[Row]:
    """A turn of one request with many skills at hand, next to litellm's call with the same request."""
    with tempfile.TemporaryDirectory() as folder:
        folders = [_skill(Path(folder), number) for number in range(SKILLS)]
        code = TURN.format(folders=folders, url=url, turns=TURNS, stream=stream)
        (alone, ours), _ = await reported(client, code)
    difference = statistics.median(ours) - statistics.median(alone)
    return [
        (f"a turn with {SKILLS} skills, {'streamed' if stream else 'whole'}", spread(ours), "", ""),
        ("  litellm alone, the same request", spread(alone), "", ""),
        judged("  beyond litellm's own", f"{difference:.1f} ms", difference, MOST_FOR_A_TURN, "ms"),
    ]


def _text(chunks: int) -> str:
    part = PARAGRAPH * 6 + CODE
    return (part * (4 * chunks // len(part) + 1))[: 4 * chunks]


def _skill(folder: Path, number: int) -> str:
    path = folder / f"skill-{number}"
    path.mkdir()
    described = f"Does thing number {number}, whenever somebody asks for that thing or for one much like it."
    (path / "SKILL.md").write_text(
        f"---\nname: skill-{number}\ndescription: {described}\n---\n" + "Do it well.\n" * 200
    )
    (path / "helper.py").write_text("x = 1\n" * 100)
    return str(path)


if __name__ == "__main__":
    run(main)
