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
