"""The packages that a skill declares: what is taken, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills import Skill
from jupyter_skills.errors import UsageProblem
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.requirements import Requirements, check, requirements_of
from jupyter_skills.skills.source import TEXT
from tests.conftest import NO_HANG, write_skill


def declared(**files: str | bytes) -> Requirements:
    """What a skill with these files declares; ``__`` in a name stands for a dot, ``___`` for a slash."""
    contents = {"SKILL.md": "---\nname: a\ndescription: Does a thing.\n---\n"}
    contents |= {name.replace("___", "/").replace("__", "."): content for name, content in files.items()}
    entries = {
        name: FileEntry(content if isinstance(content, bytes) else content.encode(errors="surrogatepass"))
        for name, content in contents.items()
    }
    return requirements_of(Skill.from_files(MemoryFiles(entries), None, TEXT))


def listed(text: str | bytes) -> Requirements:
    return declared(requirements__txt=text)


def script(toml: str) -> str:
    lines = [f"# {line}".rstrip() for line in toml.splitlines()]
    return "\n".join(["# /// script", *lines, "# ///", "print('hello')"])


def test_a_skill_that_declares_nothing_needs_nothing() -> None:
    assert declared(scripts___run__py="print('hello')") == Requirements()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pandas\n", ["pandas"]),
        ("  pandas  \n\n", ["pandas"]),
        ("Pandas\npandas", ["pandas"]),
        ("typing_extensions\nruamel.yaml", ["ruamel-yaml", "typing-extensions"]),
        ("pandas >= 2, < 3", ["pandas<3,>=2"]),
        ("pandas (>=2)", ["pandas>=2"]),
        ("b\na", ["a", "b"]),
        ("requests [Socks, use_chardet] >= 2", ["requests[socks,use-chardet]>=2"]),
        ("tomli; python_version<'3.11'", ['tomli; python_version < "3.11"']),
        ("a  # because\n# b\n   # c\nd#e", ["a"]),
        ("pandas \\\n  >=2\nb", ["b", "pandas>=2"]),
        ("a\\\n# b \\\nc", ["a", "c"]),
        ("a\\\n  # b \\\nc", ["a", "c"]),
        ("a \\", ["a"]),
        ("\ufeffa\r\nb\rc", ["a", "b", "c"]),
        (b"\xff\xfe" + "a\r\nb".encode("utf-16-le"), ["a", "b"]),
    ],
)
def test_the_list_is_read_as_pip_reads_it(text: str | bytes, wanted: list[str]) -> None:
    assert [*listed(text).wanted] == wanted


def test_a_comment_ends_a_continued_line() -> None:
    found = listed("pandas>=2 \\\n  # no more\nb")
    assert found.wanted == ("b", "pandas>=2")


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "--extra-index-url=https://example.org",
        "-i https://example.org",
        "--find-links /srv",
        "--pre",
        "--trusted-host example.org",
        "-e .",
        "-e git+https://example.org/a.git",
        "-r more.txt",
        "-r/etc/passwd",
        "-c more.txt",
        "six --hash=sha256:0123456789abcdef",
        "six \\\n    --hash=sha256:0123456789abcdef",
        "six; python_version > '3' --hash=sha256:0123456789abcdef",
        "six --global-option=--x",
        "six --config-settings x=y",
    ],
)
def test_an_option_is_refused_with_its_line(line: str) -> None:
    found = listed(f"ok\n{line}\n")
    assert found.wanted == ("ok",)
    assert len(found.refused) == 1
    assert found.refused[0].startswith("requirements.txt, line 2: '")
    assert "option" in found.refused[0]


@pytest.mark.parametrize(
    "line",
    [
        "six @ https://example.org/six.whl",
        "six@https://example.org/six.whl",
        "six @ file:///etc/passwd",
        "six @ git+https://example.org/six.git",
        "git+https://example.org/six.git#egg=six",
        "https://example.org/six.whl",
        "./six",
        "../six",
        ".",
        "/srv/six",
        "~/six",
        r"C:\six",
        "six-1.17.0-py2.py3-none-any.whl",
        "six.tar.gz",
        "six.zip[more]",
        "sub/six",
    ],
)
def test_an_address_or_a_file_is_refused(line: str) -> None:
    found = listed(line)
    assert found.wanted == ()
    assert "names an address or a file" in found.refused[0]


@pytest.mark.parametrize(
    "line",
    [
        "six==",
        "six 1.0",
        "!",
        "${SECRET}",
        "six=1",
        "a;b",
        "a; python_version > '3",
        "a" * 501,
        "é",
        "$(reboot)",
        "a\\b",
    ],
)
def test_what_makes_no_sense_is_refused(line: str) -> None:
    found = listed(f"{line}\nok")
    assert found.wanted == ("ok",)
    assert len(found.refused) == 1


def test_undecodable_bytes_spoil_their_own_line_alone() -> None:
    found = listed(b"one\n# caf\xe9\ncaf\xe9\ntwo\n")
    assert found.wanted == ("one", "two")
    assert len(found.refused) == 1


def test_what_would_steer_a_terminal_is_refused_and_shown_as_an_escape() -> None:
    found = listed("six; platform_version == '\x1b[2J'\nsix\u202e")
    assert found.wanted == ()
    assert all(sentence.isprintable() for sentence in found.refused)


def test_only_the_list_at_the_root_counts() -> None:
    assert declared(docs___requirements__txt="six", dev__txt="six") == Requirements()


def test_scripts_and_the_list_are_put_together() -> None:
    found = declared(
        requirements__txt="pandas\nsix",
        run__py=script('dependencies = ["Six", "attrs"]'),
        scripts___more__py=script('requires-python = ">=3.11"\ndependencies = [\n  "rich<14",\n]'),
        notes__txt=script('dependencies = ["unread"]'),
    )
    assert found == Requirements(("attrs", "pandas", "rich<14", "six"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# /// script\n# dependencies = ['a']\n# ///", ("a",)),
        ("import b\n# /// script\n# dependencies = ['a']\n# ///\n", ("a",)),
        ("# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", ("a",)),
        ("# /// script\n#\n# dependencies = [\n#   'a', # why\n# ]\n#\n# ///", ("a",)),
        ("# /// script\n# ///\n", ()),
        ("# /// script\n# dependencies = ['a']\n", ()),
        ("# /// script\n# dependencies = ['a']\n\n# ///", ()),
        ("# /// script\n#dependencies = ['a']\n# ///", ()),
        (" # /// script\n# dependencies = ['a']\n# ///", ()),
        ("# /// other\n# dependencies = ['a']\n# ///", ()),
        ("# /// script\n# x = 1\n# ///", ()),
        ("# /// script\n# dependencies = ['a']\n# ///\n\n# /// other\n# dependencies = 1\n# ///", ("a",)),
        ("# /// script\n# text = '''\n# ///\n# '''\n# dependencies = ['a']\n# ///", ("a",)),
    ],
)
def test_a_script_block_is_found_as_its_specification_says(text: str, wanted: tuple[str, ...]) -> None:
    assert declared(run__py=text) == Requirements(wanted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (script("dependencies = ["), "run.py, line 1: the script block is no TOML"),
        (script("x = " + "[" * 3000), "run.py, line 1: the script block is no TOML"),
        (script("dependencies = 'six'"), "run.py, line 1: 'dependencies' is no list of texts"),
        (script("dependencies = ['six', 1]"), "run.py, line 1: 'dependencies' is no list of texts"),
        (script("dependencies = ['x', \n'./y']"), "run.py, line 3: './y' names an address or a file"),
        (script('dependencies = ["-\\u0065 ."]'), "run.py, line 1: '-e .' holds an option"),
        (script("x = 1") + "\n" + script("x = 2"), "run.py, line 5: there is more than one script block"),
        (script("x = 1\n" * 12_000), "run.py, line 1: the script block has more than 64 KiB"),
    ],
)
def test_a_script_block_that_is_of_no_use_is_told_of(text: str, said: str) -> None:
    found = declared(run__py=text)
    assert len(found.refused) == 1
    assert found.refused[0].startswith(said)


def test_a_script_block_cannot_choose_the_index() -> None:
    toml = "dependencies = ['six']\n[tool.uv]\nindex-url = 'https://example.org'\n[tool.uv.sources]\nsix = {path = '.'}"
    assert declared(run__py=script(toml)) == Requirements(("six",))


def test_far_too_many_packages_are_cut_off_and_told_of() -> None:
    found = declared(requirements__txt="\n".join(f"p{number}" for number in range(5000)), z__py=script("x = ["))
    assert len(found.wanted) == 500
    assert found.refused == (
        "requirements.txt, line 501: more than 500 packages are declared, and the rest is left out",
    )


def test_a_huge_list_is_not_read() -> None:
    found = listed("#" * (1024 * 1024) + "\nsix")
    assert found.wanted == ()
    assert "1 MiB" in found.refused[0]


@NO_HANG
@pytest.mark.parametrize("line", ["# /// script\n", "# ///\n", "# /// script\n# ///\n", "#\n"])
def test_a_file_of_nothing_but_marks_is_read_in_one_pass(line: str) -> None:
    declared(run__py=line * (1_000_000 // len(line)))


@NO_HANG
def test_a_file_of_nothing_but_blanks_and_backslashes_is_read_quickly() -> None:
    listed((" " * 1000 + "\\\n") * 1000)
    listed(" " * 1_000_000)


def test_a_list_that_is_a_link_out_of_the_skill_is_not_followed(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "a")
    (folder / "requirements.txt").write_text("six")
    skill = Skill.from_path(folder)

    (folder / "link.txt").write_text("/etc/hostname")
    (folder / "requirements.txt").unlink()
    (folder / "requirements.txt").symlink_to(folder / "link.txt")
    assert requirements_of(skill) == Requirements()  # a link is no file of the skill's


@given(st.text())
def test_no_text_of_a_list_raises(text: str) -> None:
    listed(text)


@given(st.binary())
def test_no_bytes_raise(content: bytes) -> None:
    declared(requirements__txt=content, run__py=b"# /// script\n# " + content + b"\n# ///")


@given(st.text())
def test_no_text_of_a_script_raises(text: str) -> None:
    declared(run__py=script(text))
    declared(run__py=text)


PIECES = ["six", "A.b", "[x]", ">=1", "<2", "==1.*", "===x", ",", ";", " ", "python_version", "'3'", '"', "'", "(", ")"]
PIECES += ["or", "and", "in", "extra", "@", "://", "-e", "--hash=x", "\\", "\n", "#", "${A}", "\x00", "\u2028", "~=1"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_what_is_taken_is_plain_and_has_one_spelling(text: str) -> None:
    found = listed(text)
    assert all(requirement.isprintable() and requirement[0].isalnum() for requirement in found.wanted)
    assert not any(" --" in requirement or "@" in requirement.partition(";")[0] for requirement in found.wanted)
    assert check(found.wanted) == found.wanted


def test_words_that_a_user_typed_become_requirements() -> None:
    assert check(["Pandas", "numpy<3", "pandas", "numpy <3"]) == ("numpy<3", "pandas")
    assert check([]) == ()


@pytest.mark.parametrize("word", ["--pre", "-e", "./six", "six @ https://example.org/six.whl", "", "six six", "\x1b["])
def test_a_word_that_is_no_plain_requirement_is_a_usage_problem(word: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        check(["pandas", word])
    assert "'numpy<3'" in str(raised.value)
    assert str(raised.value).isprintable()
