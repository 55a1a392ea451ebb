"""What asking for consent costs: how soon the question stands, and how soon a cell fails where nobody can be asked.

Both are measured in an ordinary kernel, from the moment that a tool call is to be run. The question is compared with a
plain display in the same kernel. The client shows nothing, so it is the kernel's side of it; what a page takes to draw
widgets is its own affair. Run it on an idle machine:

    .venv/bin/python benchmarks/consent.py

It takes about half a minute, needs no model, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import statistics
from typing import Any

from measuring import Row, judged, local_kernel, machine, reported, run, show

ROUNDS = 30

MOST_TO_QUESTION = 50.0  # ms
MOST_TO_DECISION = 2_000.0  # ms

COMMON = """
%load_ext jupyter_skills
import asyncio, time
from contextlib import suppress
from IPython.display import publish_display_data
from jupyter_skills.agent.executor import AfterConsent, Code
from jupyter_skills.approval.memory import Consents, Remembering
from jupyter_skills.approval.policy import approver_for
from jupyter_skills.errors import ConsentUnavailable
from jupyter_skills.notebook.consent import person
from jupyter_skills.notebook.consent.person import Person, prepare
from jupyter_skills.notebook.render.place import Place

shell = get_ipython()
session = shell.jupyter_skills
CODE = Code("run_python", "python", '''
import pandas as pd
summary = {}
for number in range(10):
    summary[number] = sum(values[number:])
values.append(len(summary))
pd.DataFrame({"a": list(summary.values())}).to_csv("summary.csv")
summary
''')
values = list(range(100))
shown = []
original = Place.show

def noted(self, bundle):
    original(self, bundle)
    shown.append(time.perf_counter())

def executor(someone):
    approver = approver_for("ask", [Remembering(Consents(), Person(shell, lambda _: None))], someone=someone)
    return AfterConsent(None, approver, trusts=lambda _: True, lay_out=lambda _: "")

async def question():
    shown.clear()
    Place.show = noted
    began = time.perf_counter()
    task = asyncio.ensure_future(executor(True).run(CODE, (), lambda _: None))
    try:
        while not shown:
            await asyncio.sleep(0)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        Place.show = original
    return (shown[0] - began) * 1000

def plain():
    began = time.perf_counter()
    publish_display_data({"text/html": "<b>x</b>" * 100, "text/plain": "x"})
    return (time.perf_counter() - began) * 1000

async def refused():
    began = time.perf_counter()
    with suppress(ConsentUnavailable):
        await executor(False).run(CODE, (), lambda _: None)
        raise AssertionError("it was not refused")
    return (time.perf_counter() - began) * 1000
"""

# Nobody is there, as far as the kernel knows; the question is to be put all the same.
ASKED = "person.can_answer = lambda _: True\nfirst = await question()\nreport = first"
WARM = "report = [[await question(), plain()] for _ in range({rounds})]"
REFUSED = "report = [await refused() for _ in range({rounds})]"
PREPARED = "prepare()\nawait asyncio.sleep(3)\nreport = 0"


async def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine('ipykernel', 'ipywidgets')}\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    async with local_kernel() as client:
        await reported(client, COMMON + "report = 0")
        rows += await unattended(client)
        rows += await asked(client)
    show(rows)


async def unattended(client: Any) -> list[Row]:
    """From the tool call to the error, where nobody can be asked."""
    took, _ = await reported(client, REFUSED.format(rounds=ROUNDS))
    return [judged("nobody to ask: to the error, max", f"{max(took):.1f} ms", max(took), MOST_TO_DECISION, "ms")]


async def asked(client: Any) -> list[Row]:
    """From the tool call to the moment that the question is handed on, with its look at the code and its buttons."""
    await reported(client, PREPARED)  # as a turn does while the model is thinking
    first, _ = await reported(client, ASKED)
    pairs, _ = await reported(client, WARM.format(rounds=ROUNDS))
    questions, plains = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    middle, other = statistics.median(questions), statistics.median(plains)
    return [
        judged("question: the first of a session", f"{first:.1f} ms", first, MOST_TO_QUESTION, "ms"),
        judged("question: p50", f"{middle:.1f} ms", middle, MOST_TO_QUESTION, "ms"),
        judged("  max", f"{max(questions):.1f} ms", max(questions), MOST_TO_QUESTION, "ms"),
        ("  a plain display, p50", f"{other:.2f} ms", "", ""),
    ]


if __name__ == "__main__":
    run(main)
