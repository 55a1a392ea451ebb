"""Databases that can't be used: one readable line says so and what to do, and what is there stays as it is."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import pytest
import sqlalchemy as sa

from jupyter_skills.errors import SkillsError, StoreBroken, StoreProblem, StoreTooNew, StoreUnreachable
from jupyter_skills.store.database import Database
from jupyter_skills.store.location import default_file
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import REVISION_TABLE
from tests.store.processes import PROCESSES, STUCK_AFTER, Crowd, a_skill
from tests.store.refusals import USES, Use, refusal

PAGE = 4096


@pytest.fixture(params=USES.values(), ids=USES)
def use(request: pytest.FixtureRequest) -> Use:
    """Something that a user does with a store."""
    return request.param


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A store in a file, with some skills, that nobody has open."""
    file = tmp_path / "skills.db"
    await fill(f"sqlite:///{file}")
    return file


async def fill(url: str) -> None:
    async with SkillStore(url, user="ann") as store:
        for number in range(20):
            await store.create(a_skill(f"number-{number}", "Some words. " * 400))


def digests(folder: Path) -> dict[str, str]:
    """What is in a folder, but for what is kept beside a file while it is open."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file() and not path.name.endswith(("-wal", "-shm", "-lock"))
    }


# Files


def no_database(file: Path) -> None:
    file.write_text("Minutes of the meeting, which nobody has a copy of.\n" * 200)


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2 // PAGE * PAGE)


def cut_within_a_page(file: Path) -> None:
    os.truncate(file, 3 * PAGE + 1000)


def damaged_page(file: Path) -> None:
    connection = sqlite3.connect(file)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'jupyter_skills_skills'").fetchone()
    connection.close()
    overwrite(file, page)


def damaged_schema(file: Path) -> None:
    with file.open("r+b") as content:
        content.seek(100)
        content.write(b"\xff" * (PAGE - 100))


def overwrite(file: Path, page: int) -> None:
    with file.open("r+b") as content:
        content.seek((page - 1) * PAGE)
        content.write(b"\xff" * PAGE)


@pytest.mark.parametrize("damage", [no_database, truncated, cut_within_a_page, damaged_page, damaged_schema])
async def test_a_file_that_is_no_store_or_a_damaged_one_is_left_as_it_is(
    file: Path, damage: Callable[[Path], None], use: Use
) -> None:
    damage(file)
    before = digests(file.parent)
    error = await refusal(f"sqlite:///{file}", use)
    assert isinstance(error, StoreBroken)
    assert str(file) in str(error)
    assert digests(file.parent) == before


@pytest.mark.parametrize("damage", [no_database, truncated, damaged_page])
async def test_the_users_own_store_is_kept_aside_when_it_is_damaged_and_a_new_one_begun(
    damage: Callable[[Path], None],
) -> None:
    file = default_file()
    url = f"sqlite:///{file}"
    await fill(url)
    damage(file)
    (before,) = digests(file.parent).values()
    error = await refusal(url)
    (kept,) = file.parent.glob("*damaged*.sqlite3")
    assert isinstance(error, StoreBroken)
    assert str(kept) in str(error)
    assert digests(file.parent) == {kept.name: before}
    async with SkillStore(url, user="ann") as store:
        await store.create(a_skill("new"))
    async with SkillStore(url, user="ann") as store:
        assert [skill.name for skill in (await store.list()).items] == ["new"]
    assert digests(file.parent)[kept.name] == before


async def test_damage_that_shows_after_opening_is_no_different() -> None:
    file = default_file()
    url = f"sqlite:///{file}"
    await fill(url)
    async with SkillStore(url, user="ann") as store:
        (some, *_) = (await store.list(limit=1)).items
        damaged_page(file)
        await until_broken(store, some.id)
        await store.create(a_skill("new"))
        assert [skill.name for skill in (await store.list()).items] == ["new"]
    (kept,) = file.parent.glob("*damaged*.sqlite3")
    assert kept.stat().st_size > file.stat().st_size


async def until_broken(store: SkillStore, skill_id: str) -> None:
    """Reads anew, on connections that remember no pages, until the damage is met."""
    store.database.close()
    with pytest.raises(StoreBroken):
        await store.get(skill_id)


async def test_many_that_find_the_damage_at_once_keep_it_aside_once_and_lose_nothing() -> None:
    file = default_file()
    url = f"sqlite:///{file}"
    await fill(url)
    damaged_page(file)
    (before,) = digests(file.parent).values()
    crowd = Crowd()
    created = list(chain(*crowd.run(create_on_damaged_ground, url, str(file))))
    crowd.close()
    async with SkillStore(url, user="ann") as store:
        assert sorted(skill.name for skill in (await store.list(limit=1000)).items) == sorted(created)
    assert [digests(file.parent)[kept.name] for kept in file.parent.glob("*damaged*.sqlite3")] == [before]


async def create_on_damaged_ground(number: int, url: str, file: str) -> list[str]:
    os.environ["JUPYTER_DATA_DIR"] = str(Path(file).parent)
    assert default_file() == Path(file)
    async with SkillStore(url, user="ann") as store:
        for attempt in range(20):
            try:
                return [(await store.create(a_skill(f"of-{number}-{attempt}"))).name]
            except StoreBroken:
                continue
    return []


async def test_an_archive_that_lost_a_byte_is_not_given_out(file: Path) -> None:
    flip_a_bit_of_an_archive(file)
    seen = []
    async with SkillStore(f"sqlite:///{file}", user="ann") as store:
        for skill in (await store.list(limit=100)).items:
            for read in (store.content, store.skill):
                try:
                    await read(skill.id)
                except SkillsError as error:
                    seen.append((type(error), error.next_step != ""))
    assert seen == [(StoreBroken, True)] * 2


def flip_a_bit_of_an_archive(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[content.index(b"data/0.txt") + 30] ^= 1
    file.write_bytes(content)


# Places


async def test_a_folder_in_its_place_is_told(tmp_path: Path, use: Use) -> None:
    error = await refusal(f"sqlite:///{tmp_path}", use)
    assert isinstance(error, StoreUnreachable)
    assert str(tmp_path) in str(error)
    assert digests(tmp_path) == {}


async def test_a_place_where_no_folder_can_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(await refusal(f"sqlite:///{tmp_path}/file/skills.db"), StoreUnreachable)


async def test_a_folder_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    await fill(f"sqlite:///{tmp_path}/new/folder/skills.db")
    assert (tmp_path / "new/folder/skills.db").stat().st_mode & 0o077 == 0, "nobody else reads it"


@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_file_without_permission_is_told(file: Path, mode: int) -> None:
    before = digests(file.parent)
    file.chmod(mode)
    told = confined(f"sqlite:///{file}", "write")
    assert told.startswith("StoreUnreachable: ")
    assert str(file) in told
    assert digests(file.parent) == before


def test_a_new_store_in_a_read_only_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    for name in USES:
        told = confined(f"sqlite:///{folder}/skills.db", name)
        assert told.startswith("StoreUnreachable: ")
        assert str(folder) in told
    assert digests(folder) == {}


def test_a_store_in_a_read_only_folder_is_told_and_stays_as_it_is(file: Path) -> None:
    before = digests(file.parent)
    file.chmod(0o400)
    file.parent.chmod(0o500)
    try:
        told = [confined(f"sqlite:///{file}", name) for name in USES]
    finally:
        file.parent.chmod(0o700)
    assert told[0] == "done" or told[0].startswith("StoreUnreachable: ")
    assert told[1].startswith("StoreUnreachable: ")
    assert digests(file.parent) == before


def confined(url: str, name: str) -> str:
    """What comes of using a store without root's right to pass over permissions."""
    with ProcessPoolExecutor(1, PROCESSES, _give_up_privileges) as alone:
        return alone.submit(_outcome, url, name).result(STUCK_AFTER)


def _give_up_privileges() -> None:
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0


def _outcome(url: str, name: str) -> str:
    try:
        asyncio.run(_used(url, name))
    except StoreProblem as error:
        return f"{type(error).__name__}: {error}" if error.next_step else "without a next step"
    return "done"


async def _used(url: str, name: str) -> None:
    async with SkillStore(url, user="ann") as store:
        await USES[name](store)


# Releases


async def test_a_store_of_a_newer_release_is_refused_and_left_as_it_is(store_url: str, use: Use) -> None:
    await fill(store_url)
    from_the_future(store_url)
    before = content_of(store_url)
    error = await refusal(store_url, use)
    assert isinstance(error, StoreTooNew)
    assert "pip install --upgrade jupyter-agent-skills" in str(error)
    assert content_of(store_url) == before


def from_the_future(url: str) -> None:
    """Makes a store look like one that the next release has brought up to date."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {REVISION_TABLE} SET version_num = '9999'")
        connection.exec_driver_sql("ALTER TABLE jupyter_skills_skills ADD COLUMN stars INTEGER")
    engine.dispose()
    file = Path(url.removeprefix("sqlite:///"))
    if file.exists():
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()


def content_of(url: str) -> object:
    """A file's bytes, or all rows of all of our tables in a server's database."""
    file = Path(url.removeprefix("sqlite:///"))
    if file.exists():
        return digests(file.parent)
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        tables = sorted(sa.inspect(connection).get_table_names())
        rows = {table: sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {table}"))) for table in tables}
    engine.dispose()
    return rows


def test_an_address_is_opened_only_when_it_is_used(tmp_path: Path) -> None:
    SkillStore(f"sqlite:///{tmp_path}/skills.db", user="ann")
    Database(f"sqlite:///{tmp_path}/skills.db")
    assert digests(tmp_path) == {}
