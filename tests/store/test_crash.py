"""A process that is killed leaves all of what it was doing, or nothing."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import sqlalchemy as sa

from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.database import Database
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import blobs, skills, versions
from tests.store.processes import PROCESSES, STUCK_AFTER, a_skill

KILLS = 30
AT_ONCE = 3
MOST_STATEMENTS = 40
"""Each creation is some ten statements, so this is anywhere in one of the first."""


async def test_creates_that_are_killed_leave_all_or_nothing(store: SkillStore, store_url: str) -> None:
    await store.create(a_skill("there-before"))
    chance = random.Random(7)
    promised = {}
    for turn in range(KILLS):
        promised |= killed(create_without_end, store_url, turn, chance.randint(1, MOST_STATEMENTS), turn % 2 == 0)
        await store.create(a_skill(f"after-kill-{turn}"))  # what was killed holds up nobody
    there = await everything(store)
    assert promised.items() <= there.items(), "what was reported as created is there"
    for name, digest in there.items():
        seen = await store.find(name)
        assert (seen.latest_version, seen.default_version) == ("1", "1")
        assert (await store.version(seen.id)).digest == digest
        assert Skill.from_zip(await store.content(seen.id)).digest == digest
    found = await store.search("phylogeny", limit=1000)
    assert sorted(hit.skill.name for hit in found) == sorted(name for name in there if name.startswith("killed-"))
    assert leftovers(store_url) == []


async def test_versions_that_are_killed_leave_all_or_nothing(store: SkillStore, store_url: str) -> None:
    skill = await store.create(a_skill("in-work"))
    chance = random.Random(8)
    promised = {}
    for turn in range(KILLS // 3):
        stop_at = chance.randint(1, MOST_STATEMENTS)
        promised |= killed(create_versions_without_end, store_url, skill.id, stop_at, turn % 2 == 0)
    there = (await store.versions(skill.id, limit=1000)).items
    assert promised.items() <= {version.version: version.digest for version in there}.items()
    now = await store.get(skill.id)
    assert now.latest_version == now.default_version == there[0].version
    for version in there:
        assert (await store.skill(skill.id, version.version)).digest == version.digest
    assert leftovers(store_url) == []


@pytest.mark.parametrize("stop_at", [*range(1, 13, 2), MOST_STATEMENTS // 2])
async def test_a_database_whose_making_was_killed_is_made_by_the_next(store_url: str, stop_at: int) -> None:
    promised = killed(create_without_end, store_url, 0, stop_at, True)
    async with SkillStore(store_url, user="ann") as store:
        await store.create(a_skill("next"))
        assert {*promised, "next"} <= {*await everything(store)}
    assert leftovers(store_url) == []


def killed(work, *arguments: object) -> dict[str, str]:
    """Has a process work until it says that it is amid a statement, and kills it there; what it reported as done."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(theirs, *arguments))
    process.start()
    theirs.close()
    done = {}
    amid = False
    try:
        while ours.poll(STUCK_AFTER):
            told = ours.recv()
            if told == "amid":
                amid = True
                process.kill()
            else:
                done[told[0]] = told[1]
    except EOFError:
        process.join(STUCK_AFTER)
    finally:
        process.kill()
    assert amid, "it ended by itself"
    return done


def create_without_end(tell: Connection, url: str, turn: int, stop_at: int, wait: bool) -> None:
    """Creates skills, some at once; tells of each, and of the statement at which it wants to be killed."""
    tell_amid(tell, stop_at, wait)

    async def create(store: SkillStore, part: int) -> None:
        for number in count():
            skill = a_skill(f"killed-{turn}-{part}-{number}", "Draws a phylogeny.", files=20)
            await store.create(skill)
            tell.send((skill.name, skill.digest))

    async def main() -> None:
        async with SkillStore(url, user="ann") as store:
            await asyncio.gather(*(create(store, part) for part in range(AT_ONCE)))

    asyncio.run(main())


def create_versions_without_end(tell: Connection, url: str, skill_id: str, stop_at: int, wait: bool) -> None:
    """Creates versions of a skill, as ``create_without_end`` creates skills."""
    tell_amid(tell, stop_at, wait)

    async def create(store: SkillStore, part: int) -> None:
        for number in count():
            skill = a_skill("in-work", f"Version {stop_at} {part} {number}.")
            tell.send(((await store.create_version(skill_id, skill)).version, skill.digest))

    async def main() -> None:
        async with SkillStore(url, user="ann") as store:
            await asyncio.gather(*(create(store, part) for part in range(AT_ONCE)))

    asyncio.run(main())


def tell_amid(tell: Connection, stop_at: int, wait: bool) -> None:
    """Tells of a statement before it runs, or of a commit.

    Args:
        tell: Where to.
        stop_at: Which one, from 1.
        wait: Whether to stay right there; otherwise it goes on, to be killed a moment later.
    """
    numbers = count(1)

    def told(*_: object) -> None:
        if next(numbers) == stop_at:
            tell.send("amid")
            if wait:
                threading.Event().wait()

    for point in ("before_cursor_execute", "commit"):
        sa.event.listen(sa.Engine, point, told)


async def everything(store: SkillStore) -> dict[str, str]:
    """The digest of each skill's default version by its name, page by page."""
    found: dict[str, str] = {}
    after = None
    while True:
        page = await store.list(limit=7, after=after)
        for skill in page.items:
            found[skill.name] = (await store.version(skill.id)).digest
        after = page.cursor
        if after is None:
            return found


def leftovers(url: str) -> list[str]:
    """What no skill uses, or lacks something, or is damaged as the database sees it."""

    def look(connection: sa.Connection) -> list[str]:
        unused = sa.select(blobs.c.digest).where(blobs.c.digest.not_in(sa.select(versions.c.archive)))
        empty = sa.select(skills.c.id).where(skills.c.id.not_in(sa.select(versions.c.skill_id)))
        lost = sa.select(versions.c.id).where(versions.c.archive.not_in(sa.select(blobs.c.digest)))
        return [found for query in (unused, empty, lost) for found in connection.execute(query).scalars()]

    database = Database(url)
    found = database.read(look)
    database.close()
    file = Path(url.removeprefix("sqlite:///"))
    if file.exists():
        with sqlite3.connect(file) as connection:
            found += [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            found += [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
        connection.close()
    return found
