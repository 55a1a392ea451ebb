"""Our own routes of the store, on a real server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest

from jupyter_skills import Skill
from tests.server.jupyter import USER, archive_of, client, environment_in, form_of, jupyter

_numbers = count(1)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the API of a server whose base URL is not the root."""
    home = tmp_path_factory.mktemp("server")
    with (
        jupyter("server", home, environment_in(home), "--ServerApp.base_url=/some/base/") as url,
        client(f"{url}/some/base/jupyter-skills/api") as api,
    ):
        yield api


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"skill-{next(_numbers)}"


def stored(api: httpx.Client, name: str, **fields: str) -> dict[str, Any]:
    response = api.post("/skills", files=form_of(archive_of(name)), data=fields)
    assert response.status_code == 201, response.text
    skill: dict[str, Any] = response.json()
    return skill


def with_version(api: httpx.Client, skill: dict[str, Any], body: str, **fields: str) -> dict[str, Any]:
    archive = archive_of(skill["name"], "Does something else.", body)
    response = api.post(f"/skills/{skill['id']}/versions", files=form_of(archive), data=fields)
    assert response.status_code == 201, response.text
    version: dict[str, Any] = response.json()
    return version


def is_problem(response: httpx.Response, status: int, reason: str) -> str:
    """That a response tells of an error as all of ours do; its message."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"].startswith("application/json")
    problem = response.json()
    assert set(problem) == {"message", "next_step", "reason"}
    assert problem["reason"] == reason
    assert problem["next_step"]
    assert "Traceback" not in response.text
    message: str = problem["message"]
    return message


# Storing


def test_a_skill_is_stored_from_a_form_with_one_zip(api: httpx.Client, name: str) -> None:
    skill = stored(api, name, title="A title", visibility="shared", metadata='{"team": "x"}')
    assert skill["id"].startswith("skill_")
    assert (skill["name"], skill["display_title"], skill["visibility"]) == (name, "A title", "shared")
    assert (skill["description"], skill["instructions"]) == ("Does something.", "Do it.")
    assert skill["metadata"] == {"team": "x"}
    assert (skill["owner"], skill["created_by"]) == (USER, USER)
    assert (skill["file_name"], skill["file_type"]) == ("skill.zip", "application/zip")


def test_a_skill_is_stored_from_a_form_with_all_its_files(api: httpx.Client, name: str) -> None:
    manifest = f"---\nname: {name}\ndescription: Has files.\n---\nRead them.\n".encode()
    sent = {f"{name}/SKILL.md": manifest, f"{name}/references/größe.md": b"\r\nlarge\r\n"}
    parts = [("files[]", (path, content, "application/octet-stream")) for path, content in sent.items()]
    skill = api.post("/skills", files=parts).json()
    assert skill["file_name"] == name
    read = Skill.from_zip(api.get(f"/skills/{skill['id']}/content").content)
    assert read.read("references/größe.md") == b"\r\nlarge\r\n"


def test_a_skill_is_stored_from_a_body_that_is_the_zip(api: httpx.Client, name: str) -> None:
    wishes = {"display_title": "From a URL", "visibility": "public", "metadata": '{"a": [1]}'}
    sent = api.post("/skills", params=wishes, content=archive_of(name), headers={"Content-Type": "application/zip"})
    skill = sent.json()
    assert sent.status_code == 201
    assert (skill["display_title"], skill["visibility"], skill["metadata"]) == ("From a URL", "public", {"a": [1]})


def test_another_of_that_name_is_a_conflict_that_names_the_first(api: httpx.Client, name: str) -> None:
    skill = stored(api, name)
    again = api.post("/skills", files=form_of(archive_of(name)))
    assert skill["id"] in is_problem(again, 409, "StoreConflict")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"visibility": "everybody"}, "visibility"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "{"}, "metadata"),
        ({"metadata": '{"a": 1e999}'}, "metadata"),
        ({"metadata": '{"a": "\\ud800"}'}, "metadata"),
        ({"metadata": '{"a": "\\u0000"}'}, "metadata"),
        ({"title": ""}, "title"),
        ({"title": "a\0b"}, "NUL"),
    ],
)
def test_a_field_that_makes_no_sense_is_told(api: httpx.Client, name: str, fields: dict[str, str], says: str) -> None:
    response = api.post("/skills", files=form_of(archive_of(name)), data=fields)
    assert says in is_problem(response, 400, "UsageProblem")


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"no zip", "InvalidArchive"),
        (archive_of("Wrong Name"), "InvalidSkill"),
        (b"", "InvalidArchive"),
    ],
)
def test_what_is_no_usable_skill_is_told(api: httpx.Client, archive: bytes, reason: str) -> None:
    response = api.post("/skills", content=archive, headers={"Content-Type": "application/zip"})
    is_problem(response, 422, reason)


# Reading


def test_a_list_is_read_page_by_page(api: httpx.Client) -> None:
    ids = [stored(api, f"paged-{number}")["id"] for number in range(5)]
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": 2, "order": "asc", "after": ids[0]}
    while True:
        page = api.get("/skills", params=query).json()
        seen += [skill["id"] for skill in page["data"]]
        assert "instructions" not in page["data"][0]
        assert page["has_more"] == (page["cursor"] is not None)
        if not page["has_more"]:
            break
        query["after"] = page["cursor"]
    assert seen[:4] == ids[1:]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=-1", "limit=x", "limit=", "limit=1e3", "order=up", "mine=maybe", "after=x"],
)
def test_a_list_that_makes_no_sense_is_told(api: httpx.Client, query: str) -> None:
    is_problem(api.get(f"/skills?{query}"), 400, "UsageProblem")


def test_a_list_may_be_of_public_or_deleted_ones_only(api: httpx.Client, name: str) -> None:
    skill = stored(api, name, visibility="public")

    def ids(query: str) -> list[str]:
        return [skill["id"] for skill in api.get(f"/skills?limit=1000&{query}").json()["data"]]

    assert skill["id"] in ids("public=true")
    assert skill["id"] in ids("mine=1")
    assert skill["id"] not in ids("deleted=true")
    api.delete(f"/skills/{skill['id']}")
    assert skill["id"] in ids("deleted=true")
    assert skill["id"] not in ids("public=true")


def test_a_search_gives_the_best_first(api: httpx.Client, name: str) -> None:
    archive = archive_of(name, "Juggles xylophones.")
    api.post("/skills", files=form_of(archive))
    found = api.get("/search", params={"q": "xyloph", "limit": 3}).json()["data"]
    assert found[0]["skill"]["name"] == name
    assert found[0]["score"] > 0
    is_problem(api.get("/search?q=%20"), 400, "UsageProblem")


# Changing


def test_only_what_is_given_changes(api: httpx.Client, name: str) -> None:
    skill = stored(api, name, metadata='{"kept": 1}')
    changed = api.patch(f"/skills/{skill['id']}", json={"title": "New", "visibility": "shared"}).json()
    assert (changed["display_title"], changed["visibility"], changed["metadata"]) == ("New", "shared", {"kept": 1})
    assert api.get(f"/skills/{skill['id']}").json() == changed


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b'{"a": 1}'),
        *(b'{"title": 1}', b'{"title": null}', b'{"title": " "}', b'{"title": NaN}'),
        *(b'{"title": "\\ud800"}', b'{"title": "\\u0000"}', b'{"visibility": "x"}', b'{"metadata": []}'),
        b'{"metadata": {"a": "%s"}}' % (b"x" * (1 << 20)),
    ],
)
def test_a_change_that_makes_no_sense_is_told(api: httpx.Client, body: bytes) -> None:
    is_problem(api.patch("/skills/skill_x", content=body), 400, "UsageProblem")


def test_a_deleted_skill_can_be_restored(api: httpx.Client, name: str) -> None:
    skill = stored(api, name)
    assert api.delete(f"/skills/{skill['id']}").json()["deleted_at"]
    is_problem(api.get(f"/skills/{skill['id']}"), 404, "SkillNotFound")
    assert api.post(f"/skills/{skill['id']}/restore").json()["deleted_at"] is None
    assert api.get(f"/skills/{skill['id']}").status_code == 200


def test_versions_are_made_listed_chosen_and_deleted(api: httpx.Client, name: str) -> None:
    skill = stored(api, name)
    at = f"/skills/{skill['id']}"
    assert with_version(api, skill, "Second.")["version"] == "2"
    assert with_version(api, skill, "Third.", default="false")["version"] == "3"
    assert [version["version"] for version in api.get(f"{at}/versions").json()["data"]] == ["3", "2", "1"]
    assert api.get(at).json()["instructions"] == "Second."
    assert api.patch(at, json={"default_version": "1"}).json()["instructions"] == "Do it."
    assert api.get(f"{at}/versions/latest").json()["version"] == "3"
    assert api.delete(f"{at}/versions/3").json()["version"] == "3"
    assert api.get(at).json()["latest_version"] == "2"
    is_problem(api.get(f"{at}/versions/3"), 404, "SkillNotFound")
    is_problem(api.patch(at, json={"default_version": "3"}), 404, "SkillNotFound")


def test_a_version_has_the_skills_name(api: httpx.Client, name: str) -> None:
    skill = stored(api, name)
    response = api.post(f"/skills/{skill['id']}/versions", files=form_of(archive_of("another")))
    is_problem(response, 409, "StoreConflict")


# Content


def test_content_is_tagged_with_its_digest_and_not_sent_twice(api: httpx.Client, name: str) -> None:
    skill = stored(api, name)
    at = f"/skills/{skill['id']}/content"
    first = api.get(at)
    assert first.headers["ETag"] == f'"sha256:{hashlib.sha256(first.content).hexdigest()}"'
    assert first.headers["Content-Type"] == "application/zip"
    assert first.headers["X-Content-Type-Options"] == "nosniff"
    assert f"{name}-1.zip" in first.headers["Content-Disposition"]
    again = api.get(at, headers={"If-None-Match": f'"other", {first.headers["ETag"]}'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    with_version(api, skill, "Now different.")
    assert api.get(at, headers={"If-None-Match": first.headers["ETag"]}).status_code == 200
    old = api.get(f"/skills/{skill['id']}/versions/1/content", headers={"If-None-Match": first.headers["ETag"]})
    assert old.status_code == 304


def test_the_headers_of_content_can_be_had_without_it(api: httpx.Client, name: str) -> None:
    at = f"/skills/{stored(api, name)['id']}/content"
    head, got = api.head(at), api.get(at)
    assert (head.status_code, head.content) == (200, b"")
    for header in ("ETag", "Content-Length", "Content-Type", "Content-Disposition"):
        assert head.headers[header] == got.headers[header]


def test_a_file_is_named_safely(api: httpx.Client) -> None:
    skill = stored(api, "größe")
    disposition = api.get(f"/skills/{skill['id']}/content").headers["Content-Disposition"]
    assert disposition == "attachment; filename*=utf-8''gr%C3%B6%C3%9Fe-1.zip"


# The strict report


def test_a_report_is_the_one_of_the_command_line(api: httpx.Client) -> None:
    good = api.post("/validate", files=form_of(archive_of("fine"))).json()
    assert good == {"path": "skill.zip", "name": "fine", "valid": True, "problems": []}
    parts = [("files", ("Bad_Name/SKILL.md", b"---\nname: Bad_Name\n---\nSee [it](missing.md).\n"))]
    bad = api.post("/validate", files=parts).json()
    assert (bad["path"], bad["valid"]) == ("Bad_Name", False)
    assert {"description-missing", "reference-broken"} <= {problem["rule"] for problem in bad["problems"]}


@pytest.mark.parametrize(
    "names", [["../SKILL.md"], ["/etc/SKILL.md"], ["SKILL.md", "SKILL.md"], ["a", "A/b"], [" "], ["x" * 5000], ["/"]]
)
def test_a_report_on_deceiving_names_says_so(api: httpx.Client, names: list[str]) -> None:
    parts = [("files", (name, b"---\nname: x\ndescription: y\n---\nz")) for name in names]
    report = api.post("/validate", files=parts)
    assert report.status_code == 200
    assert report.json()["valid"] is False


# What is not there


@pytest.mark.parametrize(
    "path", ["/nothing", "/skills/skill_x", "/skills/%00", "/skills/%ff", "/skills/a/b/c/d", "/../x"]
)
def test_what_is_not_there_is_told_in_json(api: httpx.Client, path: str) -> None:
    assert api.get(path).status_code == 404
    assert set(api.get(path).json()) == {"message", "next_step", "reason"}


def test_a_verb_that_is_not_taken_is_told_with_those_that_are(api: httpx.Client) -> None:
    response = api.put("/skills", json={})
    is_problem(response, 405, "Method Not Allowed")
    assert response.headers["Allow"] == "GET, POST, OPTIONS"
    assert api.post("/search").headers["Allow"] == "GET, OPTIONS"


def test_jupyter_takes_a_slash_from_the_end(api: httpx.Client) -> None:
    assert api.get("/skills/", follow_redirects=True).status_code == 200


def test_parts_of_an_address_that_are_no_text_hinder_nobody(api: httpx.Client) -> None:
    assert api.get("/skills?no_track_activity=%ff&limit=1").status_code == 200
    assert api.get("/search?q=%ff").status_code == 200
