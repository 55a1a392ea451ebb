"""The skills in force."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_skills import Registry, Skill
from jupyter_skills.errors import SkillNotFound
from tests.conftest import write_skill


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
