"""The skills client of the ``anthropic`` package, as it is, against a real server."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest
from anthropic.lib import files_from_dir
from anthropic.lib.environments import download_session_skills
from anthropic.types.beta import BetaManagedAgentsSession

from tests.server.jupyter import TOKEN, jupyter
from tests.server.sdk import (
    FILES,
    UPLOAD_LIMIT,
    Served,
    everything,
    folder,
    minimal,
    outcome,
    parts,
    running,
    served,
    unzipped,
    zipped,
)

__all__ = ["folder", "running", "served"]  # fixtures, found by their names in this module


@pytest.fixture(params=["skills", "beta.skills", "async skills", "async beta.skills"])
def skills(served: Served, request: pytest.FixtureRequest) -> Any:
    """The skills client in each of its forms; it refuses any answer that does not fit its types."""
    *kind, place = request.param.split()
    maker = anthropic.AsyncAnthropic if kind else anthropic.Anthropic
    client = maker(api_key=TOKEN, base_url=address(served), _strict_response_validation=True)
    return client.beta.skills if place == "beta.skills" else client.skills


@pytest.fixture
def client(served: Served) -> anthropic.Anthropic:
    """A client that is not told to be strict, and asks again as it does by default."""
    return anthropic.Anthropic(api_key=TOKEN, base_url=address(served))


def address(served: Served) -> str:
    return f"{served.url}/jupyter-skills/anthropic"


async def test_a_skill_comes_from_the_files_of_a_folder(skills: Any, served: Served, folder: Path) -> None:
    skill = await outcome(skills.create(files=files_from_dir(folder), display_name="Pies, sliced"))
    assert (skill.type, skill.display_name, skill.source.type) == ("skill", "Pies, sliced", "custom")
    assert skill.id.startswith("skill_")
    assert skill.created_at.tzinfo is not None
    assert (await served.store.get(skill.id)).description == "Draws pies."


async def test_without_a_display_name_it_is_the_name_in_its_manifest(skills: Any) -> None:
    assert (await outcome(skills.create(files=parts()))).display_name == "pie-charts"


async def test_folder_and_zip_are_the_same_skill(skills: Any, served: Served, tmp_path: Path) -> None:
    (tmp_path / "upload.zip").write_bytes(zipped())
    forms: list[Any] = [
        parts(),
        [(name.removeprefix("pie-charts/"), content) for name, content in parts()],
        [("pies.zip", zipped(), "application/zip")],
        [tmp_path / "upload.zip"],
        [(tmp_path / "upload.zip").open("rb")],
        [("pies.skill", zipped(folder=""))],
    ]
    digests = set()
    for files in forms:
        skill = await outcome(skills.create(files=files))
        digests.add((await served.store.version(skill.id)).digest)
        await outcome(skills.delete(skill.id))
    assert len(digests) == 1


async def test_bytes_without_a_name_are_a_file_as_well(skills: Any) -> None:
    skill = await outcome(skills.create(files=[zipped()]))
    assert skill.display_name == "pie-charts"


async def test_it_is_found_by_its_id(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    assert await outcome(skills.retrieve(skill.id)) == skill


async def test_lists_go_on_to_the_end_and_hold_nothing_twice(skills: Any) -> None:
    made = [(await outcome(skills.create(files=minimal(f"skill-{number}")))).id for number in range(7)]
    assert [skill.id for skill in await everything(skills.list(limit=2))] == made[::-1]
    page = await outcome(skills.list(limit=3))
    assert (len(page.data), page.has_next_page()) == (3, True)
    assert [skill.id for skill in (await outcome(skills.list(limit=3, page=page.next_page))).data] == made[3:0:-1]


async def test_a_list_can_be_emptied_while_it_is_read(skills: Any) -> None:
    for number in range(5):
        await outcome(skills.create(files=minimal(f"skill-{number}")))
    gone = 0
    if hasattr(pages := skills.list(limit=2), "__aiter__"):
        async for skill in pages:
            gone += (await skills.delete(skill.id)).type == "skill_deleted"
    else:
        for skill in pages:
            gone += skills.delete(skill.id).type == "skill_deleted"
    assert gone == 5
    assert await everything(skills.list()) == []


async def test_lists_can_be_of_one_source(skills: Any, served: Served) -> None:
    mine = await outcome(skills.create(files=minimal("mine")))
    await served.store.create(zipped(), source="anthropic")
    await served.store.create(zipped({"SKILL.md": b"---\nname: far\ndescription: From afar.\n---\n"}, ""), source="git")
    by_source = {
        source: {skill.display_name for skill in await everything(skills.list(source=source, limit=1))}
        for source in ("custom", "anthropic", "plugin")
    }
    assert by_source == {"custom": {"mine", "far"}, "anthropic": {"pie-charts"}, "plugin": set()}
    assert mine.source.type == "custom"


async def test_a_deleted_skill_is_gone_and_can_be_brought_back(skills: Any, served: Served) -> None:
    skill = await outcome(skills.create(files=parts()))
    deleted = await outcome(skills.delete(skill.id))
    assert (deleted.id, deleted.type) == (skill.id, "skill_deleted")
    with pytest.raises(anthropic.NotFoundError):
        await outcome(skills.retrieve(skill.id))
    await served.store.restore(skill.id)
    assert (await outcome(skills.retrieve(skill.id))).latest_version_id == skill.latest_version_id


async def test_versions_are_known_by_ids_and_the_newest_by_a_word(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    first = await outcome(skills.versions.retrieve(skill.latest_version_id, skill_id=skill.id))
    assert (first.id, first.skill_id, first.name) == (skill.latest_version_id, skill.id, "pie-charts")
    changed = {**FILES, "SKILL.md": FILES["SKILL.md"].replace(b"pies", b"cakes")}
    second = await outcome(skills.versions.create(skill.id, files=parts(changed)))
    assert (second.type, second.description) == ("skill_version", "Draws cakes.")
    assert await outcome(skills.versions.retrieve("latest", skill_id=skill.id)) == second
    assert (await outcome(skills.retrieve(skill.id))).latest_version_id == second.id
    assert await outcome(skills.versions.retrieve(first.id, skill_id=skill.id)) == first


async def test_versions_are_listed_page_by_page(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    made = [skill.latest_version_id]
    made += [(await outcome(skills.versions.create(skill.id, files=parts()))).id for _ in range(4)]
    assert [version.id for version in await everything(skills.versions.list(skill.id, limit=2))] == made[::-1]


async def test_a_version_can_be_deleted_but_not_the_only_one(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    second = await outcome(skills.versions.create(skill.id, files=parts()))
    deleted = await outcome(skills.versions.delete(second.id, skill_id=skill.id))
    assert (deleted.id, deleted.type) == (second.id, "skill_version_deleted")
    assert (await outcome(skills.retrieve(skill.id))).latest_version_id == skill.latest_version_id
    with pytest.raises(anthropic.ConflictError, match="Delete the skill instead"):
        await outcome(skills.versions.delete(skill.latest_version_id, skill_id=skill.id))
    with pytest.raises(anthropic.BadRequestError, match="Name one"):
        await outcome(skills.versions.delete("latest", skill_id=skill.id))


@pytest.mark.parametrize("maker", [anthropic.Anthropic, anthropic.AsyncAnthropic])
async def test_a_download_holds_the_very_files(served: Served, maker: Any) -> None:
    skills = maker(api_key=TOKEN, base_url=address(served)).beta.skills
    skill = await outcome(skills.create(files=parts()))
    answer = await outcome(skills.versions.download(skill.latest_version_id, skill_id=skill.id))
    assert unzipped(await outcome(answer.read())) == FILES
    assert answer.headers["Content-Type"] == "application/zip"
    assert "pie-charts" in answer.headers["Content-Disposition"]
    with pytest.raises(anthropic.NotFoundError, match="skillver_none_1"):
        await outcome(skills.versions.download("skillver_none_1", skill_id=skill.id))


async def test_the_clients_own_extractor_takes_the_download(served: Served, tmp_path: Path) -> None:
    client = anthropic.AsyncAnthropic(api_key=TOKEN, base_url=address(served))
    skill = await client.skills.create(files=parts())
    wanted = {"type": "custom", "skill_id": skill.id, "version": "latest"}
    session = BetaManagedAgentsSession.construct(agent={"skills": [wanted]})
    (place,) = await download_session_skills(client, workdir=tmp_path, session=session)
    assert {
        path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()
    } == FILES


def test_a_download_is_not_sent_twice_to_whoever_has_it(client: anthropic.Anthropic) -> None:
    skill = client.skills.create(files=parts())
    first = client.beta.skills.versions.download(skill.latest_version_id, skill_id=skill.id)
    headers = {"Authorization": f"Bearer {TOKEN}", "If-None-Match": first.headers["ETag"]}
    again = httpx.get(str(first.url), headers=headers)
    assert (again.status_code, again.content) == (304, b"")


# Errors


async def test_a_limit_or_page_that_makes_no_sense_is_a_bad_request(skills: Any) -> None:
    for wrong in ({"limit": 0}, {"limit": 1001}, {"page": "nowhere"}, {"source": "elsewhere"}):
        with pytest.raises(anthropic.BadRequestError) as caught:
            await outcome(skills.list(**wrong))
        assert caught.value.type == "invalid_request_error"


def test_a_wrong_token_is_an_authentication_error(served: Served) -> None:
    for wrong in ({"api_key": "wrong"}, {"auth_token": "wrong"}):
        client = anthropic.Anthropic(**wrong, base_url=address(served))
        for call in (client.skills.list, lambda client=client: client.skills.create(files=parts())):
            with pytest.raises(anthropic.AuthenticationError, match="server's token") as caught:
                call()
            assert caught.value.type == "authentication_error"


async def test_a_skill_of_somebody_else_can_be_read_and_not_changed(skills: Any, served: Served) -> None:
    theirs = await served.skill_of("grace")
    assert (await outcome(skills.retrieve(theirs))).id == theirs
    for change in (skills.delete, lambda one: skills.versions.create(one, files=minimal("theirs"))):
        with pytest.raises(anthropic.PermissionDeniedError, match="grace's") as caught:
            await outcome(change(theirs))
        assert caught.value.type == "permission_error"


async def test_what_is_missing_is_not_found(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    for method, words in (
        (lambda: skills.retrieve("skill_none"), "skill_none"),
        (lambda: skills.delete("skill_none"), "skill_none"),
        (lambda: skills.versions.list("skill_none"), "skill_none"),
        (lambda: skills.versions.retrieve("7", skill_id=skill.id), "no version '7'"),
        (lambda: skills.versions.retrieve("skillver_none_1", skill_id=skill.id), "skillver_none_1"),
    ):
        with pytest.raises(anthropic.NotFoundError, match=words) as caught:
            await outcome(method())
        assert caught.value.type == "not_found_error"


async def test_a_name_that_is_taken_is_a_conflict(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    with pytest.raises(anthropic.ConflictError, match=skill.id) as caught:
        await outcome(skills.create(files=parts()))
    assert caught.value.type == "conflict_error"
    with pytest.raises(anthropic.ConflictError, match="one name in all versions"):
        await outcome(skills.versions.create(skill.id, files=minimal("other")))


async def test_an_upload_that_is_too_large_is_refused_before_it_has_come(skills: Any) -> None:
    files = [*parts(), ("pie-charts/assets/large.bin", bytes(4 * UPLOAD_LIMIT))]
    with pytest.raises(anthropic.ContentTooLargeError, match=r"More than [\d,]+ bytes") as caught:
        await outcome(skills.create(files=files))
    assert caught.value.type == "request_too_large"


async def test_what_is_no_skill_can_not_be_processed(skills: Any) -> None:
    hostile = io.BytesIO()
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("../SKILL.md", FILES["SKILL.md"])
    for files, words in (
        ([("pies/notes.md", b"no manifest")], "SKILL.md"),
        (minimal("UPPER CASE"), "name"),
        ([("evil.zip", hostile.getvalue())], r"\.\."),
        ([("../SKILL.md", FILES["SKILL.md"])], r"\.\."),
        ([("broken.zip", b"PK\3\4 is all there is")], "zip"),
    ):
        with pytest.raises(anthropic.UnprocessableEntityError, match=words) as caught:
            await outcome(skills.create(files=files))
        assert caught.value.type == "invalid_request_error"


def test_an_error_has_an_id_and_a_next_step(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.skills.retrieve("skill_none")
    error = caught.value
    assert error.request_id
    assert error.request_id.startswith("req_")
    assert error.body == {
        "type": "error",
        "error": {"type": "not_found_error", "message": error.api_message},
        "request_id": error.request_id,
    }
    assert "list of skills" in str(error.api_message)


def test_nothing_is_asked_for_again_in_vain(served: Served) -> None:
    asked: list[Any] = []
    http = anthropic.DefaultHttpxClient(event_hooks={"request": [asked.append]})
    client = anthropic.Anthropic(api_key=TOKEN, base_url=address(served), http_client=http)
    client.skills.create(files=parts())
    with pytest.raises(anthropic.ConflictError):
        client.skills.create(files=parts())
    assert len(asked) == 2


def test_a_store_that_is_broken_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "skills.sqlite").write_bytes(b"This is no database." * 1000)
    asked: list[Any] = []
    http = anthropic.DefaultHttpxClient(event_hooks={"request": [asked.append]})
    environment = {**os.environ, "JUPYTER_SKILLS_DB": f"sqlite:///{tmp_path / 'skills.sqlite'}"}
    with jupyter("server", tmp_path, environment) as url:
        base = f"{url}/jupyter-skills/anthropic"
        client = anthropic.Anthropic(api_key=TOKEN, base_url=base, http_client=http)
        with pytest.raises(anthropic.ServiceUnavailableError) as caught:
            client.skills.list()
    assert caught.value.type == "api_error"
    assert "log" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert len(asked) == 1


# Who may ask


def test_the_token_is_taken_in_each_way_that_a_client_sends_it(served: Served) -> None:
    for key in ({"api_key": TOKEN}, {"auth_token": TOKEN}):
        assert anthropic.Anthropic(**key, base_url=address(served)).skills.list().data == []
    url = f"{address(served)}/v1/skills"
    assert httpx.get(url, headers={"X-Api-Key": TOKEN}).status_code == 200
    assert (
        httpx.post(url, headers={"X-Api-Key": TOKEN}, files=dict.fromkeys(["files[]"], parts()[0])).status_code == 200
    )


def test_a_key_is_checked_like_any_token(served: Served) -> None:
    url = f"{address(served)}/v1/skills"
    nobody = httpx.get(url)
    assert (nobody.status_code, nobody.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert httpx.get(url, headers={"X-Api-Key": "wrong"}).status_code == 401
    assert httpx.get(url, headers={"X-Api-Key": ""}).status_code == 401
    assert httpx.get(url, headers={"X-Api-Key": TOKEN, "Authorization": "Bearer wrong"}).status_code == 401
    for elsewhere in ("/api/contents", "/jupyter-skills/api/skills", "/jupyter-skills/openai/v1/skills"):
        assert httpx.get(f"{served.url}{elsewhere}", headers={"X-Api-Key": TOKEN}).status_code in (401, 403)


def test_a_browsers_cookie_alone_changes_nothing(served: Served) -> None:
    with httpx.Client() as browser:
        browser.get(f"{served.url}/api/contents", params={"token": TOKEN})
        url = f"{address(served)}/v1/skills"
        assert browser.get(url).status_code == 200
        answer = browser.post(url, files={"files[]": parts()[0]})
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "permission_error")
        assert browser.get(url).json()["data"] == []


# The first form of the API


def test_clients_of_the_first_form_get_what_they_expect(served: Served) -> None:
    beta = {"anthropic-beta": "files-api-2025-04-14, skills-2025-10-02", "X-Api-Key": TOKEN}
    with httpx.Client(base_url=f"{address(served)}/v1/", headers=beta, params={"beta": "true"}) as old:
        form = {"data": {"display_title": "Pies"}, "files": [("files[]", part) for part in parts()]}
        skill = old.post("skills", **form).json()
        assert (skill["display_title"], skill["source"], skill["latest_version"]) == ("Pies", "custom", "1")
        page = old.get("skills").json()
        assert (page["data"], page["has_more"], page["next_page"]) == ([skill], False, None)
        version = old.get(f"skills/{skill['id']}/versions/1").json()
        assert (version["version"], version["directory"]) == ("1", "pie-charts")
        deleted = old.delete(f"skills/{skill['id']}/versions/1").json()
        assert deleted == {"id": "1", "type": "skill_version_deleted"}
        assert old.get(f"skills/{skill['id']}").json()["latest_version"] is None
        assert old.delete(f"skills/{skill['id']}").json() == {"id": skill["id"], "type": "skill_deleted"}


def test_litellms_own_client_is_one_of_them(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would be fetched
    import litellm

    place = {"custom_llm_provider": "anthropic", "api_key": TOKEN, "api_base": address(served)}
    skill = litellm.create_skill(files=parts(), display_title="Pies", **place)
    assert (skill.display_title, skill.latest_version, skill.source) == ("Pies", "1", "custom")
    assert litellm.get_skill(skill.id, **place) == skill
    assert litellm.list_skills(**place).data == [skill]
    assert litellm.delete_skill(skill.id, **place).id == skill.id
