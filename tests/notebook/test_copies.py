"""Skills' files laid out for the live kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.notebook.copies import SkillCopies
from tests.conftest import write_skill


@pytest.fixture
def copies() -> Iterator[SkillCopies]:
    copies = SkillCopies()
    yield copies
    copies.clear()


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = write_skill(tmp_path, "mine")
    (folder / "run.sh").write_text("echo first\n")
    (folder / "helper.py").write_text("NAME = 'mine'\n")
    return Skill.from_path(folder).snapshot()


def test_a_copy_is_made_once_and_goes_with_the_session(copies: SkillCopies, skill: Skill) -> None:
    folder = Path(copies.lay_out(skill))
    before = os.stat(folder).st_ino
    assert (folder / "run.sh").read_text() == "echo first\n"
    assert copies.lay_out(skill) == str(folder)
    assert os.stat(folder).st_ino == before
    copies.clear()
    assert not folder.exists()


@pytest.mark.parametrize("change", ["changed", "new", "gone", "compiled", "link", "folder", "mode"])
def test_a_copy_that_anything_has_changed_is_made_anew(copies: SkillCopies, skill: Skill, change: str) -> None:
    folder = Path(copies.lay_out(skill))
    match change:
        case "changed":
            (folder / "run.sh").write_text("echo second\n")
        case "new":
            (folder / "json.py").write_text("raise SystemExit")
        case "gone":
            (folder / "helper.py").unlink()
        case "compiled":
            (folder / "__pycache__").mkdir()
            (folder / "__pycache__/helper.cpython-311.pyc").write_bytes(b"evil")
        case "mode":
            (folder / "run.sh").chmod(0o755)
        case "link":
            (folder / "run.sh").unlink()
            (folder / "run.sh").symlink_to("/bin/true")
        case "folder":
            (folder / "helper.py").unlink()
            (folder / "helper.py").mkdir()
    copies.lay_out(skill)
    assert sorted(path.name for path in folder.iterdir()) == ["SKILL.md", "helper.py", "run.sh"]
    assert Skill.from_path(folder).digest == skill.digest


def test_what_a_killed_kernel_left_behind_is_cleared_away_by_the_next(copies: SkillCopies, skill: Skill) -> None:
    code = "import os, tempfile; print(tempfile.mkdtemp(prefix=f'jupyter-skills-copies-{os.getpid()}-'))"
    left = Path(subprocess.check_output([sys.executable, "-c", code], text=True).strip())
    assert left.is_dir()
    mine = Path(copies.lay_out(skill))
    assert not left.exists()
    other = SkillCopies()
    assert Path(other.lay_out(skill)) != mine
    other.clear()
    assert mine.is_dir(), "what is in use stays"
