"""Addresses that lead nowhere, and servers that come and go: one readable line says so, never with the password."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa

from jupyter_skills.errors import StoreUnreachable
from jupyter_skills.store.store import SkillStore
from tests.postgres import Cluster
from tests.store.processes import a_skill
from tests.store.refusals import SECRET, USES, refusal

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
