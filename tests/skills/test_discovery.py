"""Finding a skill by its name."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

import pytest

from jupyter_skills.errors import InvalidSkill, SkillNotFound, UsageProblem
from jupyter_skills.skills.discovery import discover, resolve
from jupyter_skills.skills.discovery import index as index_module
from jupyter_skills.skills.discovery.index import SkillIndex
from jupyter_skills.skills.source import Source
from tests.conftest import until, write_skill

PLACES = [".agents/skills", "_agents/skills", ".claude/skills", ".jupyter/skills"]


def names(start: Path, index: SkillIndex | None = None) -> list[str]:
    return [found.name for found in discover(start, index) if found.source.kind != "package"]


def test_the_skill_that_comes_with_the_package_is_found_by_its_name(workdir: Path) -> None:
    skill = resolve("gif-maker")
    assert "GIF" in skill.description
    assert skill.source == Source("package", "jupyter-agent-skills")


@pytest.mark.parametrize("place", PLACES)
def test_project_folders_are_searched_from_the_notebook_up_to_the_project_root(workdir: Path, place: str) -> None:
    (workdir / ".git").mkdir()
    deep = workdir / "a" / "b"
    deep.mkdir(parents=True)
    write_skill(workdir / place, "mine")
    assert resolve("mine", deep).folder == workdir / place / "mine"


@pytest.mark.parametrize("place", [*PLACES, "jupyter_data_dir/skills"])
def test_the_user_s_folders_are_searched_everywhere(workdir: Path, home: Path, place: str) -> None:
    write_skill(home / place, "mine")
    assert resolve("mine").source == Source("user")


def test_nothing_above_the_project_root_is_searched(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "outside")
    (workdir / "project/.git").mkdir(parents=True)
    with pytest.raises(SkillNotFound):
        resolve("outside", workdir / "project")


def test_a_repository_of_the_home_folder_makes_no_project_of_all_that_is_in_it(home: Path) -> None:
    (home / ".git").mkdir()
    write_skill(home / ".agents/skills", "mine")
    (home / "deep").mkdir()
    assert resolve("mine", home / "deep").source == Source("user")


def test_the_nearer_comes_before_the_farther_and_the_shadowed_are_reported(workdir: Path, home: Path) -> None:
    (workdir / ".git").mkdir()
    (workdir / "deep").mkdir()
    write_skill(home / ".agents/skills", "mine", description="The user's.")
    write_skill(workdir / ".agents/skills", "mine", description="The project's.")
    write_skill(workdir / "deep/.claude/skills", "mine", description="The folder's.")
    write_skill(workdir / "deep/.agents/skills", "mine", description="The folder's first.")
    assert resolve("mine", workdir / "deep").description == "The folder's first."
    found = [entry for entry in discover(workdir / "deep") if entry.name == "mine"]
    assert [entry.skill.description for entry in found if entry.skill] == [
        *["The folder's first.", "The folder's.", "The project's.", "The user's."]
    ]
    assert found[0].problem == ""
    assert all(f"shadowed by the one in {found[0].folder}" in entry.problem for entry in found[1:])


def test_folders_of_the_environment_are_searched_and_may_be_skills_themselves(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill(workdir / "extra", "mine")
    write_skill(workdir, "single")
    paths = [workdir / "nowhere", workdir / "extra", workdir / "single"]
    monkeypatch.setenv("JUPYTER_SKILLS_PATH", os.pathsep.join(map(str, paths)))
    assert resolve("mine").source == resolve("single", workdir.parent).source == Source("path")


def installed(folder: Path, name: str) -> Path:
    """A package that ships a skill and must not be imported, with the facts that an installer leaves beside it."""
    package = folder / f"{name}_package"
    write_skill(package / "skills", f"{name}-skill")
    for place in (package, package / "skills"):
        (place / "__init__.py").write_text("raise SystemExit('imported')")
    facts = folder / f"{name}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        f"[jupyter_skills.skills]\nmine = {name}_package.skills\ngone = no_such_package.skills\nodd = .\n"
    )
    return package


@pytest.mark.parametrize("entry", ["relative/skills", ".", "~nobody-of-that-name/skills"])
def test_an_entry_of_the_environment_that_says_no_place_is_passed_over(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    write_skill(workdir / "relative/skills", "mine")
    write_skill(workdir, "other")
    monkeypatch.setenv("JUPYTER_SKILLS_PATH", entry)
    assert names(workdir) == []


def test_packages_are_searched_without_importing_them(
    tmp_path_factory: pytest.TempPathFactory, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = tmp_path_factory.mktemp("site")
    installed(installation, "loud")
    monkeypatch.setattr(site, "USER_SITE", str(installation))
    monkeypatch.syspath_prepend(str(installation))
    assert resolve("loud-skill").source == Source("package", "loud")
    assert "loud_package" not in sys.modules


@pytest.mark.parametrize("notebook", [".", "nb"])
def test_a_package_that_no_installer_put_there_is_what_its_folder_is_whatever_it_says_of_itself(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, notebook: str
) -> None:
    installed(workdir, "evil")
    (workdir / "nb").mkdir()
    monkeypatch.chdir(workdir / notebook)
    monkeypatch.syspath_prepend(
        str(workdir)
    )  # as Python does with the folder a kernel starts in, and people do by hand
    assert resolve("evil-skill").source == Source("project" if notebook == "." else "folder")


def test_facts_of_an_installed_package_do_not_speak_for_a_folder_of_its_name_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = tmp_path_factory.mktemp("site")
    installed(installation, "loud")
    write_skill(workdir / "loud_package/skills", "false")
    (workdir / "loud_package/__init__.py").touch()
    monkeypatch.setattr(site, "USER_SITE", str(installation))
    monkeypatch.syspath_prepend(str(installation))
    monkeypatch.syspath_prepend(str(workdir))
    assert resolve("false").source == Source("project")


def test_skills_lie_at_any_depth_that_makes_sense_but_not_within_others(workdir: Path) -> None:
    root = workdir / ".agents/skills"
    write_skill(root / "group" / "more", "deep")
    write_skill(root, "outer")
    write_skill(root / "outer" / "examples", "inner")
    for junk in ("node_modules", ".git", "__pycache__", ".venv"):
        write_skill(root / junk, "junk")
    write_skill(root / Path(*"abcdefg"), "too-deep")
    assert names(workdir) == ["deep", "outer"]


def test_of_a_huge_tree_only_the_first_folders_are_looked_at_and_that_is_said(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MOST_FOLDERS", 5)
    for i in range(9):
        write_skill(workdir / ".agents/skills", f"skill-{i}")
    found = discover(workdir, SkillIndex())
    assert [entry.name for entry in found if entry.skill][:4] == [f"skill-{i}" for i in range(4)]
    assert any("only that many were looked at" in entry.problem for entry in found)


def test_links_are_followed_once_and_loops_end(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "mine")
    (workdir / ".agents/skills/loop").symlink_to(workdir / ".agents")
    (workdir / ".claude").mkdir()
    (workdir / ".claude/skills").symlink_to(workdir / ".agents/skills")
    assert names(workdir) == ["mine"]


def test_a_project_can_link_to_a_skill_but_not_have_the_machine_searched(workdir: Path) -> None:
    (workdir / "project/.git").mkdir(parents=True)
    write_skill(workdir / "elsewhere", "linked")
    write_skill(workdir / "elsewhere/more", "beside")
    root = workdir / "project/.agents/skills"
    root.mkdir(parents=True)
    (root / "linked").symlink_to(workdir / "elsewhere/linked")
    (root / "all").symlink_to("/")
    (root / "above").symlink_to(workdir / "elsewhere")
    assert names(workdir / "project") == ["linked"]


def test_a_broken_skill_hides_no_other_and_says_why_it_can_not_be_loaded(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "good")
    broken = workdir / ".agents/skills/broken"
    broken.mkdir()
    (broken / "SKILL.md").write_text("nothing")
    assert resolve("good")
    with pytest.raises(InvalidSkill, match=r"'broken' can't be loaded: .* no frontmatter\. A SKILL") as caught:
        resolve("broken")
    assert str(caught.value).count("SKILL.md begins") == 1


def test_a_broken_skill_is_no_shadow_over_a_good_one_of_the_same_name(workdir: Path, home: Path) -> None:
    broken = write_skill(workdir / ".agents/skills", "mine") / "SKILL.md"
    broken.write_text("nothing")
    write_skill(home / ".agents/skills", "mine", description="The user's.")
    assert resolve("mine").description == "The user's."


def test_a_fifo_in_place_of_a_manifest_holds_nobody_up(workdir: Path) -> None:
    folder = workdir / ".agents/skills/trap"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "SKILL.md")
    assert names(workdir) == []


def test_names_are_compared_as_the_specification_does(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "cafe\u0301")
    assert resolve("café").name == resolve("cafe\u0301").name == "café"


def test_a_skill_whose_name_is_unlike_its_folder_s_is_found_by_both(workdir: Path) -> None:
    write_skill(workdir / ".agents/skills", "folder")
    (workdir / ".agents/skills/folder/SKILL.md").write_text("---\nname: Other Name\ndescription: x\n---\n")
    assert resolve("Other-Name").name == resolve("folder").name == "Other-Name"


def test_a_slip_of_the_pen_is_answered_with_the_right_name(workdir: Path) -> None:
    with pytest.raises(SkillNotFound, match="Did you mean 'gif-maker'"):
        resolve("gif-makr")


def test_words_that_look_like_paths_are_paths(workdir: Path) -> None:
    write_skill(workdir, "here")
    assert resolve("./here").name == resolve("here").name == resolve("here/SKILL.md").name == "here"
    with pytest.raises(SkillNotFound, match="no folder"):
        resolve("./gif-maker")
    (workdir / "here/SKILL.md").write_text("broken")
    with pytest.raises(InvalidSkill):
        resolve("here")


def test_a_path_says_where_a_skill_comes_from_as_its_name_would(workdir: Path, home: Path) -> None:
    (workdir / "project/.git").mkdir(parents=True)
    paths = {
        write_skill(workdir / "project/.agents/skills", "a"): Source("project"),
        write_skill(workdir / "project/anywhere", "b"): Source("project"),
        write_skill(workdir / "elsewhere", "c"): Source("folder"),
        write_skill(home / ".claude/skills", "d"): Source("user"),
    }
    for path, source in paths.items():
        assert resolve(str(path), workdir / "project").source == source


def test_archives_are_taken_by_their_path(workdir: Path) -> None:
    skill = resolve(str(write_skill(workdir, "packed")))
    for name in ("packed.zip", "PACKED.SKILL"):
        (workdir / name).write_bytes(skill.to_zip())
        assert resolve(name).source == Source("archive", name)
    with pytest.raises(SkillNotFound, match=r"nothing\.zip"):
        resolve("nothing.zip")
    write_skill(workdir, "a.skill")
    assert resolve("./a.skill").folder == workdir / "a.skill", "a folder is no archive"
    with pytest.raises(UsageProblem, match="no home for"):
        resolve("~nobody-of-that-name/x.zip")


def test_what_changes_is_seen_at_the_next_look_and_nothing_else_is_read(workdir: Path) -> None:
    root, index = workdir / ".agents/skills", SkillIndex()
    write_skill(root, "one")
    write_skill(root, "two")
    until(lambda: again(workdir, index) == again(workdir, index))  # what has just been written is not relied on
    first = again(workdir, index)
    write_skill(root / "group", "three")
    (root / "two/SKILL.md").unlink()
    (root / "one/SKILL.md").write_text("---\nname: one\ndescription: New.\n---\n")
    now = again(workdir, index)
    assert sorted(now) == ["gif-maker", "one", "three"]
    assert now["gif-maker"] == first["gif-maker"]
    assert now["one"] != first["one"]
    assert resolve("one").description == "New."


def again(start: Path, index: SkillIndex) -> dict[str, int]:
    """Which object stands for each skill."""
    return {found.name: id(found.skill) for found in discover(start, index)}
