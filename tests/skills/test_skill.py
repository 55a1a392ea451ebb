"""Reading a skill."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.errors import InvalidSkill, SkillNotFound
from tests.conftest import write_skill


def skill_with(folder: Path, text: str | bytes) -> Skill:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return Skill.from_path(folder)


def test_a_skill_is_its_frontmatter_and_its_body(tmp_path: Path) -> None:
    skill = skill_with(tmp_path, "---\nname: x\ndescription: Makes\n  x.\nlicense: MIT\n---\n\n# X\n\nDo --- it.\n")
    assert (skill.name, skill.description, skill.body) == ("x", "Makes x.", "# X\n\nDo --- it.")
    assert skill.metadata == {"license": "MIT"}


def test_the_path_may_be_that_of_the_manifest(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    assert Skill.from_path(tmp_path / "x" / "SKILL.md").folder == tmp_path / "x"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\nname: x\ndescription: y\n---\nz",
        "---\r\nname: x\r\ndescription: y\r\n---\r\nz",
        "---   \nname: x\ndescription: y\n---  \nz",
    ],
    ids=["byte order mark", "Windows line ends", "trailing spaces"],
)
def test_what_editors_leave_behind_is_tolerated(tmp_path: Path, text: str) -> None:
    skill = skill_with(tmp_path, text)
    assert (skill.name, skill.description, skill.body) == ("x", "y", "z")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no frontmatter"),
        ("# Just Markdown", "no frontmatter"),
        ("---\nname: x\n", "no end"),
        ("---\nname: x\ndescription: a: b: c\n---\n", "not valid YAML in line 3"),
        ("---\n- a\n- b\n---\n", "not a list of 'key: value'"),
        ("---\nname: x\n---\n", "no usable 'description:'"),
        ("---\nname: x\ndescription: '  '\n---\n", "no usable 'description:'"),
        ("---\nname: [x]\ndescription: y\n---\n", "no usable 'name:'"),
        ("---\nname: !!python/object/apply:os.system [id]\ndescription: y\n---\n", "not valid YAML in line 2"),
        ("---\nname: ..\ndescription: y\n---\n", r"The name '\.\.' can't be a skill's"),
        ("---\nname: a/b\ndescription: y\n---\n", "can't be a skill's"),
        ("---\nname: x\ndescription: !!bool foo\n---\n", "not valid YAML"),
        (b"---\nname: \xff\xfe\n---\n", "not UTF-8"),
    ],
)
def test_a_broken_manifest_is_refused_with_its_reason(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(InvalidSkill, match=says) as caught:
        skill_with(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_path_without_a_manifest_says_what_a_skill_is(tmp_path: Path) -> None:
    with pytest.raises(SkillNotFound, match=r"no SKILL\.md .* A skill is a folder"):
        Skill.from_path(tmp_path)
    with pytest.raises(SkillNotFound, match="no folder"):
        Skill.from_path(tmp_path / "nowhere")


def test_files_are_listed_without_rubbish_and_without_links(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    for path in ("scripts/run.sh", "b.txt", "__pycache__/b.pyc", ".git/config"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("?")
    (folder / "link").symlink_to("/etc/passwd")
    assert Skill.from_path(folder).files() == ["SKILL.md", "b.txt", "scripts/run.sh"]


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "", ".", "nothing", "a/../../secret"])
def test_only_its_own_files_can_be_read(tmp_path: Path, path: str) -> None:
    folder = write_skill(tmp_path, "x")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(SkillNotFound, match="has no file"):
        Skill.from_path(folder).read(path)


def test_a_file_is_read_by_the_path_it_is_listed_under(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "a.bin").write_bytes(b"\0\1")
    assert Skill.from_path(folder).read("./a.bin") == b"\0\1"


def test_the_same_files_have_the_same_digest_and_others_another(tmp_path: Path) -> None:
    one, two = (Skill.from_path(write_skill(tmp_path / side, "x")) for side in "ab")
    os.utime(two.folder / "SKILL.md", (1, 1))
    assert one.digest == two.digest
    (two.folder / "SKILL.md").chmod(0o755)
    assert one.digest != two.digest
    (one.folder / "more").touch()
    assert one.digest != two.digest


def test_the_tar_keeps_paths_bytes_and_executable_bits(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "scripts").mkdir()
    (folder / "scripts/ün.sh").write_text("#!/bin/sh\n")
    (folder / "scripts/ün.sh").chmod(0o755)
    with tarfile.open(fileobj=io.BytesIO(Skill.from_path(folder).to_tar())) as archive:
        modes = {member.name: member.mode for member in archive}
    assert modes == {"SKILL.md": 0o644, "scripts/ün.sh": 0o755}


def test_placeholders_for_the_skill_folder_are_filled_in(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x", body="run {baseDir}/a, ${CLAUDE_SKILL_DIR}/b; keep {this} and ${that}")
    text = Skill.from_path(folder).instructions("/skills/x")
    assert text == "run /skills/x/a, /skills/x/b; keep {this} and ${that}"
