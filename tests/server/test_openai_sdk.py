"""The skills client of the ``openai`` package, as it is, against a real server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.server.jupyter import TOKEN
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


@pytest.fixture(params=["sync", "async"])
def skills(served: Served, request: pytest.FixtureRequest) -> Any:
    """The skills client in both its forms; it refuses any answer that does not fit its types."""
    maker = openai.AsyncOpenAI if request.param == "async" else openai.OpenAI
    return maker(api_key=TOKEN, base_url=address(served), _strict_response_validation=True).skills


def address(served: Served) -> str:
    return f"{served.url}/jupyter-skills/openai/v1"


def changed(word: str) -> list[tuple[str, bytes]]:
    """The files of another version."""
    return parts({**FILES, "SKILL.md": FILES["SKILL.md"].replace(b"pies", word.encode())})


async def test_a_skill_comes_from_the_files_of_a_folder(skills: Any) -> None:
    before = int(time.time())
    skill = await outcome(skills.create(files=parts()))
    assert (skill.object, skill.name, skill.description) == ("skill", "pie-charts", "Draws pies.")
    assert (skill.default_version, skill.latest_version) == ("1", "1")
    assert before <= skill.created_at <= time.time()


async def test_folder_and_zip_are_the_same_skill(skills: Any, served: Served, tmp_path: Path) -> None:
    (tmp_path / "upload.zip").write_bytes(zipped())
    forms: list[Any] = [
        parts(),
        [(name.removeprefix("pie-charts/"), content) for name, content in parts()],
        [("pies.zip", zipped(), "application/zip")],
        [tmp_path / "upload.zip"],
        [(tmp_path / "upload.zip").open("rb")],
        [zipped(folder="")],
    ]
    digests = set()
    for files in forms:
        skill = await outcome(skills.create(files=files))
        digests.add((await served.store.version(skill.id)).digest)
        await outcome(skills.delete(skill.id))
    assert len(digests) == 1


async def test_it_is_found_by_its_id(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    assert await outcome(skills.retrieve(skill.id)) == skill


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_lists_go_on_to_the_end_and_hold_nothing_twice(skills: Any, order: str) -> None:
    made = [(await outcome(skills.create(files=minimal(f"skill-{number}")))).id for number in range(7)]
    wanted = made if order == "asc" else made[::-1]
    assert [skill.id for skill in await everything(skills.list(limit=2, order=order))] == wanted
    page = await outcome(skills.list(limit=3, order=order))
    assert (page.first_id, page.last_id, page.has_more) == (wanted[0], wanted[2], True)
    rest = await outcome(skills.list(after=page.last_id, order=order))
    assert ([skill.id for skill in rest.data], rest.has_more) == (wanted[3:], False)


async def test_an_empty_list_has_no_ends(skills: Any) -> None:
    page = await outcome(skills.list())
    assert (page.data, page.first_id, page.last_id, page.has_more) == ([], None, None, False)


async def test_lists_can_be_emptied_while_they_are_read(skills: Any) -> None:
    for number in range(5):
        await outcome(skills.create(files=minimal(f"skill-{number}")))
    gone = 0
    if hasattr(pages := skills.list(limit=2), "__aiter__"):
        async for skill in pages:
            gone += (await skills.delete(skill.id)).deleted
    else:
        for skill in pages:
            gone += skills.delete(skill.id).deleted
    assert gone == 5
    assert await everything(skills.list()) == []


async def test_a_deleted_skill_is_gone_and_can_be_brought_back(skills: Any, served: Served) -> None:
    skill = await outcome(skills.create(files=parts()))
    deleted = await outcome(skills.delete(skill.id))
    assert (deleted.id, deleted.deleted, deleted.object) == (skill.id, True, "skill.deleted")
    with pytest.raises(openai.NotFoundError):
        await outcome(skills.retrieve(skill.id))
    await served.store.restore(skill.id)
    assert await outcome(skills.retrieve(skill.id)) == skill


async def test_a_new_version_is_the_latest_and_the_default_if_asked_for(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    second = await outcome(skills.versions.create(skill.id, files=changed("cakes")))
    assert (second.object, second.version, second.skill_id) == ("skill.version", "2", skill.id)
    pointers = await outcome(skills.retrieve(skill.id))
    assert (pointers.default_version, pointers.latest_version, pointers.description) == ("1", "2", "Draws pies.")
    await outcome(skills.versions.create(skill.id, files=changed("tarts"), default=True))
    await outcome(skills.versions.create(skill.id, files=changed("buns"), default=False))
    pointers = await outcome(skills.retrieve(skill.id))
    assert (pointers.default_version, pointers.latest_version, pointers.description) == ("3", "4", "Draws tarts.")


async def test_the_default_version_can_be_changed(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    await outcome(skills.versions.create(skill.id, files=changed("cakes")))
    updated = await outcome(skills.update(skill.id, default_version="2"))
    assert (updated.default_version, updated.description) == ("2", "Draws cakes.")
    with pytest.raises(openai.NotFoundError, match="no version '3'"):
        await outcome(skills.update(skill.id, default_version="3"))
    with pytest.raises(openai.BadRequestError, match="default_version"):
        await outcome(skills.update(skill.id, default_version=""))


async def test_versions_are_known_by_number_and_the_newest_by_a_word(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    second = await outcome(skills.versions.create(skill.id, files=changed("cakes")))
    assert await outcome(skills.versions.retrieve("2", skill_id=skill.id)) == second
    assert await outcome(skills.versions.retrieve("latest", skill_id=skill.id)) == second
    assert await outcome(skills.versions.retrieve(second.id, skill_id=skill.id)) == second
    assert (await outcome(skills.versions.retrieve("1", skill_id=skill.id))).description == "Draws pies."


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_versions_are_listed_page_by_page(skills: Any, order: str) -> None:
    skill = await outcome(skills.create(files=parts()))
    for word in ("cakes", "tarts", "buns", "rolls"):
        await outcome(skills.versions.create(skill.id, files=changed(word)))
    found = [version.version for version in await everything(skills.versions.list(skill.id, limit=2, order=order))]
    assert found == (list("12345") if order == "asc" else list("54321"))
    page = await outcome(skills.versions.list(skill.id, limit=2))
    assert (page.first_id, page.last_id) == (page.data[0].id, page.data[1].id)


async def test_the_default_version_stays_while_there_are_others(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    second = await outcome(skills.versions.create(skill.id, files=changed("cakes")))
    with pytest.raises(openai.BadRequestError, match="Make another the default first"):
        await outcome(skills.versions.delete("1", skill_id=skill.id))
    await outcome(skills.update(skill.id, default_version="2"))
    with pytest.raises(openai.BadRequestError, match="Name one"):
        await outcome(skills.versions.delete("latest", skill_id=skill.id))
    deleted = await outcome(skills.versions.delete("1", skill_id=skill.id))
    assert (deleted.version, deleted.deleted, deleted.object) == ("1", True, "skill.version.deleted")
    assert [version.id for version in await everything(skills.versions.list(skill.id))] == [second.id]


async def test_the_skill_goes_with_its_last_version(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    assert (await outcome(skills.versions.delete("1", skill_id=skill.id))).deleted
    with pytest.raises(openai.NotFoundError):
        await outcome(skills.retrieve(skill.id))


async def test_a_download_holds_the_very_files(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    await outcome(skills.versions.create(skill.id, files=changed("cakes")))
    default = await outcome(skills.content.retrieve(skill.id))
    second = await outcome(skills.versions.content.retrieve("2", skill_id=skill.id))
    latest = await outcome(skills.versions.content.retrieve("latest", skill_id=skill.id))
    assert unzipped(default.content) == FILES
    assert unzipped(second.content) == {name.partition("/")[2]: content for name, content in changed("cakes")}
    assert latest.content == second.content
    assert default.response.headers["Content-Type"] == "application/zip"


# Errors


async def test_a_request_that_makes_no_sense_is_a_bad_request(skills: Any) -> None:
    for wrong in ({"limit": 0}, {"limit": 1001}, {"after": "nowhere"}, {"order": "up"}):
        with pytest.raises(openai.BadRequestError) as caught:
            await outcome(skills.list(**wrong))
        assert (caught.value.type, caught.value.code) == ("invalid_request_error", "usage_problem")


async def test_a_file_that_the_client_has_left_out_is_told(skills: Any) -> None:
    for lost in (("pies.zip", zipped()), zipped(), openai.omit):
        with pytest.raises(openai.BadRequestError, match="give it a list"):
            await outcome(skills.create(files=lost))


async def test_a_wrong_token_is_an_authentication_error(served: Served) -> None:
    client = openai.OpenAI(api_key="wrong", base_url=address(served))
    for call in (client.skills.list, lambda: client.skills.create(files=parts())):
        with pytest.raises(openai.AuthenticationError, match="server's token") as caught:
            call()
        assert caught.value.code == "invalid_api_key"


async def test_a_skill_of_somebody_else_can_be_read_and_not_changed(skills: Any, served: Served) -> None:
    theirs = await served.skill_of("grace")
    assert (await outcome(skills.retrieve(theirs))).name == "theirs"
    for change in (
        skills.delete,
        lambda one: skills.update(one, default_version="1"),
        lambda one: skills.versions.create(one, files=minimal("theirs")),
        lambda one: skills.versions.delete("1", skill_id=one),
    ):
        with pytest.raises(openai.PermissionDeniedError, match="grace's") as caught:
            await outcome(change(theirs))
        assert caught.value.code == "not_yours"


async def test_what_is_missing_is_not_found(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    for method, words in (
        (lambda: skills.retrieve("skill_none"), "skill_none"),
        (lambda: skills.delete("skill_none"), "skill_none"),
        (lambda: skills.content.retrieve("skill_none"), "skill_none"),
        (lambda: skills.versions.list("skill_none"), "skill_none"),
        (lambda: skills.versions.retrieve("7", skill_id=skill.id), "no version '7'"),
        (lambda: skills.versions.content.retrieve("skillver_none_1", skill_id=skill.id), "skillver_none_1"),
    ):
        with pytest.raises(openai.NotFoundError, match=words) as caught:
            await outcome(method())
        assert caught.value.code == "skill_not_found"


async def test_a_name_that_is_taken_is_a_conflict(skills: Any) -> None:
    skill = await outcome(skills.create(files=parts()))
    with pytest.raises(openai.ConflictError, match=skill.id) as caught:
        await outcome(skills.create(files=parts()))
    assert caught.value.code == "store_conflict"
    with pytest.raises(openai.ConflictError, match="one name in all versions"):
        await outcome(skills.versions.create(skill.id, files=minimal("other")))


async def test_an_upload_that_is_too_large_is_refused_before_it_has_come(skills: Any) -> None:
    files = [*parts(), ("pie-charts/assets/large.bin", bytes(4 * UPLOAD_LIMIT))]
    with pytest.raises(openai.APIStatusError, match=r"More than [\d,]+ bytes") as caught:
        await outcome(skills.create(files=files))
    assert (caught.value.status_code, caught.value.code) == (413, "upload_too_large")


async def test_what_is_no_skill_can_not_be_processed(skills: Any) -> None:
    for files, words in (
        ([("pies/notes.md", b"no manifest")], "SKILL.md"),
        (minimal("UPPER CASE"), "name"),
        ([("../SKILL.md", FILES["SKILL.md"])], r"\.\."),
        ([("broken.zip", b"PK\3\4 is all there is")], "zip"),
    ):
        with pytest.raises(openai.UnprocessableEntityError, match=words) as caught:
            await outcome(skills.create(files=files))
        assert caught.value.type == "invalid_request_error"


def test_an_error_has_an_id_and_a_next_step(served: Served) -> None:
    with pytest.raises(openai.NotFoundError, match="list of skills") as caught:
        openai.OpenAI(api_key=TOKEN, base_url=address(served)).skills.retrieve("skill_none")
    assert caught.value.request_id
    assert caught.value.request_id.startswith("req_")


def test_nothing_is_asked_for_again_in_vain(served: Served) -> None:
    asked: list[Any] = []
    http = openai.DefaultHttpxClient(event_hooks={"request": [asked.append]})
    client = openai.OpenAI(api_key=TOKEN, base_url=address(served), http_client=http)
    client.skills.create(files=parts())
    with pytest.raises(openai.ConflictError):
        client.skills.create(files=parts())
    assert len(asked) == 2


def test_a_request_id_comes_with_every_answer(served: Served) -> None:
    client = openai.OpenAI(api_key=TOKEN, base_url=address(served))
    first, second = (client.skills.with_raw_response.list() for _ in range(2))
    assert first.request_id
    assert first.request_id != second.request_id
