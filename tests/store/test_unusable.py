"""Databases that can't be used: one readable line says so and what to do, and what is there stays as it is."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
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
from tests.postgres import Cluster
from tests.store.processes import PROCESSES, STUCK_AFTER, Crowd, a_skill

SECRET = "hunter2"
PAGE = 4096

USES: dict[str, Callable[[SkillStore], Awaitable[object]]] = {
    "read": lambda store: store.list(),
    "write": lambda store: store.create(a_skill("new")),
}


@pytest.fixture(params=USES.values(), ids=USES)
def use(request: pytest.FixtureRequest) -> Callable[[SkillStore], Awaitable[object]]:
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


async def refusal(url: str, use: Callable[[SkillStore], Awaitable[object]] = USES["read"]) -> StoreProblem:
    """What a user is told: one line, with a next step and without the password."""
    with pytest.raises(StoreProblem) as caught:
        async with SkillStore(url, user="ann") as store:
            await use(store)
    error = caught.value
    assert error.next_step
    assert str(error).isprintable(), "it is one line"
    assert len(str(error)) < 500
    above = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert above is None, "a traceback would show the driver's error, and what is in that"
    assert SECRET not in str(error)
    return error


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
    file: Path, damage: Callable[[Path], None], use: Callable[[SkillStore], Awaitable[object]]
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


async def test_a_folder_in_its_place_is_told(tmp_path: Path, use: Callable[[SkillStore], Awaitable[object]]) -> None:
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


# Addresses

WRONG = {
    "no URL": "skills.db",
    "nothing but a scheme": "sqlite",
    "a port that is none": f"postgresql://me:{SECRET}@localhost:many/skills",
    "an unknown database": f"oracle://me:{SECRET}@localhost/skills",
    "another database": f"mysql+pymysql://me:{SECRET}@localhost/skills",
    "an unknown driver": f"postgresql+carrier_pigeon://me:{SECRET}@localhost/skills",
    "nobody there": f"postgresql://me:{SECRET}@127.0.0.1:9/skills",
    "a host that there isn't": f"postgresql://me:{SECRET}@nowhere.invalid/skills",
    "the password among the options": f"postgresql://127.0.0.1:9/skills?user=me&password={SECRET}",
    "an option that there isn't": f"postgresql://me:{SECRET}@127.0.0.1:9/skills?colour=blue",
    "a value that is none": "sqlite:////tmp?timeout=long",
}


@pytest.mark.parametrize("url", WRONG.values(), ids=WRONG)
async def test_a_wrong_address_is_told_without_its_password(url: str) -> None:
    error = await refusal(url)
    assert isinstance(error, StoreUnreachable)
    assert "JUPYTER_SKILLS_DB" in str(error)


def test_the_password_is_not_in_the_address_that_a_store_shows() -> None:
    for query in (f"me:{SECRET}@host/skills", f"host/skills?password={SECRET}&user=me"):
        store = SkillStore(f"postgresql://{query}", user="ann")
        assert SECRET not in store.url
        assert SECRET not in repr(store) + repr(store.database)


def test_a_missing_driver_is_named_with_how_to_get_it() -> None:
    code = """
import asyncio, sys
sys.modules["psycopg"] = None  # as Python itself marks what can't be imported
from jupyter_skills import SkillStore
from jupyter_skills.errors import StoreUnreachable
try:
    asyncio.run(SkillStore("postgresql://me:hunter2@localhost/skills").list())
except StoreUnreachable as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert "jupyter-agent-skills[postgres]" in done.stdout
    assert SECRET not in done.stdout


# Servers


@pytest.mark.database
async def test_a_wrong_password_is_told_without_it(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).set(password=SECRET).render_as_string(hide_password=False)
    assert "password authentication failed" in str(await refusal(url))


@pytest.mark.database
async def test_a_database_that_the_server_does_not_have_is_told(postgres: Cluster) -> None:
    assert "nonesuch" in str(await refusal(postgres.url("nonesuch")))


@pytest.mark.database
async def test_a_user_who_may_make_no_tables_is_told(postgres: Cluster, postgres_url: str) -> None:
    postgres.execute(f"CREATE USER guest PASSWORD '{SECRET}'")
    try:
        guest = sa.make_url(postgres_url).set(username="guest", password=SECRET)
        error = await refusal(guest.render_as_string(hide_password=False))
        assert isinstance(error, StoreUnreachable)
        assert "permission denied" in str(error)
    finally:
        postgres.execute("DROP USER guest")


@pytest.mark.database
async def test_a_server_that_comes_back_is_used_again(postgres: Cluster, postgres_url: str) -> None:
    async with SkillStore(postgres_url, user="ann") as store:
        skill = await store.create(a_skill("before"))
        postgres.stop()
        for use in USES.values():
            with pytest.raises(StoreUnreachable) as caught:
                await use(store)
            assert caught.value.next_step
        postgres.start()
        assert await store.get(skill.id) == skill
        postgres.stop()
        postgres.start()
        assert (await store.create(a_skill("after"))).name == "after", "though nobody noticed that it was gone"


# Releases


async def test_a_store_of_a_newer_release_is_refused_and_left_as_it_is(
    store_url: str, use: Callable[[SkillStore], Awaitable[object]]
) -> None:
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
