"""The tools that a skill brings along: what of them is offered, how arguments are checked, and how scripts get them."""

from __future__ import annotations

import datetime
import json
import os
import re
import string
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jupyter_skills.skills.files import MOST_BYTES, FileEntry, FolderFiles, MemoryFiles
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.tools import tools_of
from jupyter_skills.skills.tools.command import convention_of
from jupyter_skills.skills.tools.module import module_tools
from jupyter_skills.skills.tools.record import SkillTool, call_name, is_json
from tests.conftest import NO_HANG, write_skill

SCRIPTS = {
    "SKILL.md": FileEntry(b""),
    "run.py": FileEntry(b""),
    "run": FileEntry(b"#!/bin/sh\n", 0o755),
    "data.txt": FileEntry(b""),
    "deep/er/run.sh": FileEntry(b""),
    "..odd.py": FileEntry(b""),
}


def declared(tools: object, **files: FileEntry) -> tuple[dict[str, SkillTool], list[Problem]]:
    tools, problems = tools_of(tools, MemoryFiles(SCRIPTS | files), 4)
    return {tool.name: tool for tool in tools}, problems


def one(**entry: object) -> SkillTool:
    tools, problems = declared({"t": {"script": "run.py", **entry}})
    assert problems == []
    return tools["t"]


def schema_of(argument: object) -> tuple[dict[str, Any], bool]:
    """The schema of an argument that is written so, and whether it must be given."""
    parameters = one(args={"a": argument}).parameters
    return parameters["properties"]["a"], parameters["required"] == ["a"]


# Tools that the manifest declares.


def test_a_tool_is_its_script_with_typed_arguments() -> None:
    tool = one(
        description="Runs it.", args={"url": {"type": "string"}, "depth": {"type": "integer", "default": 1}}, timeout=5
    )
    assert (tool.name, tool.description, tool.path, tool.interpreter, tool.timeout) == (
        "t",
        "Runs it.",
        "run.py",
        "python",
        5,
    )
    assert tool.parameters == {
        "type": "object",
        "properties": {"url": {"type": "string"}, "depth": {"type": "integer", "default": 1}},
        "required": ["url"],
        "additionalProperties": False,
    }


def test_a_tool_without_a_description_says_what_it_runs_and_a_long_one_is_cut() -> None:
    assert one().description == "Runs run.py."
    assert len(one(description="y" * 1024).description) == 1024
    assert one(description="y" * 1025).description == "y" * 1023 + "…"


@pytest.mark.parametrize(
    ("written", "schema", "required"),
    [
        (None, {"type": "string"}, True),
        ({}, {"type": "string"}, True),
        ("integer", {"type": "integer"}, True),
        ("str", {"type": "string"}, True),
        ("Path", {"type": "string"}, True),
        ("int", {"type": "integer"}, True),
        ("float", {"type": "number"}, True),
        ("bool", {"type": "boolean"}, True),
        ("list", {"type": "array", "items": {}}, True),
        ("dict", {"type": "object"}, True),
        ({"description": "d"}, {"type": "string", "description": "d"}, True),
        ({"description": None, "type": None}, {"type": "string"}, True),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}, True),
        ({"enum": [1, "b"]}, {"enum": [1, "b"]}, True),
        ({"enum": ["a"], "required": False}, {"type": "string", "enum": ["a"]}, False),
        ({"type": "int", "optional": True}, {"type": "integer"}, False),
        ({"type": "int", "default": 5}, {"type": "integer", "default": 5}, False),
        ({"type": "int", "default": 5, "required": True}, {"type": "integer", "default": 5}, False),
        ({"default": None}, {"type": "string"}, False),
        ({"type": ["string", "null"], "default": None}, {"type": ["string", "null"], "default": None}, False),
        ({"type": "list", "default": [1]}, {"type": "array", "items": {}, "default": [1]}, False),
        ({"type": "dict", "default": {}}, {"type": "object", "default": {}}, False),
        ({"type": "list", "items": {"type": "int"}}, {"type": "array", "items": {"type": "integer"}}, True),
        (
            {"type": "object", "properties": {"b": {"type": "str"}}, "required": ["b"]},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
            True,
        ),
        ({"type": "string", "pattern": "(a+)+$", "$ref": "http://x"}, {"type": "string"}, True),
        ({"anyOf": [{"pattern": "x"}], "minLength": 1}, {"type": "string", "minLength": 1}, True),
        (
            {"type": "list", "items": {"type": "list", "items": {"$ref": "http://x", "pattern": "x"}}},
            {"type": "array", "items": {"type": "array", "items": {}}},
            True,
        ),
        (
            {"type": "object", "additionalProperties": {"$ref": "x"}},
            {"type": "object", "additionalProperties": {}},
            True,
        ),
        (
            {"type": "object", "properties": {"b": {"patternProperties": {"(a+)+$": {}}}, "c": "text"}},
            {"type": "object", "properties": {"b": {}, "c": {}}},
            True,
        ),
    ],
)
def test_an_argument_may_be_written_in_all_these_ways(written: object, schema: object, required: bool) -> None:
    assert schema_of(written) == (schema, required)


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (None, []),
        ({}, []),
        ({"a": None, "b": "int"}, ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ([{"name": "a", "type": "int"}, "b"], ["a", "b"]),
        ({"no": "int", "y": "int", "2d": "bool", "with-hyphen": None}, ["no", "y", "2d", "with-hyphen"]),
    ],
)
def test_arguments_are_a_map_or_a_list(args: object, names: list[str]) -> None:
    parameters = one(args=args).parameters
    assert list(parameters["properties"]) == parameters["required"] == names


@pytest.mark.parametrize(
    ("script", "interpreter"),
    [
        ("run.py", "python"),
        ("run", ""),
        ("deep/er/run.sh", "bash"),
        ("./run.py", "python"),
        ("deep//er/run.sh", "bash"),
        ("deep/../run.py", "python"),
        (" run.py ", "python"),
        ("run.py/", "python"),
        ("..odd.py", "python"),
    ],
)
def test_a_script_is_named_by_its_path_in_the_folder(script: str, interpreter: str) -> None:
    tool = one(script=script)
    assert (tool.path in SCRIPTS, tool.interpreter) == (True, interpreter)


@pytest.mark.parametrize("suffix", [".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".PY"])
def test_scripts_with_a_known_suffix_need_no_executable_bit(suffix: str) -> None:
    tools, problems = declared({"t": {"script": f"s{suffix}"}}, **{f"s{suffix}": FileEntry(b"")})
    assert tools["t"].interpreter
    assert problems == []


DATE = datetime.date(2024, 1, 2)
NESTED: dict[str, Any] = {}
for _ in range(20):
    NESTED = {"type": "list", "items": NESTED}

# Of each refusal: the rule, and what is declared.
REFUSED: list[tuple[str, object]] = [
    *[("tool-name", {name: {"script": "run.py"}}) for name in ("a b", "", "-a", "a" * 65, "ä", "a.b", "a\nb", "$(id)")],
    *[("tool-type", {"t": entry}) for entry in (None, "run.py", ["run.py"], 5)],
    *[
        ("tool-script", {"t": {"script": path}})
        for path in (None, "", " ", 5, ["run.py"], "no.py", "deep", ".", "run.py\0")
    ],
    *[("tool-script", {"t": {"script": path}}) for path in ("data.txt", "SKILL.md")],  # neither suffix nor bit
    *[
        ("tool-outside", {"t": {"script": path}})
        for path in ("../run.py", "a/../../run.py", "..", "deep/../../x/run.py")
    ],
    *[
        ("tool-outside", {"t": {"script": path}})
        for path in ("/bin/sh", " /bin/sh", "//bin/sh", "~/run.py", "~root/run.py")
    ],
    *[
        ("tool-outside", {"t": {"script": path}})
        for path in ("deep\\er\\run.sh", "..\\run.py", "C:\\run.py", "c:run.py", "C:/a")
    ],
    *[
        ("tool-args", {"t": {"script": "run.py", "args": args}})
        for args in ("a", 5, {"a b": None}, {"ä": None}, {"a": 5})
    ],
    *[
        ("tool-args", {"t": {"script": "run.py", "args": args}})
        for args in ({"": None}, {"a": ["x"]}, {"a" * 65: None}, [5.5])
    ],
    *[
        ("tool-args", {"t": {"script": "run.py", "args": {"a": argument}}})
        for argument in [
            *({"type": kind} for kind in ("any", "strng", 5, True, ["string", "any"], [], {})),
            {"required": "yes"},
            {"type": "int", "default": "x"},
            {"type": "int", "default": 1.5},
            {"enum": ["a"], "default": "b"},
            {"enum": []},
            {"enum": "a"},
            {"enum": {"a": 1}},
            {"type": "string", "enum": [True, False]},  # what YAML makes of 'enum: [yes, no]'
            {"enum": [DATE]},
            {"type": "string", "default": DATE},
            {"type": "object", "default": {"a": DATE}},
            {"examples": [b"x"]},
            {"type": "number", "default": float("nan")},
            {"type": "number", "maximum": float("inf")},
            {"type": "int", "default": 16**5000},
            {"type": "string", "default": "\ud800"},
            {"minLength": -1},
            {"minimum": "x"},
            {"multipleOf": 0},
            {"description": 5},
            {"type": "list", "items": "str"},
            {"type": "list", "items": [{"type": "str"}]},
            {"type": "object", "properties": ["a"]},
            {"type": "object", "properties": {"größe": {}}},
            {"type": "object", "properties": {"a": {"required": True}}},
            NESTED,
        ]
    ],
    *[("tool-pass", {"t": {"script": "run.py", "pass": style}}) for style in ("flags", 5, ["json"], True, "x" * 9999)],
    *[
        ("tool-timeout", {"t": {"script": "run.py", "timeout": value}})
        for value in (0, -1, "5", True, [5], 3601, 16**5000)
    ],
    *[("tool-timeout", {"t": {"script": "run.py", "timeout": value}}) for value in (float("nan"), float("inf"), DATE)],
]


@pytest.mark.parametrize(("rule", "tools"), REFUSED)
def test_a_tool_that_can_not_be_offered_is_told_by_its_rule_and_hides_no_other(rule: str, tools: dict) -> None:
    offered, problems = declared({"before": {"script": "run.py"}, **tools, "after": {"script": "run"}})
    assert list(offered) == ["before", "after"]
    assert [(problem.rule, problem.line, problem.severity) for problem in problems] == [(rule, 4, "error")]
    assert problems[0].remedy
    assert len(str(problems[0])) < 500


@pytest.mark.parametrize("tools", [[], ["a"], "a", 5, True, {"a"}, DATE])
def test_tools_that_are_no_map_are_told_so(tools: object) -> None:
    offered, problems = declared(tools)
    assert (offered, [problem.rule for problem in problems]) == ({}, ["tools-type"])


def test_no_tools_are_no_problem() -> None:
    assert declared(None) == declared({}) == ({}, [])


def test_fields_that_nobody_knows_are_a_warning() -> None:
    offered, problems = declared({"t": {"script": "run.py", "arguments": {}, "x": 1}})
    assert list(offered) == ["t"]
    assert [(problem.rule, problem.severity) for problem in problems] == [("tool-field", "warning")]
    assert "arguments, x" in problems[0].message


def test_a_script_that_is_a_link_or_no_file_or_too_large_is_refused_and_hides_no_other(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "link.py").symlink_to("/bin/sh")
    (folder / "there").symlink_to("/bin")
    (folder / "folder.py").mkdir()
    os.mkfifo(folder / "pipe.py")
    (folder / "good.py").touch()
    with (folder / "large.py").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    paths = ["link.py", "there/sh", "folder.py", "pipe.py", "large.py", "good.py"]
    tools, problems = tools_of({f"t{i}": {"script": path} for i, path in enumerate(paths)}, FolderFiles(folder), 4)
    assert [tool.path for tool in tools] == ["good.py"]
    assert [problem.rule for problem in problems] == ["tool-script"] * 5


def test_a_tools_py_that_is_too_large_to_read_is_told_so(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    with (folder / "tools.py").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert [problem.rule for problem in Skill.from_path(folder).problems] == ["tools-unreadable"]
    assert Skill.from_path(folder).tools == ()


yaml_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.dates()
    | st.binary(max_size=3)
    | st.sampled_from(["run.py", "string", "int", "list", "object", "json"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "enum", "default", "items", "properties", "required", "minimum", "a", "description", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
entries = st.fixed_dictionaries(
    {"script": st.just("run.py") | yaml_values},
    optional={
        "args": yaml_values | st.dictionaries(st.sampled_from("ab"), yaml_values),
        "pass": yaml_values,
        "timeout": yaml_values,
    },
)


@settings(max_examples=400, deadline=None)
@given(yaml_values | st.dictionaries(st.text(max_size=3), entries | yaml_values, max_size=3))
def test_whatever_is_declared_is_a_tool_with_a_sound_schema_or_a_problem(tools: object) -> None:
    offered, problems = declared(tools)
    if isinstance(tools, dict):
        refused = [problem for problem in problems if problem.severity == "error"]
        assert len(offered) + len(refused) == len(tools)
    for tool in offered.values():
        Draft202012Validator.check_schema(tool.parameters)
        json.dumps([tool.parameters, tool.description], allow_nan=False).encode()
        assert tool.timeout is None or tool.timeout > 0
        tool.checked({})


# How a script gets its arguments.

ARGPARSE = b"import argparse\np = argparse.ArgumentParser()\np.add_argument('--url')\np.add_argument('--max-depth')"


@pytest.mark.parametrize(
    ("script", "wanted", "style"),
    [
        (b"", None, "positional"),
        (ARGPARSE, None, "named"),
        (b"echo --url", None, "positional"),
        (ARGPARSE, "positional", "positional"),
        (b"", "named", "named"),
        (ARGPARSE, "json", "json"),
    ],
)
def test_a_script_gets_options_if_it_has_one_for_each_argument_and_else_what_its_author_says(
    script: bytes, wanted: str | None, style: str
) -> None:
    assert convention_of(wanted, ["url", "max_depth"], script).style == style


def test_a_tool_without_arguments_gets_no_words() -> None:
    assert convention_of(None, [], ARGPARSE).words({}) == []


def test_named_arguments_are_spelled_as_the_script_spells_them() -> None:
    convention = convention_of(None, ["url", "max_depth"], ARGPARSE)
    assert convention.words({"max_depth": 2, "url": "--help"}) == ["--url=--help", "--max-depth=2"]
    assert convention_of("named", ["a_b"], b"--a_b=*)").words({"a_b": "x"}) == ["--a_b=x"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("-x", ["--a=-x"]),
        (-5, ["--a=-5"]),
        ("", ["--a="]),
        (True, ["--a"]),
        (False, []),
        (None, []),
        (1.5, ["--a=1.5"]),
        (["x", 2], ["--a=x", "--a=2"]),
        ([], []),
        ({"k": "ü"}, ['--a={"k": "ü"}']),
        ("a b\nc", ["--a=a b\nc"]),
    ],
)
def test_a_named_value_can_not_become_an_option(value: object, words: list[str]) -> None:
    assert convention_of("named", ["a"], b"").words({"a": value}) == words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"a": "x", "b": 2, "c": True}, ["x", "2", "true"]),
        ({"a": "x"}, ["x"]),
        ({"c": "z"}, ["", "", "z"]),
        ({"a": [1, "ü"], "b": {"k": None}}, ['[1, "ü"]', '{"k": null}']),
        ({"a": None}, ["null"]),
        ({}, []),
        ({"a": "-5", "b": -0.5, "c": "-"}, ["-5", "-0.5", "-"]),
    ],
)
def test_positional_values_keep_their_places(values: dict[str, object], words: list[str]) -> None:
    assert convention_of("positional", ["a", "b", "c"], b"echo $1 $2 $3").words(values) == words


PARSING = {
    "argparse": b"import argparse\np.add_argument('--loud')",
    "from": b"from optparse import OptionParser",
    "click": b"import click",
    "typer": b"from typer import Typer",
    "bash": b"while getopts 'ab:' o; do :; done",
    "getopt": b'eval set -- $(getopt -o ab -- "$@")',
    "node": b"const { parseArgs } = require('node:util')",
    "yargs": b"import yargs from 'yargs'",
    "Perl": b"use Getopt::Long;\nGetOptions('out=s' => \\$out);",
}


@pytest.mark.parametrize("script", PARSING.values(), ids=PARSING)
def test_where_the_script_parses_options_itself_they_end_before_the_values(script: bytes) -> None:
    convention = convention_of("positional", ["a", "b"], script)
    assert convention.words({"a": "--help", "b": "--"}) == ["--", "--help", "--"]
    assert convention.words({}) == []


@pytest.mark.parametrize(
    "script", [b"page.click('#button')", b"// click here", b"# see commander", b"echo getopt", b"use_click = 1"]
)
def test_words_that_only_look_like_a_parser_are_none(script: bytes) -> None:
    assert convention_of("positional", ["a"], script).words({"a": "x"}) == ["x"]


@pytest.mark.parametrize(
    ("script", "value"),
    [
        (b'case "$1" in --help) usage;; esac', "--help"),
        (b'case "$1" in --out) ;; esac', "--out=/etc/passwd"),
        (b'[ "$1" = -x ]', "-x"),
        (b'[ "$1" = -x ]', "-xvalue"),
        (b"\x7fELF\0", "--anything"),
        (b"#" * (300 * 1024), "-a"),
        (b'tar cf /dev/null "$1"', "--checkpoint-action=exec=id"),
        (b"subprocess.run(['tar', 'cf', sys.argv[1]])", "--checkpoint=1"),
        (b'case "$1" in --*=*) declare "${1#--}";; esac', "--out=/etc/x"),
        (b'echo "$1"', "--"),
        (b"from lib import main; main()", "--delete=everything"),
        (b"import fire, lib\nfire.Fire(lib.run)", "--help"),
        (b'exec python3 real.py "$@"', "--help"),
        (b"import lib, sys\nlib.main(sys.argv[1:])", "-x"),
    ],
)
def test_a_value_that_a_script_could_take_for_an_option_is_refused_by_name(script: bytes, value: str) -> None:
    with pytest.raises(ValueError, match=r"^second: the script could take '-.*' for an option"):
        convention_of("positional", ["first", "second"], script).words({"first": "1", "second": value})


@pytest.mark.parametrize("value", ["-5", "-", "-.5", "-1.5", "- x", "x -y", "5-"])
def test_a_value_that_looks_like_no_option_is_passed_as_it_is(value: str) -> None:
    assert convention_of("positional", ["a"], b'echo "$1"').words({"a": value}) == [value]


def test_what_a_comment_says_of_options_does_not_count() -> None:
    assert convention_of("positional", ["a"], b'# no getopts here\necho "$1"').words({"a": "x"}) == ["x"]


LOOP = b'while [ $# -gt 0 ]; do case "$1" in --a) A="$2"; shift 2;; --b) B="$2"; shift 2;; esac; done; echo "$A|$B"'


def test_a_script_that_takes_its_words_apart_itself_gets_option_and_value_as_two(tmp_path: Path) -> None:
    convention = convention_of(None, ["a", "b"], LOOP)
    words = convention.words({"a": "x y", "b": -5})
    assert words == ["--a", "x y", "--b", "-5"]
    (tmp_path / "s.sh").write_bytes(LOOP)
    run = subprocess.run(["bash", tmp_path / "s.sh", *words], capture_output=True, text=True, check=True)
    assert run.stdout == "x y|-5\n"
    with pytest.raises(ValueError, match="b: the script could take"):
        convention.words({"a": "x", "b": "--a"})
    assert convention_of(None, ["a"], b"case $1 in --a=*) ;; esac").words({"a": "--b"}) == ["--a=--b"]


def test_a_script_with_commands_of_its_own_gets_no_separator() -> None:
    script = b"import argparse\np.add_subparsers(dest='what')"
    assert convention_of(None, ["what"], script).words({"what": "run"}) == ["run"]
    with pytest.raises(ValueError, match="could take"):
        convention_of(None, ["what"], script).words({"what": "--help"})


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (b"p.add_argument('--cache', action=argparse.BooleanOptionalAction, default=True)", ["--no-cache"]),
        (b"case $1 in --cache) ;; --no-cache) ;; esac", ["--no-cache"]),
        (b"p.add_argument('--cache', action='store_true')", []),
        (b"p.add_argument('--cache', action='store_true')\np.add_argument('--f', action=BooleanOptionalAction)", []),
    ],
)
def test_a_flag_is_switched_off_as_the_script_has_it(script: bytes, words: list[str]) -> None:
    assert convention_of("named", ["cache"], script).words({"cache": False}) == words


def test_a_nul_in_a_word_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^a: "):
        convention_of("positional", ["a"], b"").words({"a": "x\0y"})


def test_json_arguments_are_no_words_at_all() -> None:
    assert convention_of("json", ["a"], b"").words({"a": "--help"}) == []


@pytest.mark.parametrize("value", ["--help", "-x", "-5", "--url=x", "", "a b"])
@pytest.mark.parametrize("wanted", ["named", "positional"])
def test_argparse_really_gets_the_value(tmp_path: Path, wanted: str, value: str) -> None:
    option = "--url" if wanted == "named" else "url"
    script = f"import argparse\np = argparse.ArgumentParser()\np.add_argument('{option}')\nprint([p.parse_args().url])"
    (tmp_path / "s.py").write_text(script)
    words = convention_of(wanted, ["url"], script.encode()).words({"url": value})
    run = subprocess.run([sys.executable, "-S", tmp_path / "s.py", *words], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == repr([value])


@NO_HANG
def test_no_script_hangs_its_reader() -> None:
    for text in (b"import " * 100_000, b"--a" * 100_000, b"getopt " * 100_000, b"-" * 300_000):
        assert convention_of(None, ["a"], text).style == "positional"


# Arguments.

CHECKED = SkillTool(
    "t",
    "d",
    {
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "depth": {"type": "integer", "default": 1, "maximum": 9},
            "format": {"type": "string", "enum": ["text", "html"]},
            "maybe": {"type": ["integer", "null"]},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "share": {"type": "number", "multipleOf": 0.1},
            "free": {},
        },
        "required": ["url"],
        "additionalProperties": False,
    },
    "run.py",
)


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({"url": "x"}, {"url": "x", "depth": 1}),
        ({"depth": 2, "url": ""}, {"url": "", "depth": 2}),
        ({"url": "x", "depth": 5.0}, {"url": "x", "depth": 5}),
        ({"url": "x", "depth": None}, {"url": "x", "depth": 1}),
        ({"url": "x", "format": None}, {"url": "x", "depth": 1}),
        ({"url": "x", "maybe": None}, {"url": "x", "depth": 1, "maybe": None}),
        ({"url": "x", "maybe": 5.0}, {"url": "x", "depth": 1, "maybe": 5}),
        ({"url": "x", "sizes": [1.0, 2]}, {"url": "x", "depth": 1, "sizes": [1, 2]}),
        ({"url": "x", "share": 5.0}, {"url": "x", "depth": 1, "share": 5.0}),
        ({"url": "x", "free": None}, {"url": "x", "depth": 1, "free": None}),
        ({"url": "x", "free": {"a": [1.0]}}, {"url": "x", "depth": 1, "free": {"a": [1.0]}}),
    ],
)
def test_arguments_get_their_defaults_their_order_and_whole_numbers(arguments: dict, passed: dict) -> None:
    given_, complaints = CHECKED.checked(arguments)
    assert complaints == []
    assert repr(given_) == repr(passed)  # which tells 5 from 5.0, and the order


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, ["url"]),
        ({"url": None}, ["url"]),
        ({"url": 5}, ["url"]),
        ({"url": ["x"]}, ["url"]),
        ({"url": "x", "depth": "2"}, ["depth"]),
        ({"url": "x", "depth": 2.5}, ["depth"]),
        ({"url": "x", "depth": True}, ["depth"]),
        ({"url": "x", "depth": 10}, ["depth"]),
        ({"url": "x", "format": "pdf"}, ["format"]),
        ({"url": "x", "sizes": [1, "x"]}, ["sizes.1"]),
        ({"url": "x", "sizes": 1}, ["sizes"]),
        ({"url": "x", "other": 1}, ["other"]),
        ({"url": 5, "depth": "x", "format": "pdf"}, ["depth", "format", "url"]),
        ({"url": "x", "share": float("inf")}, ["share"]),
        ({"url": "x", "share": 10**400}, ["share"]),
        ({"url": "x", "free": [float("nan")]}, ["free"]),
        ({"url": "x", "free": "\ud800"}, ["free"]),
        ({"url": "x" * 10_000, "depth": "x" * 10_000}, ["depth"]),
    ],
)
def test_a_complaint_about_arguments_names_each_of_them(arguments: dict, names: list[str]) -> None:
    complaints = CHECKED.checked(arguments)[1]
    assert all(re.search(rf"(^|'){re.escape(name)}(:|')", text) for name, text in zip(names, complaints, strict=True))
    assert all(len(text) < 300 for text in complaints)


def test_an_argument_that_is_nested_without_end_is_refused() -> None:
    deep: list = []
    for _ in range(900):
        deep = [deep]
    assert CHECKED.checked({"url": "x", "free": deep})[1] == ["free: it is no JSON value"]


def test_no_reference_is_followed_into_the_network() -> None:
    tool = SkillTool("t", "d", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}, "run.py")
    with pytest.raises(Exception, match="Unresolvable"):
        tool.checked({"a": 1})


def test_checking_changes_neither_the_arguments_nor_the_defaults() -> None:
    tool = one(args={"a": {"type": "list", "default": [1]}, "b": "list"})
    arguments = {"b": [1.0]}
    tool.checked(arguments)[0]["a"].append(2)
    assert arguments == {"b": [1.0]}
    assert tool.checked(arguments)[0]["a"] == [1]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*CHECKED.parameters["properties"], "other"]), json_values))
def test_arguments_that_pass_satisfy_the_schema(arguments: dict[str, object]) -> None:
    passed, complaints = CHECKED.checked(arguments)
    if not complaints:
        assert Draft202012Validator(CHECKED.parameters).is_valid(passed)
        assert is_json(passed)
        assert type(passed["depth"]) is int


# Names.

parts = (
    st.text("ab-_1é", min_size=1, max_size=6)
    | st.text(min_size=1, max_size=90)
    | st.text("a_", min_size=50, max_size=70)
)


@settings(max_examples=1000, deadline=None)
@given(*[st.tuples(parts, parts)] * 2)
@example(("a--b", "c"), ("a", "b__c"))
@example(("a", "b__c"), ("a__b", "c"))
@example(("a_", "b"), ("a", "_b"))
@example(("é", "b"), ("s-", "b"))
@example(("1", "b"), ("s1", "b"))
@example(("a" * 60, "bcd"), ("a" * 60, "bce"))
def test_other_tools_have_other_names_and_every_provider_takes_them(one: tuple[str, str], two: tuple[str, str]) -> None:
    assert (call_name(*one) == call_name(*two)) is (one == two)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", call_name(*one))


def test_a_name_that_fits_is_the_skill_s_and_the_tool_s() -> None:
    assert call_name("web-research", "fetch_page") == "web-research__fetch_page"
    assert call_name("a" * 31, "b" * 31) == f"{'a' * 31}__{'b' * 31}"
    assert len(call_name("a" * 31, "b" * 32)) == 64


@pytest.mark.parametrize(
    ("skill", "tool"), [("技能", "t"), ("a__b", "c"), ("a", "b__c"), ("1a", "t"), ("a", "_b"), ("a" * 64, "b")]
)
def test_nobody_can_take_the_name_that_another_was_given_in_place_of_its_own(skill: str, tool: str) -> None:
    taken = call_name(skill, tool)
    for cut in range(1, len(taken) - 2):
        if taken[cut : cut + 2] == "__":
            assert call_name(taken[:cut], taken[cut + 2 :]) != taken


# tools.py.


def functions(source: str | bytes) -> tuple[dict[str, SkillTool], list[Problem]]:
    tools, problems = module_tools(source if isinstance(source, bytes) else source.encode())
    return {tool.name: tool for tool in tools}, problems


def signature(text: str) -> dict[str, Any]:
    tools, problems = functions(f"@tool\ndef f({text}): 0")
    assert problems == []
    return dict(tools["f"].parameters)


@pytest.mark.parametrize(
    "code", ["open('made', 'w')", "raise SystemExit(1)", "import os; os._exit(1)", "while True: pass", "1/0"]
)
def test_nothing_of_a_tools_py_is_run(workdir: Path, code: str) -> None:
    folder = write_skill(workdir, "x")
    made = "open('made', 'w')"
    source = f"{code}\n@tool\ndef f(a={made}, b: {made} = 1): 0\n@tool(name={made})\ndef g(): 0\n"
    (folder / "tools.py").write_text(source)
    skill = Skill.from_path(folder)
    assert [tool.name for tool in skill.tools] == ["f", "g"]
    assert skill.problems == ()
    assert not (workdir / "made").exists()
    assert skill.files() == ["SKILL.md", "tools.py"]


@pytest.mark.parametrize(
    ("decorator", "name", "description"),
    [
        ("@tool", "f", "Says so."),
        ("@tool()", "f", "Says so."),
        ("@tool(name='g')", "g", "Says so."),
        ("@tool(name='g', description='D.')", "g", "D."),
        ("@tool(name=NAME)", "f", "Says so."),
        ("@tool(name=5)", "f", "Says so."),
        ("@tool(**words)", "f", "Says so."),
        ("@runtime.tool", "f", "Says so."),
        ("@a.b.tool(name='g')", "g", "Says so."),
        ("@cached\n@tool\n@other()", "f", "Says so."),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_functions_under_the_decorator_are_tools(kind: str, decorator: str, name: str, description: str) -> None:
    tools, problems = functions(f'{decorator}\n{kind} f(a: int):\n    """Says\n    so.\n\n    More.\n    """')
    assert problems == []
    assert (list(tools), tools[name].function, tools[name].path) == ([name], "f", "tools.py")
    assert tools[name].description == description


@pytest.mark.parametrize(
    "source",
    [
        "def f(): 0",
        "@tools\ndef f(): 0",
        "@tool.other\ndef f(): 0",
        "@other(tool)\ndef f(): 0",
        "class A:\n  @tool\n  def f(self): 0",
        "@tool\nclass A: 0",
        "def g():\n  @tool\n  def f(): 0",
        "",
        "# nothing",
        "f = tool(lambda: 0)",
        "@tool[0]\ndef f(): 0",
    ],
)
def test_anything_else_is_no_tool_and_no_problem(source: str) -> None:
    assert functions(source) == ({}, [])


ANNOTATIONS: dict[str, dict[str, Any]] = {
    "": {},
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "Path": {"type": "string"},
    "pathlib.Path": {"type": "string"},
    "list": {"type": "array", "items": {}},
    "list[str]": {"type": "array", "items": {"type": "string"}},
    "List[int]": {"type": "array", "items": {"type": "integer"}},
    "list[list]": {"type": "array", "items": {"type": "array", "items": {}}},
    "list[Any]": {"type": "array", "items": {}},
    "set[str]": {"type": "array", "items": {"type": "string"}},
    "Sequence[float]": {"type": "array", "items": {"type": "number"}},
    "tuple": {"type": "array", "items": {}},
    "tuple[int, ...]": {"type": "array", "items": {"type": "integer"}},
    "tuple[int, str]": {"type": "array", "items": {}, "minItems": 2, "maxItems": 2},
    "tuple[int, None]": {"type": "array", "items": {}, "minItems": 2, "maxItems": 2},
    "dict": {"type": "object"},
    "dict[str, int]": {"type": "object", "additionalProperties": {"type": "integer"}},
    "dict[str, Any]": {"type": "object"},
    "int | None": {"type": ["integer", "null"]},
    "int | str | None": {"type": ["integer", "string", "null"]},
    "Optional[str]": {"type": ["string", "null"]},
    "typing.Optional[str]": {"type": ["string", "null"]},
    "Union[int, str]": {"type": ["integer", "string"]},
    "list[int] | None": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
    "list | None": {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]},
    "int | Unknown": {},
    "Literal['a', 'b']": {"type": "string", "enum": ["a", "b"]},
    "Literal[1, 'b', None]": {"enum": [1, "b", None]},
    "Literal[b'x']": {},
    "'int'": {"type": "integer"},
    "'list[int] | None'": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
    "'no ] python'": {},
    "Annotated[int, 'How many.']": {"type": "integer", "description": "How many."},
    "Annotated[int, Field(gt=0)]": {"type": "integer"},
    "Any": {},
    "pd.DataFrame": {},
    "Callable[[int], str]": {},
    "Optional[()]": {},
    "Union[()]": {},
    "list[()]": {"type": "array", "items": {}},
    "Literal[()]": {},
    "Annotated[()]": {},
    "f(1)[2]": {},
}


@pytest.mark.parametrize(("annotation", "schema"), ANNOTATIONS.items(), ids=ANNOTATIONS)
def test_an_annotation_is_read_as_a_schema(annotation: str, schema: dict[str, Any]) -> None:
    parameters = signature(f"a{': ' * bool(annotation)}{annotation}")
    assert parameters["properties"] == {"a": schema}
    assert parameters["required"] == ["a"]
    Draft202012Validator.check_schema(parameters)


def test_no_two_arguments_share_a_schema_that_somebody_could_change() -> None:
    """A library that turns schemas into those of a provider does so in place."""
    signature("a: int, b: list[str]")["properties"]["b"]["items"]["type"] = signature("a: str")["properties"]["a"][
        "type"
    ] = "?"
    assert signature("a: int, b: list[str], c: str")["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"type": "string"}},
        "c": {"type": "string"},
    }


@pytest.mark.parametrize(
    ("argument", "schema"),
    [
        ("a=5", {"default": 5}),
        ("a: int = -5", {"type": "integer", "default": -5}),
        ("a: str = None", {"type": "string"}),
        ("a: str | None = None", {"type": ["string", "null"], "default": None}),
        ("a: int = '5'", {"type": "integer"}),
        ("a=[1, {'b': None}]", {"default": [1, {"b": None}]}),
        *(
            (f"a={value}", {})
            for value in ("(1, 2)", "{1}", "b'x'", "1j", "...", "NAME", "f()", "1e999", "-1e999", "{1: 2}")
        ),
        ("a='\\ud800'", {}),
        ("*, a: bool = False", {"type": "boolean", "default": False}),
        ("a: int = 1, /", {"type": "integer", "default": 1}),
    ],
)
def test_an_argument_with_a_default_may_be_left_out_and_a_plain_one_is_told(argument: str, schema: dict) -> None:
    parameters = signature(argument)
    assert (parameters["properties"]["a"], parameters["required"]) == (schema, [])
    json.dumps(parameters, allow_nan=False)


def test_arguments_of_all_kinds_keep_their_order() -> None:
    parameters = signature("a, b=1, /, c=2, *, d, e=3")
    assert (list(parameters["properties"]), parameters["required"]) == (list("abcde"), ["a", "d"])


@pytest.mark.parametrize(
    "doc",
    [
        "Does it.\n\n    Args:\n        a: First\n         and more.\n        b (int): Second: yes.\n    Returns:",
        "Does it.\n    Args:\n      a: First and more.\n\n      b: Second: yes.\n\n    Note:\n        c: no",
        "Does it.\n\n    :param a: First and more.\n    :param int b: Second: yes.\n    :returns: x",
        "Does it.\n\n    Parameters:\n        a: First and more.\n        *b: Second: yes.",
    ],
    ids=["Google", "Google, tight", "Sphinx", "other word"],
)
def test_a_docstring_says_what_the_tool_and_its_arguments_are(doc: str) -> None:
    tools, _ = functions(f'@tool\ndef f(a, b, c):\n    """{doc}\n    """')
    assert tools["f"].description == "Does it."
    texts = {name: schema.get("description") for name, schema in tools["f"].parameters["properties"].items()}
    assert texts == {"a": "First and more.", "b": "Second: yes.", "c": None}


@pytest.mark.parametrize(
    ("source", "rule", "line"),
    [
        ("\n@tool\ndef f(*a): 0", "tool-function", 3),
        ("@tool\ndef f(**a): 0", "tool-function", 2),
        ("@tool\ndef größe(): 0", "tool-function", 2),
        ("@tool\ndef f(größe): 0", "tool-function", 2),
        (f"@tool\ndef f({'a' * 65}): 0", "tool-function", 2),
        (f"@tool\ndef {'f' * 65}(): 0", "tool-function", 2),
        ("@tool(name='a b')\ndef f(): 0", "tool-function", 2),
        ("@tool(name='')\ndef f(): 0", "tool-function", 2),
        (f"@tool\ndef f(a: {' | '.join(['int'] * 1500)}): 0", "tool-function", 2),
    ],
)
def test_a_function_that_can_not_be_offered_is_told_and_hides_no_other(source: str, rule: str, line: int) -> None:
    tools, problems = functions(f"{source}\n@tool\ndef good(): 0")
    assert list(tools) == ["good"]
    assert [(problem.rule, problem.path, problem.line) for problem in problems] == [(rule, "tools.py", line)]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def", 1),
        ("x = 1\nprint 'x'", 2),
        ("x = 1\n  y = 2", 2),
        (b"x = '\xff'", 1),
        (b"# coding: nonsense\n", None),
        (b"# coding: rot13\n", None),
        (b"x = 1\0", None),
        (b"\xff\xfex\0", None),
        (f"x = {'(' * 5000}", 1),
        (f"x = {'-' * 200_000}1", None),
        (f"x = {'+'.join(['1'] * 100_000)}", None),
        (f"x{'.a' * 100_000}", None),
        (f"x = {'9' * 10_000}", 1),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_tools_py_that_is_no_python_is_told_and_the_skill_loads(
    tmp_path: Path, source: str | bytes, line: int | None
) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "tools.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    (folder / "SKILL.md").write_text("---\nname: x\ndescription: y\ntools: {t: {script: tools.py}}\n---\n")
    skill = Skill.from_path(folder)
    problems = [problem for problem in skill.problems if problem.rule != "unknown-field"]
    assert [problem.rule for problem in problems] == ["tools-syntax"]
    assert problems[0].line in {line, *({1} if line is None else ())}
    assert [tool.name for tool in skill.tools] == ["t"]


@pytest.mark.parametrize(
    "annotation", ["'" + "-" * 100_000 + "1'", "'" + "(" * 5000 + "'", "list[" * 90 + "int" + "]" * 90, "'\\0'"]
)
def test_an_annotation_that_nobody_can_read_says_nothing(annotation: str) -> None:
    assert functions(f"@tool\ndef f(a: {annotation}): 0\n@tool\ndef g(): 0")[0].keys() >= {"g"}


def test_what_python_warns_of_in_a_tools_py_is_not_said_to_whoever_lists_skills() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tools, problems = functions('@tool\ndef f(a: int = 1):\n    """\\d"""\n    return a is 1')
    assert (list(tools), problems) == (["f"], [])


def test_halves_of_characters_do_not_get_into_what_a_model_is_told() -> None:
    tools, _ = functions(
        '@tool\ndef f(a: Literal["\\ud800"]):\n    """\\ud800 x\n\n    Args:\n        a: \\udfff y\n    """'
    )
    json.dumps([tools["f"].description, tools["f"].parameters], ensure_ascii=False).encode()


def test_a_long_docstring_is_cut_to_what_providers_take() -> None:
    assert len(functions(f'@tool\ndef f():\n    """{"y" * 5000}"""')[0]["f"].description) == 1024


@pytest.mark.parametrize(
    ("source", "offered", "line"),
    [
        ("@tool\ndef f(a): 0\n@tool\ndef f(b): 0", {"f": ["b"]}, 2),
        ("@tool(name='t')\ndef f(a): 0\n@tool(name='t')\ndef g(b): 0", {"t": ["b"]}, 2),
        ("@tool(name='t')\ndef f(a): 0\n@tool(name='u')\ndef f(b): 0", {"u": ["b"]}, 2),
        ("@tool\ndef f(a): 0\n@tool\ndef f(*b): 0", {}, 2),
    ],
)
def test_of_functions_of_one_name_python_keeps_the_last_so_that_one_is_offered(
    source: str, offered: dict[str, list[str]], line: int
) -> None:
    tools, problems = functions(source)
    assert {name: list(tool.parameters["properties"]) for name, tool in tools.items()} == offered
    assert ("tool-duplicate", line) in {(problem.rule, problem.line) for problem in problems}


def test_a_function_does_not_take_the_name_of_a_declared_tool() -> None:
    source = FileEntry(b"@tool\ndef t(): 0\n@tool\ndef u(): 0")
    tools, problems = declared({"t": {"script": "run.py"}}, **{"tools.py": source})
    assert {name: tool.path for name, tool in tools.items()} == {"t": "run.py", "u": "tools.py"}
    assert [(problem.rule, problem.path) for problem in problems] == [("tool-duplicate", "tools.py")]


def test_only_a_tools_py_at_the_top_is_looked_at(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "x")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "tools.py").write_text("@tool\ndef f(): 0")
    (folder / "Tools.py").write_text("@tool\ndef f(): 0")
    assert Skill.from_path(folder).tools == ()


@pytest.mark.parametrize(
    "line", [":param" + " " * 50_000 + "!", ":param " + "a " * 50_000, "a" * 100_000, " " * 100_000 + "x("]
)
@NO_HANG
def test_no_docstring_hangs_its_reader(line: str) -> None:
    assert functions(f'@tool\ndef f(a):\n    """X.\n\n    Args:\n        {line}\n    {line}\n    """')


python = st.text(string.ascii_letters + " \n\t:=,()[]{}'\"@*|.0123456789_\\-#é\0", max_size=60)
annotations = st.recursive(
    st.sampled_from(["int", "str", "None", "Any", "Path", "list", "'int'", "...", "()", "1", "x.y"]),
    lambda inner: (
        st.tuples(
            st.sampled_from(["list", "dict", "Optional", "Union", "Literal", "tuple", "Annotated", "x"]),
            st.lists(inner, min_size=1, max_size=3),
        ).map(lambda pair: f"{pair[0]}[{', '.join(pair[1])}]")
        | st.tuples(inner, inner).map(" | ".join)
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(
    python.map(str.encode)
    | st.binary(max_size=40)
    | annotations.map(lambda a: f"@tool\ndef f(a: {a}, b: {a} = 1): 0".encode())
)
def test_whatever_a_tools_py_holds_its_tools_have_sound_schemas(source: bytes) -> None:
    for tool in functions(source)[0].values():
        Draft202012Validator.check_schema(tool.parameters)
        json.dumps([tool.parameters, tool.description], allow_nan=False)


@NO_HANG
def test_of_very_many_functions_the_first_are_offered_and_the_rest_is_told() -> None:
    tools, problems = module_tools("\n".join(f"@tool\ndef f{i}(): 0" for i in range(20_000)).encode())
    assert [tool.name for tool in tools] == [f"f{i}" for i in range(128)]
    assert len(problems) == 20_000 - 128
    assert "128 tools at most" in problems[0].message
