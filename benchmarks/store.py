"""How long the store keeps one waiting with 10,000 skills in it, on SQLite and on PostgreSQL.

Times are medians on this machine; what LiteLLM does with a skill for each request stands beside what the store does,
measured turn by turn in the same run, so that the ratio travels. Run it on an idle machine that has PostgreSQL's
programs (scripts/test installs them); it makes a server of its own, and commits to disk as any server does:

    .venv/bin/python benchmarks/store.py

It takes some minutes, needs neither network nor Docker, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from measuring import Row, judged, machine, run, show, spread, timed
from sqlalchemy.engine import Connection

from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import TEXT
from jupyter_skills.store import changes
from jupyter_skills.store.changes import Wish
from jupyter_skills.store.intake import Intake, taken_in
from jupyter_skills.store.store import SkillStore

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.postgres import Cluster, NoPostgres

SKILLS, BATCH = 10_000, 100
AT_ONCE = {"sqlite": 1, "postgresql": 4}  # of which SQLite would write one at a time anyway
FILES = 100
WARM_UP = 5

MOST_GET = 5.0  # ms
MOST_PAGE = 20.0
MOST_SEARCH = 50.0
MOST_CREATE = 50.0

SUBJECTS = ("seedlings", "phylogenies", "spectra", "budgets", "corpora", "glaciers", "orchards", "galaxies")
VERBS = ("draws", "checks", "compares", "summarises", "converts", "measures", "cleans", "sorts", "translates")
OBJECTS = ("tables", "figures", "units", "outliers", "references", "labels", "scales", "fits", "reports")

PARAGRAPH = (
    "Check each value against its unit before it is used, keep the original column, and say what was left out. "
    "Where the data has more than one sheet, read `references/details.md` first. "
)
SCRIPT = """\
import argparse
import csv


def main() -> None:
    parser = argparse.ArgumentParser(description="Reads a table and writes what part {number} of the skill is for.")
    parser.add_argument("table")
    arguments = parser.parse_args()
    with open(arguments.table, newline="") as file:
        rows = list(csv.DictReader(file))
    print(len(rows), "rows, of which", sum(bool(row) for row in rows), "hold something:", {number})


if __name__ == "__main__":
    main()
"""


async def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine()}, {platform.system()}, SQLite {sqlite3.sqlite_version}, {ARGUMENTS.skills:,} skills\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    for name, place in (("SQLite", in_a_file), ("PostgreSQL", on_a_server)):
        try:
            with place() as url:
                async with SkillStore(url, user="ann") as store:
                    rows += await figures(name, store)
        except NoPostgres as missing:
            rows.append((name, f"not measured: {missing}", "", ""))
    show(rows)


@contextmanager
def in_a_file() -> Iterator[str]:
    """The URL of a database in a file."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/skills.db"


@contextmanager
def on_a_server() -> Iterator[str]:
    """The URL of a database of a server with the settings it comes with."""
    with Cluster(settings=()) as cluster:
        yield cluster.create()


async def figures(name: str, store: SkillStore) -> list[Row]:
    """All that is measured on one database."""
    seconds = await fill(store, ARGUMENTS.skills)
    chance = random.Random(7)
    ids = [skill.id for skill in (await store.list(limit=1000)).items]
    cursors = [(await store.list(limit=100)).cursor]
    while cursors[-1] and len(cursors) < 50:
        cursors.append((await store.list(limit=100, after=cursors[-1])).cursor)

    gets = await times(500, lambda _: store.get(chance.choice(ids)))
    pages = await times(100, lambda _: store.list(limit=100, after=chance.choice(cursors)))
    found: list[Row] = []
    for kind, words in WORDS.items():
        searches = await times(30, lambda number, words=words: store.search(words(number)))
        found.append(held(f"  search: {kind}", searches, MOST_SEARCH))
    creations = await times(30, lambda number: store.create(large_skill(number)))
    return [
        (name, f"filled in {seconds:.0f} s", "", ""),
        held("  get", gets, MOST_GET),
        held("  page of 100", pages, MOST_PAGE),
        *found,
        held(f"  create, {FILES} files", creations, MOST_CREATE),
        *await beside_litellm(store),
    ]


async def fill(store: SkillStore, count: int) -> float:
    """Puts skills into the store, some at once; returns how many seconds that took."""
    batches = iter(range(0, count, BATCH))

    def create(first: int) -> None:
        intakes = [taken_in(small_skill(number)) for number in range(first, min(first + BATCH, count))]
        # What SkillStore.create does, with one wait for the disk for all of them.
        store.database.write(lambda connection: [create_in(connection, intake) for intake in intakes])

    def create_in(connection: Connection, intake: Intake) -> None:
        changes.create(connection, store.user, intake, Wish(), "custom")

    async def some() -> None:
        for first in batches:
            await store.database.off_loop(create, first)

    began = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(AT_ONCE[store.database.dialect])))
    return time.perf_counter() - began


def small_skill(number: int) -> Skill:
    """A skill as they are in the wild: a description of a few lines, a body of a page or three, a few files."""
    chance = random.Random(number)
    subject, verb, thing = (chance.choice(words) for words in (SUBJECTS, VERBS, OBJECTS))
    description = f"{verb.title()} {thing} of {subject} for project {number}. Use it when the user has {subject}."
    pages = "\n\n".join([PARAGRAPH * 2] * (2 + number % 12))
    body = f"# {verb.title()} {thing}\n\n{pages}\n\nCode: zq{number}.\n"
    files = {"references/details.md": f"Details of {subject}, number {number}.\n", "scripts/run.py": script(number)}
    return skill_of(f"{subject}-{verb}-{number}", description, body, files)


def large_skill(number: int) -> Skill:
    """A skill of as many files as ``FILES`` says, none of which the store has yet."""
    files = {f"scripts/part{part}/run.py": script(1000 * number + part) for part in range(FILES - 1)}
    return skill_of(f"large-{number}", "Works through a large table, part by part.", PARAGRAPH * 20, files)


def script(number: int) -> str:
    """A script of a kilobyte that no other skill has."""
    return SCRIPT.format(number=number)


def skill_of(name: str, description: str, body: str, files: dict[str, str]) -> Skill:
    """A skill in memory."""
    manifest = f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"
    content = {path: FileEntry(text.encode()) for path, text in ({"SKILL.md": manifest} | files).items()}
    return Skill.from_files(MemoryFiles(content), name, TEXT)


WORDS: dict[str, Callable[[int], str]] = {
    "a word of one skill": lambda number: f"zq{100 + number}",
    "a word of every eighth": lambda number: SUBJECTS[number % len(SUBJECTS)],
    "a word of every skill": lambda _: "unit",
    "five words": lambda number: f"{VERBS[number % 9]} {OBJECTS[number % 7]} of my {SUBJECTS[number % 8]} project",
    "the beginning of a word": lambda number: SUBJECTS[number % len(SUBJECTS)][:4],
    "a word of none": lambda number: f"xylophone{number}",
}


async def beside_litellm(store: SkillStore) -> list[Row]:
    """What a request that uses a skill costs: ours, and LiteLLM's own code on the same bytes.

    Its hook makes a record of the row, which it has kept for up to a minute, and reads the SKILL.md and all files
    out of the archive, for each request. Ours are whole calls, with the queries.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm.llms.litellm_proxy.skills import SkillPromptInjectionHandler
    from litellm.llms.litellm_proxy.skills.handler import _prisma_skill_to_litellm

    skill = await store.find("large-1")
    archive = base64.b64encode(await store.content(skill.id)).decode()  # as Prisma gives bytes
    row = {"skill_id": "litellm_skill_1", "display_title": skill.title, "file_content": archive}
    kept = SimpleNamespace(model_dump=lambda: dict(row))
    handler = SkillPromptInjectionHandler()

    async def theirs() -> None:
        record = _prisma_skill_to_litellm(kept)
        handler.convert_skill_to_anthropic_tool(record)
        assert handler.extract_skill_content(record)
        assert len(handler.extract_all_files(record)) == FILES

    ours: dict[str, Callable[[], Awaitable[Any]]] = {
        "its instructions (get)": lambda: store.get(skill.id),
        "its archive (content)": lambda: store.content(skill.id),
        "all its files (skill)": lambda: store.skill(skill.id),
    }
    took: dict[str, list[float]] = {name: [] for name in ("theirs", *ours)}
    for turn in range(WARM_UP + 50):
        for name, work in (("theirs", theirs), *ours.items()):
            milliseconds = await timed(work())
            if turn >= WARM_UP:
                took[name].append(milliseconds)
    other = statistics.median(took["theirs"])
    rows: list[Row] = [("  LiteLLM, the same skill, each request", spread(took["theirs"]), "", "")]
    for name in ours:
        rows.append((f"  {name}", spread(took[name]), "", ""))
        rows.append(("    ours / LiteLLM's", f"{statistics.median(took[name]) / other:.2f}", "", ""))
    return rows


async def times(rounds: int, work: Callable[[int], Awaitable[Any]]) -> list[float]:
    """How many milliseconds each round takes; the first ones don't count."""
    took = [await timed(work(number)) for number in range(WARM_UP + rounds)]
    return took[WARM_UP:]


def held(figure: str, milliseconds: list[float], bound: float) -> Row:
    """A row with a bound, and whether the median keeps it."""
    return judged(figure, spread(milliseconds), statistics.median(milliseconds), bound, "ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skills", type=int, default=SKILLS, help="how many there are (%(default)s)")
    ARGUMENTS = parser.parse_args()
    run(main)
