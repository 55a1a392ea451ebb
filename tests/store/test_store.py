"""``SkillStore`` as one user sees it; the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import sqlite3
import stat
import threading
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jupyter_skills.errors import (
    InvalidArchive,
    InvalidSkill,
    NotYours,
    SkillNotFound,
    StoreBusy,
    StoreConflict,
    UsageProblem,
)
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import blobs
from tests.conftest import write_skill


def skill(name: str = "chart", description: str = "Draws charts of tables.", body: str = "Use bars.") -> Skill:
    return Skill.from_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")


async def kept(store: SkillStore) -> int:
    """How many archives the database holds."""
    return await store.database.off_loop(
        store.database.read, lambda connection: len(connection.execute(blobs.select()).all())
    )


# Creating


async def test_a_skill_says_of_itself_what_its_manifest_says(store: SkillStore) -> None:
    before = datetime.now(UTC)
    made = await store.create(skill(body="Use bars.\nNot pies."))
    assert made.id.startswith("skill_")
    assert (made.name, made.title, made.description) == ("chart", "chart", "Draws charts of tables.")
    assert made.instructions == "Use bars.\nNot pies."
    assert (made.owner, made.created_by, made.updated_by, made.visibility) == ("ann", "ann", "ann", "private")
    assert (made.latest_version, made.default_version, made.source, made.deleted_at) == ("1", "1", "custom", None)
    assert before <= made.created_at <= made.updated_at <= datetime.now(UTC)
    assert await store.get(made.id) == made
    assert await store.find("chart") == made


async def test_what_its_owner_wants_to_keep_with_it_is_kept(store: SkillStore) -> None:
    metadata = {"team": "Ökologie", "tags": ["a", None, 1.5], "nested": {"NUL": "\0"}}
    made = await store.create(skill(), title="Charts, drawn", metadata=metadata, visibility="shared", source="import")
    found = await store.get(made.id)
    assert (found.title, found.metadata, found.visibility, found.source) == (
        "Charts, drawn",
        metadata,
        "shared",
        "import",
    )


@pytest.mark.parametrize("kind", ["folder", "manifest", "archive", "bytes", "skill"])
async def test_it_may_come_as_folder_archive_bytes_or_skill_and_is_the_same(
    store: SkillStore, tmp_path: Path, kind: str
) -> None:
    folder = write_skill(tmp_path, "chart")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_bytes(b"#!/bin/sh\necho \xff\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "scripts" / "café.txt").write_text("é")
    given = Skill.from_path(folder)
    archive = tmp_path / "Any Name.skill"
    archive.write_bytes(given.to_zip())
    what = {
        "folder": folder,
        "manifest": str(folder / "SKILL.md"),
        "archive": archive,
        "bytes": given.to_zip(),
        "skill": given,
    }[kind]
    made = await store.create(what)
    back = await store.skill(made.id)
    assert (back.digest, back.files()) == (given.digest, given.files())
    assert back.content.entry("scripts/run.sh").executable
    assert str(back.source) == f"store {made.id}@1"
    assert not back.source.installed, "what a store holds is nobody's installation"
    names = {"folder": "chart", "manifest": "SKILL.md", "archive": "Any Name.skill"}
    assert made.file_name == names.get(kind)
    assert made.file_type == ("application/zip" if kind == "archive" else None)


async def test_its_content_is_the_same_bytes_whenever_it_is_asked_for(store: SkillStore) -> None:
    made = await store.create(skill())
    content = await store.content(made.id)
    version = await store.version(made.id)
    assert content == await store.content(made.id, "1") == await store.content(made.id, "latest")
    assert version.archive_digest == "sha256:" + hashlib.sha256(content).hexdigest()
    assert (version.size, version.file_count) == (len(content), 1)
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["chart/SKILL.md"]


async def test_the_same_bytes_are_kept_once_whoever_has_them(store: SkillStore) -> None:
    first = await store.create(skill())
    await store.create_version(first.id, skill())
    second = await store.for_user("bob").create(skill())
    assert await kept(store) == 1
    await store.delete(first.id)
    await store.purge(0)
    assert await kept(store) == 1
    assert await store.for_user("bob").content(second.id)
    await store.for_user("bob").delete(second.id)
    await store.for_user("bob").purge(0)
    assert await kept(store) == 0


async def test_a_second_skill_of_a_name_is_refused_and_the_first_one_named(store: SkillStore) -> None:
    made = await store.create(skill())
    with pytest.raises(StoreConflict, match=made.id):
        await store.create(skill(description="Another."))
    assert (await store.for_user("bob").create(skill())).name == "chart"


@pytest.mark.parametrize(
    "manifest",
    [
        "---\nname: Not Allowed\ndescription: d\n---\n",
        "---\nname: a--b\ndescription: d\n---\n",
        "---\ndescription: d\n---\n",
        "---\nname: x\ndescription: ' '\n---\n",
        f"---\nname: x\ndescription: {'d' * 1025}\n---\n",
        f"---\nname: {'x' * 65}\ndescription: d\n---\n",
    ],
)
async def test_a_name_or_description_that_breaks_the_specification_is_refused(
    store: SkillStore, tmp_path: Path, manifest: str
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "SKILL.md").write_text(manifest)
    with pytest.raises(InvalidSkill):
        await store.create(tmp_path / "x")
    assert (await store.list()).items == ()


async def test_fields_that_only_some_clients_know_hinder_nobody(store: SkillStore) -> None:
    made = await store.create(Skill.from_text("---\nname: x\ndescription: d\nversion: 2\ncolor: red\n---\n"))
    assert (await store.skill(made.id)).problems


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 and nothing"])
async def test_what_is_no_archive_is_refused(store: SkillStore, content: bytes) -> None:
    with pytest.raises(InvalidArchive):
        await store.create(content)


@pytest.mark.parametrize(
    "wish",
    [
        {"title": ""},
        {"title": "t" * 256},
        {"title": "a\nb"},
        {"visibility": "everyone"},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": b"bytes"}},
        {"metadata": {"a": "x" * 70_000}},
        {"metadata": {1: "a"}},
        {"metadata": {"a": "\ud800"}},
        {"metadata": {"a": json.loads("[" * 40 + "]" * 40)}},
        {"source": ""},
        {"source": "s" * 65},
    ],
)
async def test_what_can_t_be_kept_is_refused(store: SkillStore, wish: dict[str, object]) -> None:
    with pytest.raises(UsageProblem):
        await store.create(skill(), **wish)
    assert (await store.list()).items == ()


async def test_characters_that_no_database_takes_are_in_the_archive_all_the_same(store: SkillStore) -> None:
    given = skill(body="a\0b")
    made = await store.create(given)
    assert made.instructions == "a\ufffdb"
    assert (await store.skill(made.id)).digest == given.digest


# Versions


async def test_a_new_version_is_the_latest_and_unless_told_otherwise_the_default(store: SkillStore) -> None:
    made = await store.create(skill())
    second = await store.create_version(made.id, skill(description="Draws pies."))
    assert (second.version, second.skill_id, second.description) == ("2", made.id, "Draws pies.")
    assert await store.version(made.id, second.id) == second, "its id names it as well"
    third = await store.create_version(made.id, skill(description="Draws lines."), default=False)
    found = await store.get(made.id)
    assert (found.latest_version, found.default_version, found.description) == ("3", "2", "Draws pies.")
    assert await store.version(made.id) == second
    assert await store.version(made.id, "latest") == third
    assert found.updated_at > made.updated_at


async def test_the_default_can_be_any_version(store: SkillStore) -> None:
    made = await store.create(skill())
    await store.create_version(made.id, skill(description="Draws pies.", body="Pies only."))
    back = await store.update(made.id, default_version="1")
    assert (back.default_version, back.description, back.instructions) == ("1", "Draws charts of tables.", "Use bars.")
    assert (await store.skill(made.id)).description == "Draws charts of tables."
    with pytest.raises(SkillNotFound, match="no version '7'"):
        await store.update(made.id, default_version="7")


async def test_a_version_has_the_skill_s_name(store: SkillStore) -> None:
    made = await store.create(skill())
    with pytest.raises(StoreConflict, match="one name in all versions"):
        await store.create_version(made.id, skill("other"))


@pytest.mark.parametrize("version", ["0", "2", "-1", "1.0", "x", "", "٣", "9" * 30, "1 ", "\0"])
async def test_a_version_that_is_not_there_is_not_found(store: SkillStore, version: str) -> None:
    made = await store.create(skill())
    with pytest.raises(SkillNotFound):
        await store.content(made.id, version)


async def test_deleting_a_version_moves_what_pointed_to_it(store: SkillStore) -> None:
    made = await store.create(skill(body="one"))
    for number in ("two", "three"):
        await store.create_version(made.id, skill(body=number))
    assert (await store.delete_version(made.id, "3")).version == "3"
    found = await store.get(made.id)
    assert (found.latest_version, found.default_version, found.instructions) == ("2", "2", "two")
    fourth = await store.create_version(made.id, skill(body="four"))
    assert fourth.version == "4", "a number is never given twice"
    for version in ("1", "2", "4"):
        await store.delete_version(made.id, version)
    found = await store.get(made.id)
    assert (found.latest_version, found.default_version) == (None, None)
    with pytest.raises(SkillNotFound, match="no version any more"):
        await store.content(made.id)
    assert await kept(store) == 0
    assert (await store.create_version(made.id, skill(body="five"), default=False)).version == "5"
    assert (await store.get(made.id)).default_version == "5", "the only one is the default"


# Lists


async def test_pages_hold_everything_once_in_either_order(store: SkillStore) -> None:
    made = [(await store.create(skill(f"s{number}"))).id for number in range(7)]
    for order, expected in (("asc", made), ("desc", made[::-1])):
        seen: list[str] = []
        page = await store.list(limit=3, order=order)
        while True:
            seen += [item.id for item in page.items]
            if not page.has_more:
                break
            page = await store.list(limit=3, order=order, after=page.cursor)
        assert seen == expected
    assert page.cursor is None
    assert all(item.instructions is None for item in page.items), "lists are short"


async def test_a_page_may_go_on_after_an_id_even_of_one_that_is_gone(store: SkillStore) -> None:
    first, second, third = [(await store.create(skill(f"s{number}"))).id for number in range(3)]
    page = await store.list(limit=1)
    assert [item.id for item in (await store.list(after=third)).items] == [second, first]
    await store.delete(third)
    await store.create(skill("new"))
    assert [item.id for item in (await store.list(after=third)).items] == [second, first]
    assert [item.id for item in (await store.list(after=page.cursor)).items] == [second, first]


@pytest.mark.parametrize("after", ["", "x", "skill_0", "AAAA", "MTIz", "\0", "é", "=" * 5, "9" * 500])
async def test_a_cursor_that_makes_no_sense_is_refused(store: SkillStore, after: str) -> None:
    with pytest.raises(UsageProblem):
        await store.list(after=after)


@pytest.mark.parametrize("limit", [0, -1, 1001])
async def test_a_page_has_1_to_1000_items(store: SkillStore, limit: int) -> None:
    made = await store.create(skill())
    with pytest.raises(UsageProblem):
        await store.list(limit=limit)
    with pytest.raises(UsageProblem):
        await store.versions(made.id, limit=limit)
    with pytest.raises(UsageProblem):
        await store.search("charts", limit=limit)


async def test_versions_come_in_pages_too(store: SkillStore) -> None:
    made = await store.create(skill())
    for number in range(4):
        await store.create_version(made.id, skill(body=str(number)))
    first = await store.versions(made.id, limit=2)
    rest = await store.versions(made.id, limit=5, after=first.cursor)
    assert [item.version for item in (*first.items, *rest.items)] == ["5", "4", "3", "2", "1"]
    assert (first.has_more, rest.has_more) == (True, False)
    assert [item.version for item in (await store.versions(made.id, order="asc", after="3")).items] == ["4", "5"]
    with pytest.raises(UsageProblem):
        await store.versions(made.id, after="x")


# Who sees what


async def test_what_is_private_is_not_told_from_what_is_not_there(store: SkillStore) -> None:
    made = await store.create(skill())
    bob = store.for_user("bob")

    def calls(skill_id: str) -> list[object]:
        return [
            bob.get(skill_id),
            bob.versions(skill_id),
            bob.version(skill_id, "1"),
            bob.content(skill_id),
            bob.create_version(skill_id, skill()),
            bob.update(skill_id, title="mine"),
            bob.delete(skill_id),
            bob.restore(skill_id),
            bob.delete_version(skill_id, "1"),
        ]

    missing = "skill_" + "0" * 32
    for theirs, nothing in zip(calls(made.id), calls(missing), strict=True):
        with pytest.raises(SkillNotFound) as one:
            await theirs
        with pytest.raises(SkillNotFound) as other:
            await nothing
        assert str(one.value).replace(made.id, missing) == str(other.value)
    assert (await bob.list()).items == ()
    assert await bob.search("charts") == []
    with pytest.raises(UsageProblem):
        await bob.list(after=made.id)
    with pytest.raises(SkillNotFound):
        await bob.find("chart")


async def test_what_is_shared_can_be_used_by_all_and_changed_by_its_owner(store: SkillStore) -> None:
    made = await store.create(skill(), visibility="shared")
    bob = store.for_user("bob")
    assert await bob.get(made.id) == made
    assert await bob.find("chart") == made
    assert (await bob.skill(made.id)).name == "chart"
    assert [hit.skill.id for hit in await bob.search("charts")] == [made.id]
    for call in (
        bob.update(made.id, visibility="public"),
        bob.create_version(made.id, skill()),
        bob.delete(made.id),
        bob.delete_version(made.id, "1"),
    ):
        with pytest.raises(NotYours, match="ann's"):
            await call
    assert (await bob.list(mine=True)).items == ()
    own = await bob.create(skill())
    assert (await bob.find("chart")).id == own.id, "one's own comes first"
    await store.update(made.id, visibility="private")
    assert [item.id for item in (await bob.list()).items] == [own.id]


async def test_only_public_skills_are_listed_as_such(store: SkillStore) -> None:
    for visibility in ("private", "shared", "public"):
        await store.create(skill(visibility), visibility=visibility)
    assert [item.name for item in (await store.for_user("bob").list(public=True)).items] == ["public"]


# Changing, deleting


async def test_an_update_changes_what_it_names_and_nothing_else(store: SkillStore) -> None:
    made = await store.create(skill(), title="Old", metadata={"a": 1})
    changed = await store.update(made.id, title="New")
    assert (changed.title, changed.metadata, changed.visibility) == ("New", {"a": 1}, "private")
    assert (await store.update(made.id, metadata={})).metadata == {}
    assert (await store.get(made.id)).title == "New"


async def test_a_deleted_skill_is_gone_until_it_is_restored(store: SkillStore) -> None:
    made = await store.create(skill(), visibility="shared")
    gone = await store.delete(made.id)
    assert gone.deleted_at is not None
    for call in (store.get(made.id), store.content(made.id), store.find("chart"), store.delete(made.id)):
        with pytest.raises(SkillNotFound):
            await call
    assert (await store.list()).items == ()
    assert await store.search("charts") == []
    assert [item.id for item in (await store.list(deleted=True)).items] == [made.id]
    assert (await store.for_user("bob").list(deleted=True)).items == ()
    with pytest.raises(SkillNotFound):
        await store.for_user("bob").restore(made.id)
    back = await store.restore(made.id)
    assert (back.deleted_at, back.visibility, back.default_version) == (None, "shared", "1")
    assert [hit.skill.id for hit in await store.search("charts")] == [made.id]
    with pytest.raises(SkillNotFound):
        await store.restore(made.id)


async def test_the_name_of_a_deleted_skill_is_free(store: SkillStore) -> None:
    first = await store.create(skill())
    await store.delete(first.id)
    second = await store.create(skill())
    with pytest.raises(StoreConflict, match=second.id):
        await store.restore(first.id)


async def test_only_one_s_own_and_long_deleted_skills_are_purged(store: SkillStore) -> None:
    made = await store.create(skill())
    await store.delete(made.id)
    assert await store.purge() == 0
    assert await store.for_user("bob").purge(0) == 0
    assert await store.purge(0) == 1
    with pytest.raises(SkillNotFound):
        await store.restore(made.id)


# Searching


async def test_words_find_by_name_before_description_before_text(store: SkillStore) -> None:
    await store.create(skill("zebra", "Counts animals.", "Paints a plot."))
    await store.create(skill("maps", "Paints maps to plot on.", "None."))
    await store.create(skill("plot", "Draws.", "None."))
    await store.create(skill("other", "Nothing.", "None."))
    hits = await store.search("plot")
    assert [hit.skill.name for hit in hits] == ["plot", "maps", "zebra"]
    assert hits[0].score > hits[1].score > hits[2].score
    assert [hit.skill.name for hit in await store.search("plot", limit=1)] == ["plot"]


async def test_words_that_most_skills_have_tell_nothing_beside_others(store: SkillStore) -> None:
    for number in range(5):
        await store.create(skill(f"s{number}", "Draws charts of the data.", "zebra" if number == 3 else "lion"))
    assert [hit.skill.name for hit in await store.search("charts of the zebra")] == ["s3"]
    assert len(await store.search("charts of the data")) == 5, "unless there are no others"


async def test_what_others_keep_to_themselves_changes_no_search(store: SkillStore) -> None:
    await store.create(skill("mine", "Draws plots.", "phylogeny"))
    await store.create(skill("other", "Draws plots.", "merger"))
    before = [await store.search(words) for words in ("merger", "plots merger", "plots phylogeny", "draws acme")]
    for number in range(6):
        hidden = skill(f"h{number}", "Draws plots.", "phylogeny merger acme")
        await store.for_user("bob").create(hidden)
    after = [await store.search(words) for words in ("merger", "plots merger", "plots phylogeny", "draws acme")]
    assert after == before


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("animal", True),
        ("ANIMALS", True),
        ("anim", True),
        ("nimal", False),
        ("an", False),
        ("ecologie", True),
        ("écologie nothing-else", True),
        ("动物", True),
        ("utf8", True),
        ("", False),
        ("?!", False),
        ("' OR 1=1 --", False),
        ('"', False),
        ("animal* NEAR(x", True),
        ("\0", False),
        ("a" * 5000, False),
    ],
)
async def test_words_are_compared_as_people_read_them(store: SkillStore, words: str, found: bool) -> None:
    await store.create(skill("zoo", "Counts animals for Écologie.", "动物 in utf8."))
    assert bool(await store.search(words)) is found


async def test_a_title_is_found_as_soon_as_it_is_given(store: SkillStore) -> None:
    made = await store.create(skill())
    assert await store.search("geology") == []
    await store.update(made.id, title="Geology")
    assert [hit.skill.id for hit in await store.search("geology")] == [made.id]
    await store.create_version(made.id, skill(body="All of petrography."))
    assert [hit.skill.id for hit in await store.search("petrography geology")] == [made.id]
    assert await store.search("bars") == [], "what the default version does not say is not found"


# Loops, threads, processes, files


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_has_connections_and_threads_of_its_own(store_url: str) -> None:
    store = SkillStore(store_url, user="ann")
    made = asyncio.run(store.create(skill()))
    child = os.fork()
    if child == 0:
        os._exit(0 if asyncio.run(store.get(made.id)) == made else 1)
    found = [asyncio.run(store.get(made.id)) for _ in range(20)]
    assert os.waitpid(child, 0)[1] == 0
    assert found == [made] * 20
    asyncio.run(store.close())


async def test_a_file_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    file = tmp_path / "skills.db"
    async with SkillStore(f"sqlite:///{file}", user="ann") as store:
        await store.create(skill("lost"))
        for end in ("", "-wal", "-shm"):
            file.with_name(file.name + end).unlink(missing_ok=True)
        await store.create(skill("kept"))
    async with SkillStore(f"sqlite:///{file}", user="ann") as store:
        assert [item.name for item in (await store.list()).items] == ["kept"]


async def test_closing_gives_up_what_waits_for_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'skills.db'}"
    async with SkillStore(url, user="ann") as store:
        made = await store.create(skill())
        other = sqlite3.connect(tmp_path / "skills.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        calls = [asyncio.ensure_future(store.update(made.id, title=str(number))) for number in range(8)]
        assert (await store.get(made.id)).title == "chart", "readers don't wait for writers"
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(one, StoreBusy) for one in done)
    other.close()


async def test_of_stores_in_memory_each_is_another(tmp_path: Path) -> None:
    async with SkillStore("sqlite://", user="ann") as first, SkillStore("sqlite://", user="ann") as second:
        made = await first.create(skill())
        async with first.for_user("bob"):
            pass
        assert (await first.get(made.id)).name == "chart", "a view closes nothing"
        assert (await second.list()).items == ()


def test_one_store_serves_every_loop_and_thread(store_url: str) -> None:
    store = SkillStore(store_url, user="ann")
    made = asyncio.run(store.create(skill()))
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(store.get(made.id)).name)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["chart"] * 8
    asyncio.run(store.close())
    assert asyncio.run(store.get(made.id)).name == "chart", "closing is no end"
    asyncio.run(store.close())


async def test_a_caller_that_is_cancelled_leaves_all_or_nothing(store: SkillStore) -> None:
    calls = [asyncio.ensure_future(store.create(skill(f"s{number}"))) for number in range(20)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    listed = (await store.list(limit=100)).items
    assert {f"s{number}" for number in range(1, 20, 2)} <= {item.name for item in listed}
    for item in listed:
        assert (await store.skill(item.id)).name == item.name


async def test_without_an_address_it_is_a_file_in_the_data_folder_that_only_its_owner_reads(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "ann")
    store = SkillStore()
    file = home / "jupyter_data_dir" / "jupyter_skills.sqlite3"
    assert not file.exists(), "nothing is made before it is used"
    made = await store.create(skill())
    assert made.owner == "ann"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    await store.close()


async def test_a_store_may_live_in_memory() -> None:
    async with SkillStore("sqlite://", user="ann") as store:
        made = await store.create(skill())
        await asyncio.gather(*(store.create_version(made.id, skill(body=str(number))) for number in range(20)))
        assert (await store.get(made.id)).latest_version == "21"
