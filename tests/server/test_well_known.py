"""Discovery on a real server: off until it is switched on, and for public skills only."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from jupyter_skills import Skill
from jupyter_skills.store.store import SkillStore
from tests.server.jupyter import USER, archive_of, client, environment_in, form_of, jupyter

BASE = "/some/base"
INDEX = f"{BASE}/jupyter-skills/.well-known/agent-skills/index.json"
SKILLS = f"{BASE}/jupyter-skills/api/skills"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('database') / 'skills.db'}"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, database: str) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("server")
    options = [f"--ServerApp.base_url={BASE}/", "--SkillsExtension.well_known=True"]
    environment = environment_in(home, JUPYTER_SKILLS_DB=database)
    with jupyter("server", home, environment, *options) as url, client(url) as api:
        yield api


@pytest.fixture
def served(running: httpx.Client) -> httpx.Client:
    """A client of a server that has no public skills yet."""
    for skill in running.get(SKILLS, params={"mine": "true", "limit": 1000}).json()["data"]:
        running.delete(f"{SKILLS}/{skill['id']}")
    return running


def put(served: httpx.Client, name: str, visibility: str, body: str = "Do it.") -> str:
    sent = served.post(SKILLS, files=form_of(archive_of(name, body=body)), data={"visibility": visibility})
    skill_id: str = sent.json()["id"]
    return skill_id


def test_it_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    with jupyter("server", tmp_path, environment_in(tmp_path)) as url, client(url) as api:
        sent = api.post("/jupyter-skills/api/skills", files=form_of(archive_of("x")), data={"visibility": "public"})
        folder = "/jupyter-skills/.well-known/agent-skills"
        for path in ("index.json", f"{sent.json()['id']}/1.zip"):
            answer = api.get(f"{folder}/{path}")
            assert answer.status_code == 404
            assert "SkillsExtension.well_known" in answer.json()["message"]


def test_it_asks_for_the_token_like_everything_else(served: httpx.Client) -> None:
    assert httpx.get(served.base_url.join(INDEX)).status_code == 403


def test_only_public_skills_are_listed_with_what_the_format_asks_for(
    served: httpx.Client,
) -> None:
    for visibility in ("private", "shared", "public"):
        put(served, f"is-{visibility}", visibility)
    index = served.get(INDEX).json()
    assert index["$schema"] == "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    (entry,) = index["skills"]
    assert set(entry) == {"name", "type", "description", "url", "digest"}
    assert (entry["name"], entry["type"], entry["description"]) == ("is-public", "archive", "Does something.")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", entry["digest"])


def test_an_archive_has_the_digest_that_the_index_says(served: httpx.Client) -> None:
    skill_id = put(served, "changing", "public")
    seen = []
    for body in ("First.", "Second."):
        archive = archive_of("changing", body=body)
        served.post(f"{SKILLS}/{skill_id}/versions", files=form_of(archive))
        (entry,) = served.get(INDEX).json()["skills"]
        answer = served.get(served.base_url.join(INDEX).join(entry["url"]))
        assert answer.headers["Content-Type"] == "application/zip"
        assert entry["digest"] == f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
        assert Skill.from_zip(answer.content).body == body
        seen.append(entry)
    old = served.get(seen[0]["url"])
    assert f"sha256:{hashlib.sha256(old.content).hexdigest()}" == seen[0]["digest"]
    assert served.get(seen[0]["url"], headers={"If-None-Match": old.headers["ETag"]}).status_code == 304
    assert served.head(seen[0]["url"]).headers["Content-Length"] == str(len(old.content))


@pytest.mark.parametrize("visibility", ["private", "shared"])
def test_what_is_not_public_is_not_to_be_had_here(served: httpx.Client, visibility: str) -> None:
    skill_id = put(served, "not-public", visibility)
    folder = INDEX.removesuffix("/index.json")
    refused, missing = (served.get(f"{folder}/{there}/1.zip") for there in (skill_id, "skill_none"))
    assert refused.status_code == missing.status_code == 404
    assert refused.text.replace(skill_id, "skill_none") == missing.text


def test_a_name_is_listed_once_and_ones_own_comes_first(served: httpx.Client, database: str) -> None:
    theirs = archive_of("wanted", body="Bob's.")
    skill = asyncio.run(SkillStore(database, user="bob").create(theirs, visibility="public"))
    put(served, "wanted", "public", body="Ann's.")
    (entry,) = served.get(INDEX).json()["skills"]
    assert Skill.from_zip(served.get(entry["url"]).content).body == "Ann's."
    asyncio.run(SkillStore(database, user="bob").delete(skill.id))


def test_a_skill_without_versions_is_left_out(served: httpx.Client) -> None:
    skill_id = put(served, "empty", "public")
    assert served.delete(f"{SKILLS}/{skill_id}/versions/1").status_code == 200
    assert served.get(INDEX).json()["skills"] == []


def test_all_are_listed_however_many_there_are(served: httpx.Client, database: str) -> None:
    async def fill() -> None:
        store = SkillStore(database, user=USER)
        for number in range(1005):
            await store.create(archive_of(f"many-{number}"), visibility="public")

    asyncio.run(fill())
    names = {entry["name"] for entry in served.get(INDEX, timeout=60).json()["skills"]}
    assert names == {f"many-{number}" for number in range(1005)}
