"""Reading a skill: from a folder, an archive or text."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_skills import Skill
from jupyter_skills.errors import InvalidArchive, InvalidSkill, SkillNotFound, SkillProblem
from jupyter_skills.skills.files import FileEntry, FolderFiles, MemoryFiles
from jupyter_skills.skills.source import FOLDER, TEXT, Source
from tests.conftest import write_skill


def skill_with(folder: Path, text: str | bytes) -> Skill:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return Skill.from_path(folder)


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def test_a_skill_is_its_frontmatter_its_body_and_its_files(tmp_path: Path) -> None:
    text = (
        "---\nname: x\ndescription: Makes\n  x.\nlicense: MIT\ncompatibility: Needs y\nallowed-tools: Read Bash(a:*)\n"
        "metadata:\n  version: 1.10\n  nested: {a: b}\nvendor: z\n---\n\n# X\n\nDo --- it.\n"
    )
    skill = skill_with(tmp_path / "x", text)
    assert (skill.name, skill.description, skill.body) == ("x", "Makes x.", "# X\n\nDo --- it.")
    assert (skill.license, skill.compatibility, skill.allowed_tools) == ("MIT", "Needs y", "Read Bash(a:*)")
    assert skill.metadata == {"version": "1.10"}
    assert (skill.body_line, skill.lines["vendor"]) == (14, 11)
    assert (skill.folder, skill.source, skill.tools) == (tmp_path / "x", FOLDER, ())


def test_the_path_may_be_that_of_the_manifest(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    assert Skill.from_path(tmp_path / "x" / "SKILL.md").folder == tmp_path / "x"


def test_the_path_may_begin_in_the_home_or_be_a_link_or_relative(workdir: Path, home: Path) -> None:
    write_skill(home, "x")
    (workdir / "link").symlink_to(home / "x")
    assert [Skill.from_path(path).name for path in ("~/x", "link", "./link")] == ["x", "x", "x"]
    assert Skill.from_path("link").folder == home / "x"
    assert Skill.from_path("link").problems == ()


# SKILL.md in a folder 'box'; the name, the description and the problems that it is loaded with.
LENIENT = {
    "byte-order mark": ("\ufeff---\nname: box\ndescription: y\n---\nz", "box", "y", {"byte-order-mark"}),
    "Windows line ends": ("---\r\nname: box\r\ndescription: y\r\n---\r\nz", "box", "y", {"line-ends"}),
    "blanks behind the fences": ("---   \nname: box\ndescription: y\n---  \nz", "box", "y", set()),
    "blank line above": ("\n---\nname: box\ndescription: y\n---\nz", "box", "y", {"frontmatter-start"}),
    "unquoted colon": ("---\nname: box\ndescription: a: b: c\n---\nz", "box", "a: b: c", {"yaml-quotes"}),
    "stray byte": (b"---\nname: box\ndescription: y\n---\nz\xff", "box", "y", {"encoding"}),
    "no name": ("---\ndescription: y\n---\nz", "box", "y", {"name-missing"}),
    "empty name": ("---\nname:\ndescription: y\n---\nz", "box", "y", {"name-blank"}),
    "list as name": ("---\nname: [x]\ndescription: y\n---\nz", "box", "y", {"name-type"}),
    "map as name": ("---\nname: {a: b}\ndescription: y\n---\nz", "box", "y", {"name-type"}),
    "number as name": ("---\nname: 1.10\ndescription: y\n---\nz", "1.10", "y", {"name-characters", "name-directory"}),
    "other name": ("---\nname: other\ndescription: y\n---\nz", "other", "y", {"name-directory"}),
    "name with blanks": (
        *("---\nname: My Box\ndescription: y\n---\nz", "My-Box", "y"),
        {"name-case", "name-characters", "name-directory"},
    ),
    "name that leads out": (
        *("---\nname: ../../etc\ndescription: y\n---\nz", "etc", "y"),
        {"name-characters", "name-directory"},
    ),
    "name of dots": ("---\nname: ..\ndescription: y\n---\nz", "box", "y", {"name-characters", "name-directory"}),
    "name with a line break": (
        *('---\nname: "a\\nb"\ndescription: y\n---\nz', "a-b", "y"),
        {"name-characters", "name-directory"},
    ),
    "very long name": (
        f"---\nname: {'n' * 300}\ndescription: y\n---\n",
        "n" * 200,
        "y",
        {"name-length", "name-directory"},
    ),
    "very long wide name": (
        *(f"---\nname: {'技' * 100}\ndescription: y\n---\n", "技" * 66, "y"),
        {"name-length", "name-directory"},
    ),
    "list as description": ("---\nname: box\ndescription: [a, b]\n---\nz", "box", "a b", {"description-type"}),
    "long description": (
        f"---\nname: box\ndescription: {'y' * 2000}\n---\n",
        "box",
        "y" * 2000,
        {"description-length"},
    ),
    "vendor field": ("---\nname: box\ndescription: y\nversion: 1\n---\nz", "box", "y", {"unknown-field"}),
    "field twice": ("---\nname: a\ndescription: y\nname: box\n---\nz", "box", "y", {"duplicate-field"}),
    "odd tools": ("---\nname: box\ndescription: y\ntools: 5\n---\nz", "box", "y", {"unknown-field", "tools-type"}),
}


@pytest.mark.parametrize(("text", "name", "description", "rules"), LENIENT.values(), ids=LENIENT)
def test_these_are_loaded_with_the_problem_noted(
    tmp_path: Path, text: str | bytes, name: str, description: str, rules: set[str]
) -> None:
    skill = skill_with(tmp_path / "box", text)
    assert (skill.name, skill.description) == (name, description)
    assert {problem.rule for problem in skill.problems} == rules
    assert len(name.encode()) < 255


@pytest.mark.parametrize(
    ("field", "terms", "allowed", "metadata"),
    [
        ("license: [MIT, Apache-2.0]", "MIT, Apache-2.0", None, {}),
        ("license: {a: b}", None, None, {}),
        ("license: '  '", None, None, {}),
        ("license: 2.0", "2.0", None, {}),
        ("allowed-tools: [Read, 'Bash(git:*)', [x], 5]", None, ["Read", "Bash(git:*)", "5"], {}),
        ("allowed-tools: {Read: yes, Write: no}", None, ["Read", "Write"], {}),
        ("allowed-tools:", None, "", {}),
        ("metadata: text", None, None, {}),
        ("metadata: {a: [b], c: 1.0, on: yes, d: }", None, None, {"c": "1.0", "on": "yes", "d": ""}),
    ],
)
def test_fields_of_another_kind_are_read_as_far_as_they_make_sense(
    tmp_path: Path, field: str, terms: str | None, allowed: object, metadata: dict[str, str]
) -> None:
    skill = skill_with(tmp_path / "x", f"---\nname: x\ndescription: y\n{field}\n---\nz")
    assert (skill.license, skill.allowed_tools, skill.metadata) == (terms, allowed, metadata)


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_the_manifest_may_be_spelled_otherwise(tmp_path: Path, name: str) -> None:
    (write_skill(tmp_path, "x") / "SKILL.md").rename(tmp_path / "x" / name)
    assert Skill.from_path(tmp_path / "x").name == "x"
    assert Skill.from_path(tmp_path / "x").snapshot().name == "x"


def test_of_two_spellings_that_of_the_specification_counts(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    (tmp_path / "x" / "skill.md").write_text("---\nname: y\ndescription: y\n---\n")
    skill = Skill.from_path(tmp_path / "x")
    assert (skill.name, skill.snapshot().name) == ("x", "x")


REFUSED = {
    "nothing": ("", "no frontmatter"),
    "no frontmatter": ("# Just Markdown", "no frontmatter"),
    "no end": ("---\nname: x\n", "no end"),
    "list": ("---\n- a\n- b\n---\n", "not a list of 'key: value'"),
    "no YAML": ("---\nname: x\nwords\nmore: y\n---\n", "not valid YAML in line 4"),
    "no description": ("---\nname: x\n---\n", "no usable 'description:'"),
    "empty description": ("---\nname: x\ndescription:\n---\n", "no usable 'description:'"),
    "blank description": ("---\nname: x\ndescription: '  '\n---\n", "no usable 'description:'"),
    "map as description": ("---\nname: x\ndescription: {a: b}\n---\n", "no usable 'description:'"),
    "nested description": ("---\nname: x\ndescription: [a, [b]]\n---\n", "no usable 'description:'"),
    "object": ("---\nname: !!python/object/apply:os.system [id]\ndescription: y\n---\n", "not valid YAML in line 2"),
    "byte in the frontmatter": (b"---\nname: \xff\xfe\n---\n", "not UTF-8"),
}


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED)
def test_these_are_refused_with_the_reason_the_place_and_what_to_do(
    tmp_path: Path, text: str | bytes, says: str
) -> None:
    with pytest.raises(InvalidSkill, match=says) as caught:
        skill_with(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.next_step


def test_a_skill_that_no_name_can_be_made_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSkill, match="no usable name"):
        skill_with(tmp_path / "😀", "---\nname: '?!'\ndescription: y\n---\n")


def test_a_path_without_a_manifest_says_what_a_skill_is(tmp_path: Path) -> None:
    with pytest.raises(SkillNotFound, match=r"no SKILL\.md .* A skill is a folder"):
        Skill.from_path(tmp_path)


@pytest.mark.parametrize("path", ["nowhere", "nowhere/SKILL.md", "~nobody-here/x", "a\0b", "y" * 5000, "file", ""])
def test_a_path_to_nothing_is_said_to_lead_nowhere(workdir: Path, path: str) -> None:
    (workdir / "file").touch()
    with pytest.raises(SkillNotFound):
        Skill.from_path(path)


def test_a_manifest_that_is_no_plain_file_is_not_read_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("folder", "pipe", "dangling", "linked"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / "SKILL.md").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    (tmp_path / "dangling" / "SKILL.md").symlink_to("nowhere")
    (tmp_path / "linked" / "SKILL.md").symlink_to(write_skill(tmp_path, "x") / "SKILL.md")
    for name in ("folder", "pipe", "dangling"):
        with pytest.raises(SkillNotFound, match=r"no SKILL\.md"):
            Skill.from_path(tmp_path / name)
    with pytest.raises(InvalidSkill, match="it is a link"):
        Skill.from_path(tmp_path / "linked")


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "nothing"])
def test_a_file_that_became_something_else_is_an_error_and_nothing_to_wait_for(tmp_path: Path, kind: str) -> None:
    place = write_skill(tmp_path, "x") / "a"
    if kind == "link":
        place.symlink_to("SKILL.md")
    elif kind != "nothing":
        {"pipe": os.mkfifo, "folder": os.mkdir}[kind](place)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(InvalidSkill, match=r"'a' in .* can't be read"):
        FolderFiles(tmp_path / "x").entry("a")
    assert len(os.listdir("/proc/self/fd")) == before


def test_text_alone_is_a_skill_without_files_of_its_own() -> None:
    skill = Skill.from_text("---\nname: x\ndescription: y\n---\nz {baseDir}")
    assert (skill.name, skill.folder, skill.source, skill.files()) == ("x", None, TEXT, ["SKILL.md"])
    assert skill.instructions("") == "z {baseDir}"
    assert (skill.snapshot(), skill.refreshed()) == (skill, skill)


def test_text_alone_can_have_no_tools() -> None:
    with pytest.raises(InvalidSkill, match=r"'x' declares tools, .* Put it into a folder with its scripts"):
        Skill.from_text("---\nname: x\ndescription: y\ntools:\n  t: {script: a.py}\n---\n")


@pytest.mark.parametrize(
    "text", ["", "---\nname: x\n---\n", "---\ndescription: y\n---\n", "---\ndescription: \ud800\n---\n"]
)
def test_text_that_is_no_skill_is_refused(text: str) -> None:
    with pytest.raises(InvalidSkill, match="No usable skill in the text"):
        Skill.from_text(text)


def test_half_a_character_in_a_text_s_body_is_noted() -> None:
    skill = Skill.from_text("---\nname: x\ndescription: y\n---\na\ud800b")
    assert [(problem.rule, problem.line) for problem in skill.problems] == [("encoding", 5)]
    skill.body.encode()


def test_an_archive_is_a_skill_held_in_memory(tmp_path: Path) -> None:
    data = zipped({"x/SKILL.md": "---\nname: x\ndescription: y\n---\nz", "x/a.txt": "a"})
    (tmp_path / "any.skill").write_bytes(data)
    for archive in (data, tmp_path / "any.skill", str(tmp_path / "any.skill")):
        skill = Skill.from_zip(archive)
        assert (skill.name, skill.folder, skill.files(), skill.read("a.txt")) == (
            "x",
            None,
            ["SKILL.md", "a.txt"],
            b"a",
        )
        assert skill.problems == ()
        assert (skill.snapshot(), skill.refreshed()) == (skill, skill)
    assert (Skill.from_zip(data).source, skill.source) == (
        Source("archive"),
        Source("archive", str(tmp_path / "any.skill")),
    )


def test_a_skill_survives_being_zipped(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "ün.sh").write_text("#!/bin/sh\n")
    (folder / "ün.sh").chmod(0o755)
    skill = Skill.from_path(folder)
    assert Skill.from_zip(skill.to_zip()).digest == skill.digest


@pytest.mark.parametrize(
    "archive", [b"", b"no zip", zipped({}), zipped({"a.txt": "a"}), zipped({"SKILL.md": "words"}), "no.zip"]
)
def test_an_archive_without_a_skill_is_refused(workdir: Path, archive: bytes | str) -> None:
    with pytest.raises(SkillProblem) as caught:
        Skill.from_zip(archive)
    assert isinstance(caught.value, InvalidArchive | InvalidSkill | SkillNotFound)


def test_files_are_listed_without_rubbish_and_without_links(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    for path in ("scripts/run.sh", "b.txt", "__pycache__/b.pyc", ".git/config"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("?")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "linked-folder").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    os.close(os.open(os.fsencode(folder) + b"/\xff", os.O_CREAT))
    assert Skill.from_path(folder).files() == ["SKILL.md", "b.txt", "scripts/run.sh"]


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "", ".", "nothing", "a/../../secret", "a\0b"])
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


def test_the_digest_is_that_of_bytes_names_and_executable_bits_but_not_of_dates(tmp_path: Path) -> None:
    def digest() -> str:
        return Skill.from_path(folder).digest

    folder = write_skill(tmp_path, "x")
    (folder / "a").write_text("a")
    seen = [digest()]
    os.utime(folder / "a", (1, 1))
    (folder / "a").chmod(0o600)
    assert digest() == seen[0]
    assert digest() == Skill.from_path(shutil.copytree(folder, tmp_path / "copy")).digest
    for change in (
        lambda: (folder / "a").chmod(0o700),
        lambda: (folder / "a").write_text("b"),
        lambda: (folder / "a").rename(folder / "b"),
        lambda: (folder / "c").touch(),
    ):
        change()
        seen.append(digest())
    assert len(set(seen)) == len(seen)
    assert all(value.startswith("sha256:") for value in seen)


def test_each_file_has_a_digest_of_its_own(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "a").write_text("")
    (folder / "b").write_text("")
    (folder / "b").chmod(0o755)
    empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    digests = Skill.from_path(folder).file_digests()
    assert (list(digests), digests["a"], digests["b"]) == (["SKILL.md", "a", "b"], empty, f"{empty}+x")


def test_no_name_of_a_file_can_pass_for_another_file() -> None:
    """Trust is given to a digest: a file whose name holds what the digest says of a second one is not both."""

    def skill(**files: bytes) -> Skill:
        manifest = {"SKILL.md": FileEntry(b"---\nname: x\ndescription: y\n---\n")}
        content = MemoryFiles(manifest | {path: FileEntry(data) for path, data in files.items()})
        return Skill.from_files(content, None, TEXT)

    two = skill(a=b"harmless", b=b"evil")
    for separator in ("\n", " ", "\t", "\r\n"):
        one = skill(**{f"a{separator}{two.file_digests()['b']} b": b"harmless"})
        assert one.digest != two.digest


@settings(max_examples=200)
@given(
    *[st.dictionaries(st.text("ab\n +x", min_size=1, max_size=4), st.tuples(st.binary(max_size=1), st.booleans()))] * 2
)
@example({"a": (b"", False)}, {"a": (b"", True)})
def test_skills_have_the_same_digest_only_if_they_have_the_same_files(one: dict, two: dict) -> None:
    def digest(files: dict[str, tuple[bytes, bool]]) -> str:
        entries = {path: FileEntry(data, 0o755 if runs else 0o644) for path, (data, runs) in files.items()}
        return Skill("x", "y", "", MemoryFiles(entries)).digest

    assert (digest(one) == digest(two)) is (one == two)
    assert digest(one) == digest(dict(reversed(one.items())))


def test_the_tar_keeps_paths_bytes_and_executable_bits(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "scripts").mkdir()
    (folder / "scripts/ün.sh").write_text("#!/bin/sh\n")
    (folder / "scripts/ün.sh").chmod(0o755)
    with tarfile.open(fileobj=io.BytesIO(Skill.from_path(folder).to_tar())) as archive:
        modes = {member.name: member.mode for member in archive}
    assert modes == {"SKILL.md": 0o644, "scripts/ün.sh": 0o755}


def test_a_snapshot_stays_what_it_was(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "a").write_text("old")
    skill = Skill.from_path(folder)
    snapshot = skill.snapshot()
    (folder / "a").write_text("new")
    (folder / "b").touch()
    assert (snapshot.read("a"), snapshot.files(), snapshot.folder) == (b"old", ["SKILL.md", "a"], folder)
    assert skill.read("a") == b"new"
    assert snapshot.digest != skill.digest
    assert snapshot.refreshed() is snapshot


def test_a_snapshot_and_a_refresh_show_the_skill_as_its_folder_has_it_now_but_keep_its_name(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    skill = Skill.from_path(folder, Source("user"))
    assert skill.tools == ()
    (folder / "SKILL.md").write_text("---\nname: y\ndescription: new\n---\nNew.")
    (folder / "tools.py").write_text("@tool\ndef f(): 0")
    for now in (skill.refreshed(), skill.snapshot()):
        assert (now.name, now.description, now.body, now.source) == ("x", "new", "New.", Source("user"))
        assert [tool.name for tool in now.tools] == ["f"]
    assert skill.body == "Do it."


def test_what_is_gone_or_broken_by_now_can_be_neither_refreshed_nor_snapshot(tmp_path: Path) -> None:
    skill = Skill.from_path(write_skill(tmp_path, "x"))
    (tmp_path / "x" / "SKILL.md").write_text("words")
    for again in (skill.refreshed, skill.snapshot):
        with pytest.raises(InvalidSkill):
            again()
    (tmp_path / "x" / "SKILL.md").unlink()
    for again in (skill.refreshed, skill.snapshot):
        with pytest.raises(SkillNotFound):
            again()


FOR_THE_FOLDER = ["{baseDir}", "${baseDir}", "{skillDir}", "{skill_dir}", "{SKILL_DIR}", "${SKILL_DIR}", "$SKILL_DIR"]
FOR_THE_FOLDER += ["${CLAUDE_SKILL_DIR}", "$CLAUDE_SKILL_DIR", "${CLAUDE_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT"]
FOR_THE_FOLDER += ["${CLAUDE_PLUGIN_ROOT}/skills/x", "$CLAUDE_PLUGIN_ROOT/skills/x", "${CLAUDE_PLUGIN_ROOT}/skills/box"]
FOR_OTHERS = [
    "{this}",
    "${that}",
    "$HOME",
    "$CLAUDE_SKILL_DIRECTORY",
    "{ baseDir }",
    "${CLAUDE_PLUGIN_ROOT}/skills/other",
]
FOR_OTHERS += ["${CLAUDE_PLUGIN_ROOT}/skills/x-2", "$CLAUDE_PLUGIN_ROOT/skills/x.y", "{{basedir}}"]


@pytest.mark.parametrize("placeholder", FOR_THE_FOLDER)
def test_placeholders_for_the_skill_s_folder_are_filled_in(tmp_path: Path, placeholder: str) -> None:
    skill = skill_with(
        tmp_path / "box", f"---\nname: x\ndescription: y\n---\n({placeholder}/a) {placeholder}. {placeholder}"
    )
    assert skill.instructions("/s/\\1") == "(/s/\\1/a) /s/\\1. /s/\\1"
    assert skill.snapshot().instructions("/s") == "(/s/a) /s. /s"
    assert skill.instructions("") == skill.body


@pytest.mark.parametrize("placeholder", FOR_OTHERS)
def test_other_placeholders_are_left_as_they_are(tmp_path: Path, placeholder: str) -> None:
    skill = skill_with(
        tmp_path / "box", f"---\nname: x\ndescription: y\n---\n({placeholder}/a) {placeholder}. {placeholder}"
    )
    assert skill.instructions("/s") == skill.body
