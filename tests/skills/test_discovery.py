"""Finding a skill by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_skills.errors import InvalidSkill, SkillNotFound
from jupyter_skills.skills.discovery import discover, resolve
from tests.conftest import write_skill


def test_the_skill_that_comes_with_the_package_is_found_by_its_name(workdir: Path) -> None:
    assert "GIF" in resolve("gif-maker").description


@pytest.mark.parametrize("place", [".agents/skills", "_agents/skills", ".claude/skills", ".jupyter/skills"])
def test_project_folders_are_searched_from_the_notebook_up_to_the_project_root(workdir: Path, place: str) -> None:
    (workdir / ".git").mkdir()
    deep = workdir / "a" / "b"
    deep.mkdir(parents=True)
    write_skill(workdir / place, "mine")
    assert resolve("mine", deep).folder == workdir / place / "mine"


def test_nothing_above_the_project_root_is_searched(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "outside")
    (workdir / "project/.git").mkdir(parents=True)
    with pytest.raises(SkillNotFound):
        resolve("outside", workdir / "project")


def test_the_project_comes_before_the_user_and_the_shadowed_one_is_reported(workdir: Path, home: Path) -> None:
    write_skill(home / ".agents/skills", "mine", description="The user's.")
    write_skill(workdir / ".agents/skills", "mine", description="The project's.")
    assert resolve("mine").description == "The project's."
    first, second = (found for found in discover() if found.name == "mine")
    assert (first.source, first.problem) == ("project", "")
    assert second.source == "user"
    assert "shadowed" in second.problem


def test_folders_of_the_environment_are_searched(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(workdir / "extra", "mine")
    monkeypatch.setenv("JUPYTER_SKILLS_PATH", f"{workdir / 'nowhere'}:{workdir / 'extra'}")
    assert resolve("mine").folder == workdir / "extra" / "mine"


def test_a_broken_skill_hides_no_other_and_says_why_it_can_not_be_loaded(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "good")
    broken = workdir / ".agents/skills/broken"
    broken.mkdir()
    (broken / "SKILL.md").write_text("nothing")
    assert resolve("good")
    with pytest.raises(SkillNotFound, match=r"'broken' can't be loaded: .* no frontmatter"):
        resolve("broken")


def test_a_slip_of_the_pen_is_answered_with_the_right_name(workdir: Path) -> None:
    with pytest.raises(SkillNotFound, match="Did you mean 'gif-maker'"):
        resolve("gif-makr")


def test_words_that_look_like_paths_are_paths(workdir: Path) -> None:
    write_skill(workdir, "here")
    assert resolve("./here").name == resolve("here").name == "here"
    with pytest.raises(SkillNotFound, match="no folder"):
        resolve("./gif-maker")
    (workdir / "here/SKILL.md").write_text("broken")
    with pytest.raises(InvalidSkill):
        resolve("here")
