"""The lock: which skills a notebook was written with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.errors import LockBroken, SkillNotFound
from jupyter_skills.skills.discovery import resolve
from jupyter_skills.skills.lock import LOCK_FILE, LockEntry, find_all, read, write
from tests.conftest import write_skill


@pytest.fixture
def project(workdir: Path) -> Path:
    (workdir / ".git").mkdir()
    folder = write_skill(workdir / ".agents/skills", "mine")
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: x\nmetadata:\n  version: 1.10\n---\nDo.")
    (folder / "run.sh").write_text("echo\n")
    return workdir


def lock(project: Path, *references: str) -> None:
    write([LockEntry.of(resolve(reference, project), project) for reference in references], project)


def test_a_lock_names_each_skill_with_version_digest_source_and_files(project: Path) -> None:
    lock(project, "mine", "gif-maker")
    content = json.loads((project / LOCK_FILE).read_text())
    mine, gif = content["skills"]
    assert (mine["name"], mine["version"], mine["source"], mine["path"]) == (
        *["mine", "1.10", "project", ".agents/skills/mine"],
    )
    assert mine["digest"] == resolve("mine").digest
    assert sorted(mine["files"]) == ["SKILL.md", "run.sh"]
    assert (gif["source"], gif["path"]) == ("package jupyter-agent-skills", "")


def test_the_same_skills_make_the_same_lock(project: Path) -> None:
    lock(project, "mine")
    before = (project / LOCK_FILE).read_bytes()
    lock(project, "mine")
    assert (project / LOCK_FILE).read_bytes() == before
    assert str(project).encode() not in before, "it works in another clone"


def test_unchanged_skills_are_found_again_in_order_with_how_they_were_loaded(project: Path) -> None:
    entries = [
        LockEntry.of(resolve("gif-maker"), project, pinned=True),
        LockEntry.of(resolve("mine"), project, run="live"),
    ]
    write(entries, project)
    found = find_all(project)
    assert [(entry.name, entry.pinned, entry.run) for entry, _ in found] == [
        ("gif-maker", True, ""),
        ("mine", False, "live"),
    ]
    assert [skill.name for _, skill in found] == ["gif-maker", "mine"]


def test_a_changed_skill_is_refused_with_what_changed(project: Path) -> None:
    lock(project, "mine")
    folder = project / ".agents/skills/mine"
    (folder / "run.sh").chmod(0o755)
    (folder / "new.txt").touch()
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: y\n---\n")
    with pytest.raises(LockBroken, match=r"'mine' is not .* changed: SKILL\.md, run\.sh; new: new\.txt") as caught:
        find_all(project)
    assert "freeze" in caught.value.next_step
    (folder / "run.sh").unlink()
    with pytest.raises(LockBroken, match=r"gone: run\.sh"):
        find_all(project)


def test_all_that_is_wrong_is_said_at_once(project: Path) -> None:
    write_skill(project / ".agents/skills", "other")
    lock(project, "mine", "other")
    (project / ".agents/skills/mine/new").touch()
    (project / ".agents/skills/other/SKILL.md").unlink()
    with pytest.raises(LockBroken) as caught:
        find_all(project)
    assert "'mine' is not the skill" in caught.value.message
    assert "other" in caught.value.message


def test_archives_and_folders_nearby_are_found_by_their_path(project: Path) -> None:
    (project / "a.zip").write_bytes(Skill.from_path(write_skill(project / "b", "zipped")).to_zip())
    lock(project, "a.zip", "./b/zipped")
    assert [entry.path for entry in read(project)] == ["a.zip", "b/zipped"]
    assert [skill.name for _, skill in find_all(project)] == ["zipped", "zipped"]


def test_what_nobody_could_find_again_can_not_be_locked(project: Path) -> None:
    for skill in (
        Skill.from_text("---\nname: x\ndescription: y\n---\n"),
        Skill.from_zip(Skill.from_path(project / ".agents/skills/mine").to_zip()),
    ):
        with pytest.raises(LockBroken, match="no files that could be found again"):
            LockEntry.of(skill, project)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "There is no 'jupyter-skills.lock'"),
        ("", "is not a lock"),
        ("[]", "is not a lock"),
        ('{"format": 1}', "is not a lock"),
        ('{"format": 1, "skills": [3]}', "is not a lock"),
        ('{"format": 1, "skills": [{"name": "x"}]}', "is not a lock"),
        ('{"format": 1, "skills": [{"name": 1, "digest": "y", "files": {}}]}', "is not a lock"),
        ('{"format": 1, "skills": [{"name": "x", "digest": "y", "files": {}, "run": "there"}]}', "is not a lock"),
        ('{"format": 1, "skills": [{"name": "x", "digest": "y", "files": {}, "pinned": "no"}]}', "is not a lock"),
        ('{"format": 2, "skills": []}', "was made by a later release"),
        ("\x00", "is not a lock"),
    ],
)
def test_a_lock_that_is_none_is_refused(project: Path, text: str | None, says: str) -> None:
    if text is not None:
        (project / LOCK_FILE).write_text(text)
    with pytest.raises(LockBroken, match=says) as caught:
        find_all(project)
    assert caught.value.next_step


def test_a_lock_that_can_not_be_written_says_so(project: Path) -> None:
    (project / LOCK_FILE).mkdir()
    with pytest.raises(LockBroken, match="can't be written"):
        lock(project, "mine")
    assert not list(project.glob(".jupyter-skills*"))


def test_a_lock_whose_skill_is_gone_says_where_it_was(project: Path) -> None:
    lock(project, "mine")
    content = json.loads((project / LOCK_FILE).read_text())
    content["skills"][0]["path"] = "/nowhere"
    (project / LOCK_FILE).write_text(json.dumps(content))
    with pytest.raises((LockBroken, SkillNotFound), match="nowhere"):
        find_all(project)
