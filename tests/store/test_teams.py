"""Several users of one store: each sees what is shared and what is their own, and no trace of the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jupyter_skills.errors import NotYours, SkillNotFound, SkillsError
from jupyter_skills.store.records import StoredSkill
from jupyter_skills.store.store import SkillStore
from tests.store.processes import a_skill

MISSING = "skill_" + "0" * 24

Use = Callable[[SkillStore, str], Awaitable[Any]]

READS: dict[str, Use] = {
    "get": lambda store, id_: store.get(id_),
    "versions": lambda store, id_: store.versions(id_),
    "version": lambda store, id_: store.version(id_),
    "version by its number": lambda store, id_: store.version(id_, "1"),
    "content": lambda store, id_: store.content(id_),
    "skill": lambda store, id_: store.skill(id_),
}
CHANGES: dict[str, Use] = {
    "create_version": lambda store, id_: store.create_version(id_, a_skill("seedlings", "Other words.")),
    "a version of another name": lambda store, id_: store.create_version(id_, a_skill("other")),
    "update": lambda store, id_: store.update(id_, title="Mine"),
    "update to a version that isn't there": lambda store, id_: store.update(id_, default_version="99"),
    "delete": lambda store, id_: store.delete(id_),
    "restore": lambda store, id_: store.restore(id_),
    "delete_version": lambda store, id_: store.delete_version(id_, "1"),
}
CURSORS: dict[str, Use] = {
    "cursor": lambda store, id_: store.list(after=id_),
    "cursor among deleted ones": lambda store, id_: store.list(after=id_, deleted=True),
}
ALL = READS | CHANGES | CURSORS


@pytest.fixture
def bea(store: SkillStore) -> SkillStore:
    """The store as another user sees it than ``ann``, whose the fixture ``store`` is."""
    return store.for_user("bea")


async def of_ann(store: SkillStore, visibility: Any = "private") -> StoredSkill:
    return await store.create(a_skill("seedlings", "Weighs seedlings."), visibility=visibility, title="Seedlings")


async def names(store: SkillStore, **which: Any) -> list[str]:
    return [skill.name for skill in (await store.list(**which)).items]


async def refusal(use: Use, store: SkillStore, skill_id: str) -> tuple[type, str]:
    """What a user is told, with ``ID`` for the id."""
    with pytest.raises(SkillsError) as caught:
        await use(store, skill_id)
    return type(caught.value), str(caught.value).replace(skill_id, "ID")


@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
async def test_a_private_skill_of_another_user_is_told_of_like_one_that_is_not_there(
    store: SkillStore, bea: SkillStore, use: Use
) -> None:
    skill = await of_ann(store)
    assert await refusal(use, bea, skill.id) == await refusal(use, bea, MISSING)
    assert await store.get(skill.id) == skill
    assert len((await store.versions(skill.id)).items) == 1


@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
async def test_so_is_a_shared_skill_once_it_is_deleted(store: SkillStore, bea: SkillStore, use: Use) -> None:
    skill = await of_ann(store, "shared")
    await store.delete(skill.id)
    assert await refusal(use, bea, skill.id) == await refusal(use, bea, MISSING)
    assert (await store.restore(skill.id)).visibility == "shared"


@pytest.mark.parametrize("use", [use for name, use in CHANGES.items() if name != "restore"])
async def test_a_shared_skill_is_changed_by_its_owner_only(store: SkillStore, bea: SkillStore, use: Use) -> None:
    skill = await of_ann(store, "shared")
    with pytest.raises(NotYours, match="is ann's") as caught:
        await use(bea, skill.id)
    assert caught.value.next_step
    assert await store.get(skill.id) == skill


async def test_a_shared_skill_that_is_there_is_not_restored_by_anybody(store: SkillStore, bea: SkillStore) -> None:
    skill = await of_ann(store, "shared")
    use = CHANGES["restore"]
    assert await refusal(use, bea, skill.id) == await refusal(use, store, skill.id) == await refusal(use, bea, MISSING)


@pytest.mark.parametrize("use", READS.values(), ids=READS)
@pytest.mark.parametrize("visibility", ["shared", "public"])
async def test_a_shared_skill_is_read_by_all(store: SkillStore, bea: SkillStore, use: Use, visibility: str) -> None:
    skill = await of_ann(store, visibility)
    seen, own = await use(bea, skill.id), await use(store, skill.id)
    assert (getattr(seen, "digest", seen), type(seen)) == (getattr(own, "digest", own), type(own))


async def test_lists_and_searches_hold_ones_own_and_what_is_shared(store: SkillStore, bea: SkillStore) -> None:
    for visibility in ("private", "shared", "public"):
        await store.create(a_skill(f"of-ann-{visibility}", "Weighs seedlings."), visibility=visibility)
    await bea.create(a_skill("of-bea", "Weighs seedlings."))
    seen = ["of-ann-public", "of-ann-shared", "of-bea"]
    assert sorted(await names(bea)) == seen
    assert sorted(hit.skill.name for hit in await bea.search("seedlings")) == seen
    assert await names(bea, mine=True) == ["of-bea"]
    assert await names(bea, public=True) == ["of-ann-public"]
    assert sorted(await names(store)) == ["of-ann-private", "of-ann-public", "of-ann-shared"]


async def test_pages_are_full_whatever_lies_between_that_one_does_not_see(store: SkillStore, bea: SkillStore) -> None:
    for number in range(12):
        owner = bea if number % 4 == 0 else store
        await owner.create(a_skill(f"number-{number}"))
    first = await bea.list(limit=2)
    rest = await bea.list(limit=2, after=first.cursor)
    assert [[skill.name for skill in page.items] for page in (first, rest)] == [["number-8", "number-4"], ["number-0"]]
    assert (first.has_more, rest.has_more) == (True, False)


async def test_a_cursor_of_another_user_shows_nothing_of_theirs(store: SkillStore, bea: SkillStore) -> None:
    for number in range(4):
        await store.create(a_skill(f"hidden-{number}"))
    await bea.create(a_skill("of-bea"))
    cursor = (await store.list(limit=2)).cursor
    try:
        assert set(await names(bea, after=cursor)) <= {"of-bea"}
    except SkillsError:
        assert await refusal(CURSORS["cursor"], bea, MISSING)


async def test_deleted_skills_are_listed_for_their_owner_only(store: SkillStore, bea: SkillStore) -> None:
    for visibility in ("private", "shared", "public"):
        await store.delete((await store.create(a_skill(f"gone-{visibility}"), visibility=visibility)).id)
    await bea.delete((await bea.create(a_skill("gone-of-bea"))).id)
    assert await names(bea, deleted=True) == ["gone-of-bea"]
    assert await names(bea) == []
    assert await bea.search("thing") == []
    assert len(await names(store, deleted=True)) == 3


async def test_a_name_that_another_user_has_is_free(store: SkillStore, bea: SkillStore) -> None:
    await of_ann(store)
    own = await bea.create(a_skill("seedlings", "Bea's own."))
    assert (await bea.find("seedlings")).id == own.id
    await store.update((await store.find("seedlings")).id, visibility="shared")
    assert (await bea.find("seedlings")).id == own.id, "one's own comes first"


async def test_a_private_skill_is_not_found_by_its_name(store: SkillStore, bea: SkillStore) -> None:
    await of_ann(store)
    with pytest.raises(SkillNotFound) as hidden:
        await bea.find("seedlings")
    with pytest.raises(SkillNotFound) as missing:
        await bea.find("nothings")
    assert str(hidden.value).replace("seedlings", "NAME") == str(missing.value).replace("nothings", "NAME")


async def test_the_same_bytes_of_two_users_say_nothing_of_each_other(store: SkillStore, bea: SkillStore) -> None:
    one, other = await of_ann(store), await bea.create(a_skill("seedlings", "Weighs seedlings."))
    assert (await store.version(one.id)).archive_digest == (await bea.version(other.id)).archive_digest
    await store.delete(one.id)
    assert await store.purge(older_than=0.0) == 1
    assert (await bea.skill(other.id)).name == "seedlings", "the archive is held for as long as anybody uses it"


HUB_USER = """
import asyncio, json, sys
from jupyter_skills import Skill, SkillStore

async def main():
    async with SkillStore() as store:
        for name, visibility in json.loads(sys.argv[1]).items():
            text = f"---\\nname: {name}\\ndescription: Weighs seedlings.\\n---\\nDo it.\\n"
            await store.create(Skill.from_text(text), visibility=visibility)
        listed = {skill.name: skill.owner for skill in (await store.list()).items}
        print(json.dumps([store.user, listed, sorted(hit.skill.name for hit in await store.search("seedlings"))]))

asyncio.run(main())
"""


def test_users_of_a_hub_are_told_apart_by_the_name_it_gives_their_servers(store_url: str) -> None:
    def use(user: str, **skills: str) -> Any:
        environment = os.environ | {"JUPYTER_SKILLS_DB": store_url, "JUPYTERHUB_USER": user}
        command = [sys.executable, "-c", HUB_USER, json.dumps(skills)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    use("ann", hidden="private", seen="shared")
    seen_by_bea = {"seen": "ann", "own": "bea"}
    assert use("bea", own="private") == ["bea", seen_by_bea, sorted(seen_by_bea)]
    assert use("ann") == ["ann", {"hidden": "ann", "seen": "ann"}, ["hidden", "seen"]]
