"""Finding skills by a word, in folders and in the store."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.errors import InvalidSkill, LockBroken, SkillNotFound, StoreUnreachable
from jupyter_skills.skills import lock
from jupyter_skills.store.finding import Remembered, available, candidates, named, resolve, stored_names
from jupyter_skills.store.location import has_store
from jupyter_skills.store.store import SkillStore
from tests.conftest import until, write_skill


@pytest.fixture
def mine(store: SkillStore, workdir: Path, monkeypatch: pytest.MonkeyPatch, store_url: str) -> SkillStore:
    """The store that this process finds skills in, as ``ann``."""
    monkeypatch.setenv("JUPYTER_SKILLS_DB", store_url)
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "ann")
    return store


@pytest.fixture
def unreachable(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_SKILLS_DB", f"postgresql://nobody@/nothing?host={workdir}")


def a_skill(tmp_path: Path, name: str, description: str = "Does a thing.", body: str = "Do it.") -> Skill:
    return Skill.from_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")


async def test_a_stored_skill_is_found_by_id_by_name_and_by_version(mine: SkillStore, tmp_path: Path) -> None:
    made = await mine.create(a_skill(tmp_path, "kept", "First."))
    await mine.create_version(made.id, a_skill(tmp_path, "kept", "Second."), default=False)
    for reference, description in {
        f"store:{made.id}": "First.",
        f"store:{made.id}@2": "Second.",
        "store:kept": "First.",
        "store:kept@latest": "Second.",
        "store:kept@1": "First.",
        "kept": "First.",
    }.items():
        assert resolve(reference).description == description, reference
        assert named(reference).description == description
    assert str(resolve("kept").source) == f"store {made.id}@1"
    assert not resolve("kept").source.installed
    for wrong in ("store:nothing", "store:skill_nothing", "store:kept@3", "store:kept@x", "store:", "store:a\0b"):
        with pytest.raises(SkillNotFound):
            resolve(wrong)
    with pytest.raises(SkillNotFound, match=r"There is no skill 'kepd'\. Did you mean 'kept'\?"):
        resolve("kepd")


async def test_folders_come_first_then_own_then_shared_ones(mine: SkillStore, workdir: Path, tmp_path: Path) -> None:
    bobs = mine.for_user("bob")
    shared = await bobs.create(a_skill(tmp_path, "all-three", "Bob's."), visibility="shared")
    await bobs.create(a_skill(tmp_path, "hidden"))
    assert resolve("all-three").description == "Bob's."
    own = await mine.create(a_skill(tmp_path, "all-three", "Ann's."))
    assert resolve("all-three").description == "Ann's."
    folder = write_skill(workdir / ".agents/skills", "all-three", description="The folder's.")
    assert resolve("all-three").description == "The folder's."
    assert resolve(f"store:{shared.id}").description == "Bob's."
    listed = {str(found.source): found for found in available() if found.name == "all-three"}
    assert {source: found.problem for source, found in listed.items()} == {
        "project": "",
        f"store {own.id}@1": f"shadowed by the one in {folder}",
        f"store {shared.id}@1": f"shadowed by the one in {folder}",
    }
    (folder / "SKILL.md").unlink()
    listed = {str(found.source): found for found in available() if found.name == "all-three"}
    assert {source: found.problem for source, found in listed.items()} == {
        f"store {own.id}@1": "",
        f"store {shared.id}@1": f"shadowed by your own, store:{own.id}",
    }
    assert "hidden" not in [found.name for found in available()]
    with pytest.raises(SkillNotFound, match="There is no skill 'hidden'"):
        resolve("hidden")


async def test_a_broken_folder_is_told_rather_than_passed_over(mine: SkillStore, workdir: Path, tmp_path: Path) -> None:
    await mine.create(a_skill(tmp_path, "odd"))
    (write_skill(workdir / ".agents/skills", "odd") / "SKILL.md").write_text("nothing")
    with pytest.raises(InvalidSkill, match="no frontmatter"):
        resolve("odd")


async def test_words_find_what_lies_anywhere(mine: SkillStore, workdir: Path, tmp_path: Path) -> None:
    await mine.create(a_skill(tmp_path, "pdf-forms", "Fills in forms."))
    await mine.create(a_skill(tmp_path, "notes", body="Rare words: quagmire."))
    write_skill(workdir / ".agents/skills", "paper", description="Makes forms of paper.")
    found = {skill.name: skill for skill in candidates("forms")[0]}
    assert {"pdf-forms", "paper"} <= found.keys()
    assert "quagmire" in {skill.name: skill for skill in candidates("quagmire")[0]}["notes"].body


@pytest.mark.usefixtures("unreachable")
def test_a_store_that_can_not_be_reached_hinders_no_folder(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "near")
    assert resolve("near").name == "near"
    skills, problem = candidates("thing")
    assert "near" in [skill.name for skill in skills]
    assert isinstance(problem, StoreUnreachable)
    last = available()[-1]
    assert (last.name, last.skill) == ("store", None)
    assert "can't be used" in last.problem
    with pytest.raises(SkillNotFound, match="There is no skill 'far' in a folder, and the store can't be asked"):
        resolve("far")
    with pytest.raises(StoreUnreachable):
        resolve("store:far")


def test_looking_makes_no_store_and_imports_no_database(workdir: Path) -> None:
    code = """
import sys
from jupyter_skills.store.finding import available, candidates, resolve, stored_names
available(), candidates("x"), stored_names()
for word in ("nothing", "store:nothing"):
    try:
        resolve(word)
    except Exception as error:
        print(error)
print("sqlalchemy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[0].startswith("There is no skill 'nothing'.")
    assert done.stdout.splitlines()[1].startswith("There is no store yet to get 'store:nothing' from.")
    assert done.stdout.splitlines()[2] == "False", done.stderr
    assert not has_store()


async def test_a_name_is_never_a_path(mine: SkillStore, workdir: Path) -> None:
    write_skill(workdir, "here")
    assert resolve("here").name == "here"
    for path in ("here", "./here", str(workdir / "here"), "~/here", "here.zip", "SKILL.md"):
        with pytest.raises(SkillNotFound):
            named(path)


async def test_names_are_remembered_and_nobody_waits_for_a_database_that_does_not_answer(mine: SkillStore) -> None:
    answer = threading.Event()
    asked: list[int] = []

    def names() -> list[str]:
        asked.append(1)
        answer.wait()
        return ["kept"]

    remembered = Remembered(names, patience=0)
    assert remembered.get() == remembered.get() == []
    answer.set()
    until(lambda: remembered.get() == ["kept"])
    assert remembered.get() == ["kept"]
    assert asked == [1]
    await mine.create(a_skill(Path(), "kept"))
    assert stored_names() == ["kept"]


async def test_a_stored_skill_is_locked_by_id_and_version(mine: SkillStore, workdir: Path, tmp_path: Path) -> None:
    made = await mine.create(a_skill(tmp_path, "kept", "First."))
    entry = lock.LockEntry.of(resolve("kept"), workdir, pinned=True)
    lock.write([entry], workdir)
    assert (entry.path, entry.digest) == (f"store:{made.id}@1", resolve("kept").digest)
    await mine.create_version(made.id, a_skill(tmp_path, "kept", "Second."))
    found = lock.find_all(workdir, resolve)
    assert [(skill.description, of_it.pinned) for of_it, skill in found] == [("First.", True)]
    renewed = entry.renewed(workdir, resolve)
    assert (renewed.path, renewed.pinned) == (f"store:{made.id}@2", True)
    with pytest.raises(LockBroken, match="no store"):
        lock.find_all(workdir)


async def test_the_same_files_in_another_store_do_as_well(mine: SkillStore, workdir: Path, tmp_path: Path) -> None:
    made = await mine.create(a_skill(tmp_path, "kept", "First."))
    lock.write([lock.LockEntry.of(resolve("kept"), workdir)], workdir)
    await mine.delete(made.id)
    with pytest.raises(LockBroken, match=made.id):
        lock.find_all(workdir, resolve)
    await mine.create(a_skill(tmp_path, "kept", "First."))
    assert len(lock.find_all(workdir, resolve)) == 1
    await mine.delete((await mine.find("kept")).id)
    await mine.create(a_skill(tmp_path, "kept", "Other."))
    with pytest.raises(LockBroken, match="not the skill that was locked"):
        lock.find_all(workdir, resolve)
