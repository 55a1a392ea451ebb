"""Skills sent to, and taken from, other skills endpoints."""

from __future__ import annotations

import json

import pytest

from jupyter_skills.errors import RemoteDamaged, RemoteRefused, RemoteUnreachable, SkillNotFound, UsageProblem
from jupyter_skills.sharing import endpoint_at, pull, push
from jupyter_skills.sharing.endpoints import Shape
from jupyter_skills.sharing.endpoints.keys import credentials, login
from jupyter_skills.sharing.endpoints.requests import base_of
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source
from tests.conftest import NO_HANG
from tests.sharing.repository import manifest, skill, zipped
from tests.sharing.site import Answer, Site
from tests.sharing.stores import KEY, Anthropic, LiteLLM, OpenAI, Shelf

pytestmark = NO_HANG

KINDS: dict[Shape, type[Shelf]] = {"anthropic": Anthropic, "openai": OpenAI, "litellm": LiteLLM}
VERSIONED: list[Shape] = ["anthropic", "openai"]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "LITELLM_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.mark.parametrize("shape", KINDS)
async def test_a_new_skill_is_created(web: Site, shape: Shape) -> None:
    there = KINDS[shape](web)
    async with endpoint_at(web.url, shape) as endpoint:
        pushed = await push(endpoint, skill("mine", **{"é/a b.txt": "a"}), "My thing")
    assert (pushed.outcome, pushed.skill_id, pushed.place) == ("created", "skill_01", web.url)
    assert Skill.from_zip(there.skills["skill_01"]["archives"][0]).digest == skill("mine", **{"é/a b.txt": "a"}).digest
    assert there.skills["skill_01"]["title"] == ("mine" if shape == "openai" else "My thing")


@pytest.mark.parametrize("shape", VERSIONED)
async def test_one_of_a_name_that_is_there_gets_a_new_version_and_the_same_files_none(web: Site, shape: Shape) -> None:
    there = KINDS[shape](web)
    for number in range(5):
        there.added(f"other-{number}", zipped(f"other-{number}"), "mine")
    there.added("mine", zipped("mine"), "A title of its own")
    async with endpoint_at(f"{web.url}/v1/", shape) as endpoint:
        assert (await push(endpoint, skill("mine"))).outcome == "unchanged"
        pushed = await push(endpoint, skill("mine", **{"a.txt": "a"}))
        assert (pushed.outcome, pushed.skill_id) == ("new version", "skill_06")
        assert pushed.version in ("2", "skillver_2")
        assert (await push(endpoint, skill("mine", **{"a.txt": "a"}))).outcome == "unchanged"
    assert len(there.skills["skill_06"]["archives"]) == 2
    assert len(there.uploads) == 1


async def test_the_skill_there_may_be_named_by_its_id(web: Site) -> None:
    there = Anthropic(web)
    there.added("mine", zipped("mine"))
    there.added("mine", zipped("mine"))
    async with endpoint_at(web.url, "anthropic") as endpoint:
        pushed = await push(endpoint, skill("mine", a="a"), skill_id="skill_02")
        assert pushed.skill_id == "skill_02"
        with pytest.raises(RemoteRefused, match="No skill skill_09"):
            await push(endpoint, skill("mine", a="b"), skill_id="skill_09")


async def test_where_nothing_can_be_compared_there_is_a_new_version(web: Site) -> None:
    there = Anthropic(web)
    there.downloads = False
    there.added("mine", zipped("mine"))
    async with endpoint_at(web.url, "anthropic") as endpoint:
        assert (await push(endpoint, skill("mine"))).outcome == "new version"


async def test_one_that_forgets_permissions_has_the_same_files_nevertheless(web: Site) -> None:
    there = OpenAI(web)
    there.added("mine", zipped("mine", **{"run.sh": "echo"}))
    files = {"SKILL.md": FileEntry(manifest("mine").encode()), "run.sh": FileEntry(b"echo", 0o755)}
    mine = Skill.from_files(MemoryFiles(files), None, Source("archive"))
    async with endpoint_at(web.url, "openai") as endpoint:
        assert (await push(endpoint, mine)).outcome == "unchanged"


async def test_litellm_keeps_one_version_and_says_so(web: Site) -> None:
    there = LiteLLM(web)
    there.added("mine", zipped("mine"))
    async with endpoint_at(web.url, "litellm") as endpoint:
        with pytest.raises(RemoteRefused, match=r"one version.*skill_01.*Delete it there"):
            await push(endpoint, skill("mine"))
        with pytest.raises(RemoteRefused, match="without naming a version"):
            await pull(endpoint, "mine", "2")
        with pytest.raises(RemoteRefused, match=r"hands out no archive.*public_skills_index"):
            await pull(endpoint, "skill_01")
        there.published = True
        assert (await pull(endpoint, "skill_01")).skill.name == "mine"


@pytest.mark.parametrize("shape", VERSIONED)
async def test_a_skill_is_pulled_by_id_or_name_and_version(web: Site, shape: Shape) -> None:
    there = KINDS[shape](web)
    there.added("other", zipped("other"))
    there.added("mine", zipped("mine"))["archives"].append(zipped("mine", a="a"))
    there.skills["skill_02"]["default"] = "2"
    async with endpoint_at(web.url, shape) as endpoint:
        came = await pull(endpoint, "skill_02")
        assert came.skill.digest == skill("mine", a="a").digest
        assert (await pull(endpoint, "mine")) == came
        first = await pull(endpoint, "mine", "skillver_1" if shape == "anthropic" else "1")
        assert first.skill.digest == skill("mine").digest
        assert came.metadata == {"origin": f"{web.url}#skill_02", "revision": came.revision}
        assert came.revision in ("2", "skillver_2")
        with pytest.raises(SkillNotFound):
            await pull(endpoint, "nothing")
        with pytest.raises(RemoteRefused, match="No skill"):
            await pull(endpoint, "skill_99")
        with pytest.raises(RemoteRefused):
            await pull(endpoint, "mine", "../../skill_01")


@pytest.mark.parametrize("shape", KINDS)
async def test_a_wrong_key_is_said_without_showing_it(web: Site, shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    KINDS[shape](web)
    monkeypatch.setenv("OTHER", "sk-secret")
    async with endpoint_at(web.url, shape, key_variable="OTHER") as endpoint:
        with pytest.raises(RemoteRefused, match=r"status 401.*--key-env") as caught:
            await push(endpoint, skill("mine"))
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("shape", KINDS)
@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"data": 3}', b'{"id": 3}', b"[" * 99_999, b"\xff"])
async def test_what_answers_in_another_way_is_no_endpoint(web: Site, shape: Shape, body: bytes) -> None:
    web.routes = {"/v1/skills": body, "/v1/skills/skill_1": body}
    async with endpoint_at(web.url, shape) as endpoint:
        with pytest.raises(RemoteDamaged):
            await push(endpoint, skill("mine"))


@pytest.mark.parametrize("shape", VERSIONED)
async def test_what_is_pulled_and_is_no_skill_is_damaged(web: Site, shape: Shape) -> None:
    there = KINDS[shape](web)
    there.added("mine", b"PK")
    async with endpoint_at(web.url, shape) as endpoint:
        with pytest.raises(RemoteDamaged, match="No usable skill"):
            await pull(endpoint, "skill_01")


async def test_pages_that_lead_back_end(web: Site) -> None:
    page = {"data": [], "has_more": True, "next_page": "again", "last_id": "again"}
    web.routes = {"/v1/skills": json.dumps(page).encode()}
    for shape in VERSIONED:
        async with endpoint_at(web.url, shape) as endpoint:
            assert [one async for one in endpoint.list()] == []
    assert len(web.requests) == 4


async def test_the_key_follows_nobody_elsewhere(web: Site) -> None:
    web.routes = {"/v1/skills": Answer(status=302, headers={"Location": "/login"}), "/login": b"{}"}
    async with endpoint_at(web.url, "openai") as endpoint:
        with pytest.raises(RemoteRefused, match="elsewhere"):
            await push(endpoint, skill("mine"))
    assert [request.path for request in web.requests] == ["/v1/skills"]


async def test_nobody_there_is_one_line() -> None:
    async with endpoint_at("http://127.0.0.1:1", "openai") as endpoint:
        with pytest.raises(RemoteUnreachable):
            await push(endpoint, skill("mine"))


def test_each_place_gets_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "token")
    ours = "http://127.0.0.1:8888/user/x/jupyter-skills/anthropic"
    assert credentials("anthropic", ours)[1]["Authorization"] == "token token"
    assert KEY not in str(credentials("anthropic", ours))
    assert credentials("anthropic", "https://api.anthropic.com")[1]["X-Api-Key"] == KEY
    assert credentials("openai", "https://api.openai.com")[1] == {"Authorization": f"Bearer {KEY}"}
    assert credentials("litellm", "https://proxy.example")[1] == {"Authorization": f"Bearer {KEY}"}
    monkeypatch.delenv("JUPYTER_TOKEN")
    assert credentials("openai", ours) == ("", {})


def test_a_key_goes_to_no_stranger_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "token")
    hub = "https://hub.example/jupyter-skills/openai"
    assert credentials("openai", hub) == ("", {})
    assert credentials("openai", hub, "JUPYTER_TOKEN")[1] == {"Authorization": "token token"}
    with pytest.raises(UsageProblem, match="--key-env OPENAI_API_KEY"):
        credentials("openai", "https://gateway.example")
    assert credentials("openai", "https://gateway.example", "OPENAI_API_KEY")[0] == KEY
    assert login("https://hub.example/jupyter-skills") == {}
    assert login("https://hub.example/jupyter-skills", "JUPYTER_TOKEN") == {"Authorization": "token token"}
    assert login("https://a.example/x.zip") == {}
    assert login("https://a.example/x.zip", "OPENAI_API_KEY") == {"Authorization": f"Bearer {KEY}"}


def test_a_key_that_is_missing_or_none_is_said_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageProblem, match="OPENAI_API_KEY"):
        credentials("openai", "https://api.openai.com")
    with pytest.raises(UsageProblem, match="MINE"):
        credentials("openai", "https://a.example/jupyter-skills/openai", "MINE")
    monkeypatch.setenv("MINE", "a\nb: c")
    with pytest.raises(UsageProblem, match="no key"):
        credentials("openai", "https://a.example", "MINE")


@pytest.mark.parametrize(
    "address", ["", "a.example", "file:///x", "https://u:p@a.example", "https://a.example?x=1", "https://[a"]
)
def test_what_is_no_address_of_an_endpoint_is_refused(address: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        base_of(address, "openai")
    assert "u:p" not in str(caught.value)


def test_the_providers_have_addresses_of_their_own_and_a_proxy_has_none() -> None:
    assert base_of(None, "anthropic") == "https://api.anthropic.com"
    assert base_of(None, "openai") == "https://api.openai.com"
    with pytest.raises(UsageProblem, match="missing"):
        base_of(None, "litellm")
    assert base_of("https://a.example/x/v1/", "openai") == "https://a.example/x"


@pytest.mark.parametrize("shape", KINDS)
async def test_nor_is_a_part_of_a_key_that_the_other_side_says_again(web: Site, shape: Shape) -> None:
    words = "p" * (300 - len(KEY) // 2) + KEY
    web.routes["/v1/skills"] = Answer(json.dumps({"error": {"message": words}}).encode(), 401)
    async with endpoint_at(web.url, shape) as endpoint:
        with pytest.raises(RemoteRefused, match="ppp…") as caught:
            await push(endpoint, skill("mine"))
    assert f"p{KEY[0]}" not in str(caught.value)


@pytest.mark.parametrize("shape", KINDS)
async def test_an_id_of_half_a_character_is_refused(web: Site, shape: Shape) -> None:
    there = {"id": "skill_\ud800", "display_title": "mine", "name": "mine", "latest_version": "1"}
    web.routes["/v1/skills"] = json.dumps({"data": [there]}).encode()
    async with endpoint_at(web.url, shape) as endpoint:
        for what in ("mine", "skill_\ud800"):
            with pytest.raises(UsageProblem, match="half a character"):
                await pull(endpoint, what)
