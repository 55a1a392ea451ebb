"""The strict report: every rule by its name and line, all of them at once."""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
import zipfile
from pathlib import Path

import pytest

from jupyter_skills.errors import SkillNotFound
from jupyter_skills.skills import validation
from jupyter_skills.skills.files import MOST_FILES
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.validation import Report, validate
from tests.conftest import NO_HANG, write_skill

GOOD = "name: x\ndescription: Does a thing."


def report(folder: Path, text: str | bytes, files: dict[str, str] | None = None) -> Report:
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in {"SKILL.md": text, **(files or {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return validate(folder)


def found(report: Report) -> set[tuple[str, int | None]]:
    return {(problem.rule, problem.line) for problem in report.problems}


def test_a_good_skill_has_nothing_to_report(tmp_path: Path) -> None:
    text = (
        "---\nname: pdf-tools\ndescription: Fills PDF forms. Use for PDF files.\nlicense: MIT\n"
        "compatibility: Needs pdftk\nmetadata:\n  author: me\n  version: '1.0'\nallowed-tools: Bash(git:*) Read\n---\n"
        "# PDF\n\nSee [forms](references/forms.md#top) and run `scripts/fill.py`.\n"
    )
    good = report(tmp_path / "pdf-tools", text, {"references/forms.md": "", "scripts/fill.py": ""})
    assert good == Report(str(tmp_path / "pdf-tools"), "pdf-tools", ())
    assert good.valid


# Of each rule: frontmatter in a folder 'x', what is found, and whether the skill is valid all the same.
FRONTMATTER = [
    ("description: y", {("name-missing", 1)}, False),
    ("description: y\nname:", {("name-blank", 3)}, False),
    ("description: y\nname: ~", {("name-blank", 3)}, False),
    ("description: y\nname: '  '", {("name-blank", 3)}, False),
    ("description: y\nname: [x]", {("name-type", 3)}, False),
    ("description: y\nname: {x: y}", {("name-type", 3)}, False),
    ("description: y\nname: Foo", {("name-case", 3), ("name-directory", 3)}, False),
    ("description: y\nname: -foo", {("name-hyphens", 3), ("name-directory", 3)}, False),
    ("description: y\nname: foo-", {("name-hyphens", 3), ("name-directory", 3)}, False),
    ("description: y\nname: foo--bar", {("name-hyphens", 3), ("name-directory", 3)}, False),
    ("description: y\nname: foo_bar", {("name-characters", 3), ("name-directory", 3)}, False),
    ("description: y\nname: a/b c", {("name-characters", 3), ("name-directory", 3)}, False),
    ("description: y\nname: y", {("name-directory", 3)}, False),
    (f"description: y\nname: {'y' * 65}", {("name-length", 3), ("name-directory", 3)}, False),
    (f"description: y\nname: {'y' * 64}", {("name-directory", 3)}, False),
    ("description: y\nname: my-claude", {("name-reserved", 3), ("name-directory", 3)}, False),
    ("description: y\nname: x\nname: x", {("duplicate-field", 4)}, False),
    ("name: x", {("description-missing", 1)}, False),
    ("name: x\ndescription:", {("description-blank", 3)}, False),
    ("name: x\ndescription: ' '", {("description-blank", 3)}, False),
    (
        "name: X\ndescription:\nv: 1",
        {("name-case", 2), ("name-directory", 2), ("description-blank", 3), ("unknown-field", 4)},
        False,
    ),
    ("name: x\ndescription: [a, b]", {("description-type", 3)}, False),
    ("name: x\ndescription: {a: b}", {("description-type", 3)}, False),
    (f"name: x\ndescription: {'y' * 1024}", set(), True),
    (f"name: x\ndescription: {'y' * 1025}", {("description-length", 3)}, False),
    ("name: x\ndescription: y: z", {("yaml-quotes", 3)}, False),
    (f"{GOOD}\nlicense: [MIT]", {("license-type", 4)}, False),
    (f"{GOOD}\nlicense: 5", set(), True),
    (f"{GOOD}\ncompatibility: [a]", {("compatibility-type", 4)}, False),
    (f"{GOOD}\ncompatibility: ''", {("compatibility-length", 4)}, False),
    (f"{GOOD}\ncompatibility: {'y' * 500}", set(), True),
    (f"{GOOD}\ncompatibility: {'y' * 501}", {("compatibility-length", 4)}, False),
    (f"{GOOD}\ncompatibility: |\n  {'y' * 500}", {("compatibility-length", 4)}, False),
    (f"{GOOD}\nallowed-tools: [Read]", {("allowed-tools-type", 4)}, False),
    (f"{GOOD}\nallowed-tools: {{Read: yes}}", {("allowed-tools-type", 4)}, False),
    (f"{GOOD}\nmetadata: me", {("metadata-type", 4)}, False),
    (f"{GOOD}\nmetadata:", {("metadata-type", 4)}, False),
    (f"{GOOD}\nmetadata: {{}}", set(), True),
    (f"{GOOD}\nmetadata:\n  a: {{b: c}}", {("metadata-value", 4)}, False),
    (f"{GOOD}\nmetadata:\n  a: [b]", {("metadata-value", 4)}, False),
    (f"{GOOD}\nmetadata:\n  a: 1.10", {("metadata-quotes", 4)}, True),
    (f"{GOOD}\nmetadata:\n  a: 2024-01-02", {("metadata-quotes", 4)}, True),
    (f"{GOOD}\nmetadata:\n  a: b\n  a: c", {("duplicate-field", 6)}, False),
    (f"{GOOD}\nmetadata:\n\ta: b", {("yaml-tabs", 5)}, False),
    (f"{GOOD}\nversion: 1", {("unknown-field", 4)}, False),
    (f"{GOOD}\nallowed_tools: Read", {("unknown-field", 4)}, False),
    (f"{GOOD}\n1: 2", {("unknown-field", 4)}, False),
    (f"{GOOD}\ntools:", {("unknown-field", 4)}, True),
    (f"{GOOD}\ntools: [a]", {("unknown-field", 4), ("tools-type", 4)}, False),
    (f"{GOOD}\ntools: {{a b: {{script: r.py}}}}", {("unknown-field", 4), ("tool-name", 4)}, False),
    (f"{GOOD}\ntools: {{a: r.py}}", {("unknown-field", 4), ("tool-type", 4)}, False),
    (f"{GOOD}\ntools: {{a: {{}}}}", {("unknown-field", 4), ("tool-script", 4)}, False),
    (f"{GOOD}\ntools: {{a: {{script: ../r.py}}}}", {("unknown-field", 4), ("tool-outside", 4)}, False),
    (f"{GOOD}\ntools: {{a: {{script: r.py, args: 5}}}}", {("unknown-field", 4), ("tool-args", 4)}, False),
    (f"{GOOD}\ntools: {{a: {{script: r.py, pass: x}}}}", {("unknown-field", 4), ("tool-pass", 4)}, False),
    (f"{GOOD}\ntools: {{a: {{script: r.py, timeout: x}}}}", {("unknown-field", 4), ("tool-timeout", 4)}, False),
    (f"{GOOD}\ntools: {{a: {{script: r.py, arg: 5}}}}", {("unknown-field", 4), ("tool-field", 4)}, True),
]


@pytest.mark.parametrize(
    ("fields", "expected", "valid"), FRONTMATTER, ids=[fields[-40:] for fields, _, _ in FRONTMATTER]
)
def test_each_rule_for_the_frontmatter_is_told_by_name_and_line(
    tmp_path: Path, fields: str, expected: set, valid: bool
) -> None:
    result = report(tmp_path / "x", f"---\n{fields}\n---\nDo it.\n", {"r.py": ""})
    assert found(result) == expected
    assert result.valid is valid
    assert len(result.problems) == len(expected)


UNUSABLE = [
    ("", "no frontmatter", ("frontmatter-missing", 1)),
    ("---\nname: x\n", "no end", ("frontmatter-end", 1)),
    ("---\nname: x\nwords\nmore: y\n---\n", "not valid YAML in line 4", ("yaml", 4)),
    (b"---\nname: \xff\n---\n", "not UTF-8", ("encoding", 2)),
    ("---\na: &a [*a]\n---\n", "contains itself", ("yaml", 2)),
]


@pytest.mark.parametrize(("text", "says", "rule"), UNUSABLE, ids=[says for _, says, _ in UNUSABLE])
def test_what_could_not_be_loaded_either_is_one_problem_with_its_line(
    tmp_path: Path, text: str | bytes, says: str, rule: tuple[str, int]
) -> None:
    result = report(tmp_path / "x", text)
    assert [(problem.rule, problem.line) for problem in result.problems] == [rule]
    assert says in result.problems[0].message
    assert (result.name, result.valid) == ("x", False)


FILES = [
    ("\n".join(["---", GOOD, "---"]), {}, {("body-empty", None)}),
    ("\r\n".join(["---", *GOOD.split("\n"), "---", "b"]), {}, {("line-ends", 1)}),
    ("\n".join(["", "---", GOOD, "---", "b"]), {}, {("frontmatter-start", 1)}),
    ("\n".join(["\ufeff---", GOOD, "---", "b"]), {}, {("byte-order-mark", 1)}),
    ("\n".join(["---", GOOD, "---", "b"]).encode("utf-16"), {}, {("encoding", 1)}),
    (f"---\n{GOOD}\n---\nb\n?".encode().replace(b"?", b"\xff"), {}, {("encoding", 6)}),
    (f"---\n{GOOD}\n---\n" + "b\n" * 500, {}, set()),
    (f"---\n{GOOD}\n---\n" + "b\n" * 501, {}, {("body-long", None)}),
    (f"---\n{GOOD}\n---\n" + "b" * 20_004, {}, {("body-long", None)}),
    (f"---\n{GOOD}\n---\n\nx\n[a](no.md)", {}, {("reference-broken", 7)}),
    (f"---\n{GOOD}\n---\nSee `scripts/no.py`.", {}, {("reference-broken", 5)}),
    (f"---\n{GOOD}\n---\n[a](../no.md)", {}, {("reference-outside", 5)}),
    (f"---\n{GOOD}\n---\n[a](/etc/passwd)", {}, {("reference-outside", 5)}),
    (f"---\n{GOOD}\n---\n[a](a/../../no.md)", {}, {("reference-outside", 5)}),
    (f"---\n{GOOD}\n---\nb", {"tools.py": "def"}, {("tools-syntax", 1)}),
    (f"---\n{GOOD}\n---\nb", {"tools.py": "\n@tool\ndef f(*a): 0"}, {("tool-function", 3)}),
    (f"---\n{GOOD}\n---\nb", {"tools.py": "@tool\ndef f(): 0\n@tool\ndef f(): 1"}, {("tool-duplicate", 2)}),
    (f"---\n{GOOD}\n---\nb", {"tools.py": "#" * (1024 * 1024 + 1)}, {("tools-size", 1)}),
]


@pytest.mark.parametrize(("text", "files", "expected"), FILES)
def test_each_rule_for_the_file_the_body_and_other_files_is_told_by_name_and_line(
    tmp_path: Path, text: str | bytes, files: dict[str, str], expected: set
) -> None:
    assert found(report(tmp_path / "x", text, files)) == expected


@pytest.mark.parametrize(
    "body",
    [
        "[a](https://example.org/x.md) [b](mailto:me@example.org) [c](#here) [d](//example.org)",
        "[a](SKILL.md) [b](./SKILL.md#part) [c](SKILL.md?raw=1) [d](<SKILL.md>) [e](SKILL.md 'with a title')",
        "[a](docs/a%20b.md) [b](docs/) [c](docs/../SKILL.md) [d](docs/f_(1).md) [e](..odd.md)",
        "[a]({baseDir}/x.md) [b](${CLAUDE_SKILL_DIR}/x.md) [c]($DIR/x.md)",
        "`[a](no.md)` and `elsewhere/no.py` and `scripts/no.py --option`",
        "```\n[a](no.md)\n```\n~~~\n[a](no.md)\n~~~",
        "````\n```\n[a](no.md)\n```\n[b](no.md)\n````",
        "~~~~python\n```\n[a](no.md)\n~~~~",
        "![a](docs/a%20b.md)",
    ],
)
def test_these_are_no_broken_references(tmp_path: Path, body: str) -> None:
    files = {"docs/a b.md": "", "docs/f_(1).md": "", "..odd.md": ""}
    assert report(tmp_path / "x", f"---\n{GOOD}\n---\n{body}\n", files).problems == ()


def test_references_behind_a_block_of_code_are_looked_at_again(tmp_path: Path) -> None:
    text = f"---\n{GOOD}\n---\n```sh\n[a](a.md)\n```\n[b](b.md)\n```py title='x'\n```\n![c](c.png \"t\")\n"
    assert found(report(tmp_path / "x", text)) == {("reference-broken", 8), ("reference-broken", 11)}


@pytest.mark.parametrize(
    "body", ["](" * 300_000, '](a "' * 100_000, "](a '](b \"" * 60_000, "`scripts/" + "a." * 200_000]
)
@NO_HANG
def test_no_body_hangs_its_reader(tmp_path: Path, body: str) -> None:
    assert report(tmp_path / "x", f"---\n{GOOD}\n---\n{body}\n").problems


def test_all_problems_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    fields = "name: Bad_Name\ndescription: a: b\nversion: 1\nlicense: [MIT]\ntools: {t: {script: no.py}}"
    text = f"---\n{fields}\n---\n[a](no.md)\n"
    result = report(tmp_path / "x", text, {"tools.py": "def"})
    assert [(problem.path, problem.line, problem.rule) for problem in result.problems] == [
        ("SKILL.md", 2, "name-case"),
        ("SKILL.md", 2, "name-characters"),
        ("SKILL.md", 2, "name-directory"),
        ("SKILL.md", 3, "yaml-quotes"),
        ("SKILL.md", 4, "unknown-field"),
        ("SKILL.md", 5, "license-type"),
        ("SKILL.md", 6, "unknown-field"),
        ("SKILL.md", 6, "tool-script"),
        ("SKILL.md", 8, "reference-broken"),
        ("tools.py", 1, "tools-syntax"),
    ]
    assert all(problem.message and problem.remedy for problem in result.problems)
    assert not any(text.endswith(".") for problem in result.problems for text in (problem.message, problem.remedy))


def test_the_report_reads_as_one_line_for_each_problem_and_a_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    assert str(report(folder, f"---\n{GOOD}\nversion: 1\n---\n")) == (
        f"{folder}/SKILL.md: warning: There are no instructions. Write below the frontmatter what to do. [body-empty]\n"
        f"{folder}/SKILL.md:4: error: The specification has no field 'version'. Its fields are name, description, "
        "license, compatibility, metadata, allowed-tools; anything else belongs below 'metadata:'. [unknown-field]\n"
        f"{folder}: not valid (1 error, 1 warning)"
    )


def test_a_problem_is_one_line_whatever_is_quoted_in_it(tmp_path: Path) -> None:
    result = report(tmp_path / "x", f'---\n{GOOD}\n"a\\nb": c\ntools: {{"t\\nu": {{script: "a\\nb"}}}}\n---\nb')
    assert len(str(result).split("\n")) == len(result.problems) + 1


def test_the_report_as_json_says_the_same(tmp_path: Path) -> None:
    result = report(tmp_path / "x", f"---\n{GOOD}\nversion: 1\n---\nb")
    assert json.loads(json.dumps(result.as_json())) == {
        "path": str(tmp_path / "x"),
        "name": "x",
        "valid": False,
        "problems": [
            {
                "rule": "unknown-field",
                "message": "The specification has no field 'version'",
                "remedy": "Its fields are name, description, license, compatibility, metadata, allowed-tools; "
                "anything else belongs below 'metadata:'",
                "line": 4,
                "path": "SKILL.md",
                "severity": "error",
            }
        ],
    }


def test_warnings_do_not_make_a_skill_invalid() -> None:
    warning, error = (Problem("r", "m", "n", severity=severity) for severity in ("warning", "error"))
    assert Report("p", "x", (warning, warning)).valid
    assert not Report("p", "x", (warning, error)).valid


COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    ("folder", "name", "rules"),
    [
        (COMPOSED, COMPOSED, set()),
        (COMPOSED, DECOMPOSED, set()),
        (DECOMPOSED, COMPOSED, set()),
        ("技能", "技能", set()),
        ("мой-навык", "мой-навык", set()),
        ("s²", "s²", set()),
        ("s2", "s²", set()),
        ("ﬁx", "fix", set()),
        ("x1", "' x1 '", set()),
        ("123", "123", set()),
        ("Мой", "Мой", {"name-case"}),
        ("a b", "a b", {"name-characters"}),
        ("😀", "😀", {"name-characters"}),
        ("ä" * 64, "ä" * 64, set()),
        ("ä" * 65, "ä" * 65, {"name-length"}),
        ("straße", "strasse", {"name-directory"}),
        ("my-claude", "my-claude", {"name-reserved"}),
    ],
)
def test_names_are_compared_as_the_specification_compares_them(
    tmp_path: Path, folder: str, name: str, rules: set[str]
) -> None:
    result = report(tmp_path / folder, f"---\nname: {name}\ndescription: y\n---\nb")
    assert {problem.rule for problem in result.problems} == rules
    assert result.valid is (rules <= {"name-reserved"})


def test_the_manifest_may_be_named_instead_of_its_folder(tmp_path: Path) -> None:
    assert validate(write_skill(tmp_path, "x") / "SKILL.md").problems == ()


def test_the_folder_may_be_the_working_folder_or_one_of_the_home(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_skill(tmp_path, "x"))
    write_skill(home, "y")
    assert (validate(".").valid, validate("~/y").valid) == (True, True)


def test_a_manifest_in_small_letters_is_a_warning(tmp_path: Path) -> None:
    (write_skill(tmp_path, "x") / "SKILL.md").rename(tmp_path / "x" / "skill.md")
    result = validate(tmp_path / "x")
    assert found(result) == {("manifest-name", None)}
    assert result.valid


def test_a_folder_without_a_manifest_is_told_so(tmp_path: Path) -> None:
    result = validate(tmp_path)
    assert ([problem.rule for problem in result.problems], result.valid) == (["manifest-missing"], False)


def test_links_are_told_but_not_those_in_what_tools_leave_behind(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    for place in ("scripts", ".venv/bin", "node_modules/.bin"):
        (folder / place).mkdir(parents=True)
        (folder / place / "link").symlink_to("/etc")
    assert [(problem.rule, problem.path) for problem in validate(folder).problems] == [("link", "scripts/link")]


def test_a_manifest_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    (tmp_path / "x" / "SKILL.md").symlink_to(write_skill(tmp_path, "z") / "SKILL.md")
    os.mkfifo(tmp_path / "y" / "SKILL.md")
    linked, piped = validate(tmp_path / "x"), validate(tmp_path / "y")
    assert [problem.rule for problem in linked.problems] == ["unusable", "link"]
    assert "it is a link" in linked.problems[0].message
    assert [problem.rule for problem in piped.problems] == ["manifest-missing"]


def test_too_many_files_are_a_problem_like_any_other(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    for number in range(MOST_FILES + 1):
        os.close(os.open(folder / str(number), os.O_CREAT))
    assert [problem.rule for problem in validate(folder).problems] == ["unusable"]


@pytest.mark.parametrize(
    "path", ["nowhere", "nowhere/SKILL.md", "no.zip", "~nobody-here/x", "a\0b", "y" * 5000 + ".zip", "file"]
)
def test_a_path_to_nothing_is_an_error_and_no_report(workdir: Path, path: str) -> None:
    (workdir / "file").touch()
    with pytest.raises(SkillNotFound):
        validate(path)


def zipped(place: Path, files: dict[str, str]) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    place.write_bytes(buffer.getvalue())
    return place


@pytest.mark.parametrize("suffix", [".zip", ".skill", ".ZIP"])
def test_archives_are_held_against_the_same_rules(tmp_path: Path, suffix: str) -> None:
    manifest = f"---\n{GOOD}\nversion: 1\n---\n[a](no.md)"
    archive = zipped(tmp_path / f"any{suffix}", {"x/SKILL.md": manifest, "x/tools.py": "def"})
    result = validate(archive)
    assert found(result) == {("unknown-field", 4), ("reference-broken", 6), ("tools-syntax", 1)}
    assert (result.path, result.name) == (str(archive), "x")


def test_a_name_in_an_archive_is_compared_to_the_folder_in_it_if_there_is_one(tmp_path: Path) -> None:
    manifest = f"---\n{GOOD}\n---\nb"
    assert validate(zipped(tmp_path / "any.zip", {"SKILL.md": manifest})).problems == ()
    assert found(validate(zipped(tmp_path / "x.zip", {"y/SKILL.md": manifest}))) == {("name-directory", 2)}


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04"])
def test_a_damaged_archive_is_one_problem(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    result = validate(tmp_path / "x.zip")
    assert ([problem.rule for problem in result.problems], result.valid) == (["unusable"], False)


def test_every_rule_that_the_source_names_is_in_these_tables() -> None:
    """So that a new rule comes with its test."""
    sources = "".join(
        path.read_text() for path in Path(validation.__file__).parent.rglob("*.py") if path.name in _RULES_IN
    )
    named = set(re.findall(r'(?:Problem|_problem|_Refused)\(\s*"([a-z]+(?:-[a-z]+)*)"', sources))
    tested = {rule for _, rules, _ in FRONTMATTER for rule, _ in rules} | {
        rule for *_, rules in FILES for rule, _ in rules
    }
    assert named - tested - _ELSEWHERE == set()


_RULES_IN = {"frontmatter.py", "rules.py", "validation.py", "manifest.py", "module.py", "__init__.py"}
# These need more than a SKILL.md, and have tests of their own.
_ELSEWHERE = {"unusable", "link", "manifest-name", "manifest-missing", "tools-unreadable"}
