"""Which files of its folder live code is said to have made."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_skills.notebook.live.files import FolderBefore

_MUCH = 1_000_000


def test_what_is_new_or_changed_is_told_but_no_notebook(workdir: Path) -> None:
    (workdir / "old").write_text("a")
    (workdir / "kept").write_text("a")
    before = FolderBefore()
    (workdir / "old").write_text("ab")
    (workdir / "new").write_text("a")
    (workdir / "other.ipynb").write_text("{}")
    assert [file.path for file in before.changed(_MUCH)] == ["new", "old"]


def test_where_there_are_too_many_files_none_is_told(workdir: Path) -> None:
    for number in range(2_001):
        (workdir / str(number)).touch()
    before = FolderBefore()
    for number in range(300):
        (workdir / str(number)).unlink()
    assert before.changed(_MUCH) == ()


def test_a_folder_that_is_gone_is_no_error(workdir: Path) -> None:
    (workdir / "gone").mkdir()
    os.chdir(workdir / "gone")
    (workdir / "gone").rmdir()
    assert FolderBefore().changed(_MUCH) == ()
