"""Many processes use one store at once: nothing is lost, nothing is there twice, and nobody hears of locks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from sqlalchemy.engine import Connection

from jupyter_skills.errors import StoreConflict
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.database import Database
from jupyter_skills.store.store import SkillStore
from tests.store.processes import MANY, Crowd, a_skill

ROUNDS = 20
NEW_FILES = 20
TURNS = 3  # at least
AS_LONG_AS_A_LARGE_ARCHIVE = 0.1  # seconds


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    """Processes that are at work at the same time; an error of any of them is the test's."""
    crowd = Crowd()
    yield crowd
    crowd.close()


async def test_versions_made_by_all_are_numbered_without_hole_or_double(
    crowd: Crowd, store: SkillStore, store_url: str
) -> None:
    skill = await store.create(a_skill("shared-work"))
    made = dict(chain(*crowd.run(make_versions, store_url, skill.id)))
    last = 1 + MANY * ROUNDS
    assert sorted(map(int, made)) == list(range(2, last + 1))
    now = await store.get(skill.id)
    assert (now.latest_version, now.default_version) == (str(last), str(last))
    listed = (await store.versions(skill.id, limit=1000)).items
    assert [version.version for version in listed] == [str(number) for number in range(last, 0, -1)]
    assert made == {version.version: version.digest for version in listed[:-1]}
    assert (await store.skill(skill.id)).digest == made[str(last)]


async def make_versions(number: int, url: str, skill_id: str) -> list[tuple[str, str]]:
    async with SkillStore(url, user="ann") as store:
        made = []
        for turn in range(ROUNDS):
            skill = a_skill("shared-work", f"From process {number} in turn {turn}.")
            made.append(((await store.create_version(skill_id, skill)).version, skill.digest))
        return made


async def test_one_of_all_creates_of_a_name_wins_and_the_others_are_told_which(
    crowd: Crowd, store: SkillStore, store_url: str
) -> None:
    outcomes = crowd.run(create_the_same, store_url)
    for turn in range(ROUNDS):
        ids = [outcome[turn] for outcome in outcomes]
        (won,) = [found for found in ids if found.startswith("skill_")]
        assert [won in found for found in ids] == [True] * MANY, "the conflict names the skill that is there"
        assert (await store.find(f"only-{turn}")).id == won
        assert [version.version for version in (await store.versions(won)).items] == ["1"]
    assert len((await store.list(limit=1000)).items) == ROUNDS


async def create_the_same(number: int, url: str) -> list[str]:
    async with SkillStore(url, user="ann") as store:
        outcomes = []
        for turn in range(ROUNDS):
            try:
                outcomes.append((await store.create(a_skill(f"only-{turn}", f"By {number}."))).id)
            except StoreConflict as conflict:
                outcomes.append(f"conflict: {conflict}")
        return outcomes


def test_a_database_that_is_not_there_yet_is_made_once_by_all_that_open_it(crowd: Crowd, store_url: str) -> None:
    new_files = [f"{store_url}-{number}" for number in range(NEW_FILES)] if "sqlite" in store_url else []
    for url in (store_url, *new_files):
        ids = crowd.run(open_and_create, url)
        assert len(set(ids)) == MANY
        assert all(seen == sorted(ids) for seen in crowd.run(ids_of_all, url))


async def open_and_create(number: int, url: str) -> str:
    async with SkillStore(url, user="ann") as store:
        return (await store.create(a_skill(f"first-of-{number}"))).id


async def ids_of_all(_: int, url: str) -> list[str]:
    async with SkillStore(url, user="ann") as store:
        return sorted(skill.id for skill in (await store.list(limit=1000)).items)


async def test_changes_of_different_fields_are_all_kept(crowd: Crowd, store: SkillStore, store_url: str) -> None:
    skill = await store.create(a_skill("many-fields"))
    for number in range(ROUNDS):
        await store.create_version(skill.id, a_skill("many-fields", f"Version {number}."), default=False)
    overwritten = list(chain(*crowd.run(change_one_field, store_url, skill.id)))
    assert overwritten == []
    now = await store.get(skill.id)
    assert [getattr(now, field) for field in _FIELDS] == [value(ROUNDS - 1) for value in _FIELDS.values()]


_FIELDS: dict[str, Any] = {
    "title": lambda turn: f"Title {turn}",
    "metadata": lambda turn: {"turn": turn},
    "visibility": lambda turn: ("private", "shared", "public")[turn % 3],
    "default_version": lambda turn: str(turn + 1),
}


async def change_one_field(number: int, url: str, skill_id: str) -> list[str]:
    """Changes a field that no other process touches; returns what others overwrote all the same."""
    overwritten = []
    async with SkillStore(url, user="ann") as store:
        if number >= len(_FIELDS):
            for turn in range(ROUNDS):
                body = f"Beside the changes, by {number} in turn {turn}."
                await store.create_version(skill_id, a_skill("many-fields", body), default=False)
            return []
        field, value = list(_FIELDS.items())[number]
        for turn in range(ROUNDS):
            changed = await store.update(skill_id, **{field: value(turn)})
            seen = [getattr(skill, field) for skill in (changed, await store.get(skill_id))]
            if seen != [value(turn)] * 2:
                overwritten.append(f"{field} in turn {turn} is {seen}")
    return overwritten


async def test_versions_come_and_go_and_a_default_one_is_there_for_every_reader(
    crowd: Crowd, store: SkillStore, store_url: str
) -> None:
    skill = await store.create(a_skill("in-flux"))
    crowd.run(make_remove_or_read_versions, store_url, skill.id)
    now = await store.get(skill.id)
    left = [version.version for version in (await store.versions(skill.id, limit=1000)).items]
    assert now.latest_version == now.default_version == left[0]
    for version in left:
        assert (await store.skill(skill.id, version)).digest == (await store.version(skill.id, version)).digest


async def make_remove_or_read_versions(number: int, url: str, skill_id: str) -> None:
    """Some make versions and remove them again, and others read; none of them may see an error."""
    async with SkillStore(url, user="ann") as store:
        for turn in range(5 * ROUNDS):
            if number % 3:
                assert await store.content(skill_id)
                assert (await store.version(skill_id, "latest")).name == "in-flux"
                continue
            await store.create_version(skill_id, a_skill("in-flux", f"{number} {turn}"))
            passing = await store.create_version(skill_id, a_skill("in-flux", f"{number} {turn}, not for long"))
            await store.delete_version(skill_id, passing.version)


async def test_readers_beside_writers_see_whole_skills_only(crowd: Crowd, store: SkillStore, store_url: str) -> None:
    halves = list(chain(*crowd.run(read_or_write, store_url)))
    assert halves == []
    made = (await store.list(limit=1000)).items
    assert len(made) == MANY // 2 * ROUNDS


async def read_or_write(number: int, url: str) -> list[str]:
    """Creates skills, or reads whatever is there; returns what did not fit together."""
    halves: list[str] = []
    async with SkillStore(url, user="ann") as store:
        for turn in range(ROUNDS):
            if number % 2:
                await store.create(a_skill(f"made-by-{number}-{turn}", f"Draws a phylogeny, {number} {turn}."))
                continue
            for seen in (await store.list(limit=5)).items:
                version = await store.version(seen.id)
                content = Skill.from_zip(await store.content(seen.id))
                if content.digest != version.digest or content.name != seen.name:
                    halves.append(f"{seen.name}: {content.digest} is not {version.digest}")
            found = [hit.skill for hit in await store.search("phylogeny")]
            halves += [skill.name for skill in found if (await store.skill(skill.id)).name != skill.name]
    return halves


def test_everyone_gets_a_turn_beside_those_that_write_on_and_on(crowd: Crowd, store_url: str) -> None:
    database = Database(store_url)
    database.write(lambda connection: connection.exec_driver_sql("CREATE TABLE turns (number INTEGER)"))
    database.close()
    crowd.run(write_until_all_had_their_turns, store_url)


async def write_until_all_had_their_turns(number: int, url: str) -> None:
    def work(connection: Connection) -> int:
        connection.exec_driver_sql(f"INSERT INTO turns VALUES ({number})")
        time.sleep(AS_LONG_AS_A_LARGE_ARCHIVE)
        satisfied = f"SELECT number FROM turns GROUP BY number HAVING count(*) >= {TURNS}"
        return len(connection.exec_driver_sql(satisfied).all())

    database = Database(url)
    for _ in range(20 * MANY * TURNS):  # so that the others end when one has failed
        if await database.off_loop(database.write, work) == MANY:
            break
    database.close()
