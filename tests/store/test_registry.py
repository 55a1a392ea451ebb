"""The skills in force."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from jupyter_skills import Registry, Skill
from jupyter_skills.errors import SkillNotFound
from jupyter_skills.store.loaded import Kernel
from jupyter_skills.store.location import default_file, has_store
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import blobs
from tests.conftest import write_skill
from tests.postgres import Cluster


@pytest.fixture
def skills(tmp_path: Path) -> list[Skill]:
    return [Skill.from_path(write_skill(tmp_path, name)) for name in ("one", "two")]


def test_skills_keep_the_order_they_were_loaded_in(skills: list[Skill]) -> None:
    registry = Registry()
    for skill in [*skills, skills[0]]:
        registry.load(skill)
    assert [entry.skill.name for entry in registry] == ["one", "two"]


def test_an_unloaded_skill_is_gone(skills: list[Skill]) -> None:
    registry = Registry()
    registry.load(skills[0])
    registry.unload("one")
    assert "one" not in registry
    assert len(registry) == 0


def test_a_skill_that_is_not_loaded_can_not_be_unloaded(skills: list[Skill]) -> None:
    registry = Registry()
    registry.load(skills[0])
    with pytest.raises(SkillNotFound, match=r"No skill 'ones' is loaded\. Did you mean 'one'"):
        registry.unload("ones")


def test_what_has_changed_is_read_again_and_what_is_broken_is_named_and_stays_as_it_was(skills: list[Skill]) -> None:
    registry = Registry()
    registry.load(skills[0], pinned=True, run="off")
    registry.load(skills[1])
    assert skills[0].folder is not None
    assert skills[1].folder is not None
    (skills[0].folder / "SKILL.md").write_text("---\nname: other\ndescription: New.\n---\n")
    (skills[1].folder / "SKILL.md").write_text("nothing")
    fresh, broken = registry.refreshed()
    assert [(entry.skill.name, entry.skill.description, entry.pinned, entry.run) for entry in fresh] == [
        ("one", "New.", True, "off")
    ], "it keeps the name it was loaded by"
    assert [str(problem) for problem in broken] == [
        f"The skill 'two' is left out: No usable skill in '{skills[1].folder}': SKILL.md has no frontmatter. "
        "Mend it, or take it out of force: '%skill unload two'."
    ]
    assert registry.get("two").skill.description == "Does a thing."
    assert registry.refreshed(["one"])[1] == [], "others are not looked at"


@pytest.fixture
def kernel(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel of ``ann``'s, whose skills are kept in ``store_url``."""
    monkeypatch.setenv("JUPYTER_SKILLS_DB", store_url)
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "ann")
    return a_kernel(tmp_path)


def a_kernel(folder: Path, kernel_id: str = "one", owner: str = "ann") -> Kernel:
    file = folder / f"kernel-{kernel_id}.json"
    file.touch()
    made = Kernel.of(str(file), owner)
    assert made is not None
    return made


def names(registry: Registry) -> list[str]:
    return [entry.skill.name for entry in registry]


@pytest.mark.parametrize("name", ["kernel-42.json", "tmpx3a.json", "kernel-.json", "", "my-kernel-x.json"])
def test_a_kernel_whose_number_comes_again_or_that_has_none_is_known_to_nobody(name: str) -> None:
    assert Kernel.of(name, "ann") is None


def test_what_one_changes_the_other_sees_at_its_next_look(kernel: Kernel, skills: list[Skill]) -> None:
    mine, server = Registry(kernel), Registry(kernel)
    mine.load(skills[0])
    mine.load(skills[1], run="off")
    assert [(entry.skill.name, entry.run) for entry in server] == [("one", ""), ("two", "off")]
    server.load(skills[0], pinned=True)
    assert [(entry.skill.name, entry.pinned) for entry in mine] == [("one", True), ("two", False)], "it keeps its place"
    server.unload("one")
    assert "one" not in mine
    assert len(mine) == 1
    server.clear()
    assert not mine.refreshed()[0]
    with pytest.raises(SkillNotFound, match="No skill 'two' is loaded"):
        mine.get("two")


def test_no_kernel_and_no_user_sees_what_is_another_s(kernel: Kernel, skills: list[Skill], tmp_path: Path) -> None:
    registry = Registry(kernel)
    registry.load(skills[0])
    for other in (a_kernel(tmp_path, "two"), replace(kernel, owner="bob")):
        theirs = Registry(other)
        assert names(theirs) == []
        theirs.load(skills[1])
        theirs.clear()
    assert names(registry) == ["one"]


def test_changes_of_several_at_once_are_all_kept(kernel: Kernel, tmp_path: Path) -> None:
    loaded = [Skill.from_path(write_skill(tmp_path / "many", f"skill-{i}")) for i in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda skill: Registry(kernel).load(skill), loaded))
        assert sorted(names(Registry(kernel))) == [skill.name for skill in loaded]
        list(threads.map(lambda skill: Registry(kernel).load(loaded[0], run="off"), loaded))
        list(threads.map(lambda skill: Registry(kernel).unload(skill.name), loaded[1:]))
    assert [(entry.skill.name, entry.run) for entry in Registry(kernel)] == [("skill-0", "off")]


def test_after_a_restart_they_are_in_force_again_as_they_are_now(kernel: Kernel, skills: list[Skill]) -> None:
    before = Registry(kernel)
    before.load(skills[1], pinned=True)
    before.load(skills[0], run="docker")
    assert before.restored() == []
    assert skills[1].folder is not None
    (skills[1].folder / "SKILL.md").write_text("---\nname: two\ndescription: New.\n---\n")
    after = Registry(kernel)
    assert after.restored() == ["two", "one"]
    assert after.restored() == [], "told once"
    assert [(entry.skill.description, entry.pinned, entry.run) for entry in after] == [
        ("New.", True, ""),
        ("Does a thing.", False, "docker"),
    ]


def test_where_a_skill_is_found_decides_what_it_may_do(kernel: Kernel, home: Path, tmp_path: Path) -> None:
    users = write_skill(home / ".agents/skills", "users")
    text = Skill.from_text("---\nname: text\ndescription: x\n---\nDo.")
    zipped = Skill.from_zip(Skill.from_path(write_skill(tmp_path, "zipped")).to_zip())
    assert text.source.installed
    before = Registry(kernel)
    for skill in (Skill.from_path(users), text, zipped):
        before.load(skill)
    after = {entry.skill.name: entry.skill for entry in Registry(kernel)}
    assert {name: skill.source.kind for name, skill in after.items()} == {
        "users": "user",
        "text": "archive",
        "zipped": "archive",
    }
    assert after["zipped"].digest == zipped.digest
    assert before.get("text").skill is text, "the kernel that made it goes on with it"


async def test_a_stored_skill_is_kept_by_its_version(kernel: Kernel, store: SkillStore, skills: list[Skill]) -> None:
    stored = await store.create(skills[0])
    Registry(kernel).load(await store.skill(stored.id))
    assert skills[0].folder is not None
    (skills[0].folder / "more.txt").touch()
    await store.create_version(stored.id, skills[0])
    again = Registry(kernel).get("one").skill
    assert (str(again.source), again.files()) == (f"store {stored.id}@1", ["SKILL.md"])
    assert not again.source.installed


async def test_what_can_not_be_found_any_more_is_listed_with_its_reason_and_hinders_no_other(
    kernel: Kernel, store: SkillStore, skills: list[Skill], tmp_path: Path
) -> None:
    stored = await store.create(Skill.from_path(write_skill(tmp_path / "more", "stored")))
    before = Registry(kernel)
    for skill in (*skills, await store.skill(stored.id)):
        before.load(skill, pinned=True)
    assert skills[0].folder is not None
    (skills[0].folder / "SKILL.md").unlink()
    await store.delete(stored.id)
    after = Registry(kernel)
    assert names(after) == ["two"]
    assert [(entry.name, entry.pinned, entry.place) for entry in after.broken] == [
        ("one", True, str(skills[0].folder)),
        ("stored", True, f"store:{stored.id}@1"),
    ]
    fresh, problems = after.refreshed()
    assert [entry.skill.name for entry in fresh] == ["two"]
    assert "There is no SKILL.md" in str(problems[0])
    assert str(problems[0]).endswith("'%skill unload one'.")
    (skills[0].folder / "SKILL.md").write_text("---\nname: one\ndescription: Back.\n---\n")
    assert names(after) == ["one", "two"]
    after.unload("stored")
    assert after.broken == []


def test_looking_makes_no_store(home: Path, tmp_path: Path, skills: list[Skill]) -> None:
    registry = Registry(a_kernel(tmp_path))
    assert names(registry) == []
    assert not has_store()
    registry.load(skills[0])
    assert has_store()


def test_where_no_store_can_be_made_all_goes_on_in_memory_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skills: list[Skill]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTER_SKILLS_DB", f"sqlite:///{tmp_path}/file/skills.db")
    told: list[str] = []
    registry = Registry(a_kernel(tmp_path), told.append, pause=0)
    assert names(registry) == []
    for skill in skills:
        registry.load(skill)
    assert names(registry) == ["one", "two"]
    registry.unload("one")
    assert names(registry) == ["two"]
    assert len(told) == 1
    assert told[0].startswith("This kernel keeps its list of skills to itself for now. The store at")
    (tmp_path / "file").unlink()
    registry.load(skills[0])
    assert names(Registry(a_kernel(tmp_path))) == ["two", "one"], "when it can be made, it gets what is in force"


def test_a_damaged_store_is_told_and_what_is_in_force_goes_into_the_next(
    home: Path, tmp_path: Path, skills: list[Skill]
) -> None:
    default_file().parent.mkdir(parents=True)
    default_file().write_text("This is no database, and never was one." * 100)
    told: list[str] = []
    registry = Registry(a_kernel(tmp_path), told.append)
    registry.load(skills[0])
    assert names(registry) == ["one"]
    assert len(told) == 1
    assert "The store was damaged" in told[0]
    assert names(Registry(a_kernel(tmp_path))) == ["one"]


def test_a_store_that_is_taken_away_takes_nothing_out_of_force(home: Path, tmp_path: Path, skills: list[Skill]) -> None:
    told: list[str] = []
    registry = Registry(a_kernel(tmp_path), told.append)
    registry.load(skills[0])
    default_file().unlink()
    assert names(registry) == ["one"]
    assert not has_store(), "to look makes none"
    assert len(told) == 1
    registry.load(skills[1])
    assert names(Registry(a_kernel(tmp_path))) == ["one", "two"]


@pytest.mark.database
def test_a_server_that_is_away_for_a_while_is_told_and_gets_what_was_changed(
    postgres: Cluster, postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, skills: list[Skill]
) -> None:
    monkeypatch.setenv("JUPYTER_SKILLS_DB", postgres_url)
    told: list[str] = []
    registry = Registry(a_kernel(tmp_path), told.append, pause=0)
    registry.load(skills[0])
    postgres.stop()
    try:
        registry.load(skills[1])
        registry.unload("one")
        assert names(registry) == ["two"]
    finally:
        postgres.start()
    assert len(told) == 1
    assert names(registry) == ["two"]
    assert names(Registry(a_kernel(tmp_path))) == ["two"]


def test_a_damaged_archive_hides_no_other_skill(kernel: Kernel, store: SkillStore, skills: list[Skill]) -> None:
    before = Registry(kernel)
    for skill in (skills[0], Skill.from_zip(skills[1].to_zip())):
        before.load(skill)
    store.database.write(lambda connection: connection.execute(sa.update(blobs).values(content=b"other bytes")))
    told: list[str] = []
    after = Registry(kernel, told.append)
    assert names(after) == ["one"]
    assert [entry.name for entry in after.broken] == ["two"]
    _, problems = after.refreshed()
    assert "damaged" in str(problems[0])
    after.unload("two")
    assert (after.broken, told) == ([], [])
