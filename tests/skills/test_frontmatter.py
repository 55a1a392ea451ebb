"""Taking a SKILL.md apart: what is mended and noted, and what is refused."""

from __future__ import annotations

import re
import string

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.skills.frontmatter import (
    DEEPEST,
    LARGEST_FRONTMATTER,
    LARGEST_MANIFEST,
    MOST_NODES,
    Frontmatter,
    parse,
)
from tests.conftest import NO_HANG


def around(fields: str, body: str = "Do it.\n") -> bytes:
    return f"---\n{fields}\n---\n{body}".encode()


def noted(front: Frontmatter) -> set[tuple[str, int | None]]:
    return {(problem.rule, problem.line) for problem in front.problems}


PLAIN = "---\nname: x\ndescription: ü\n---\n\n  First.\nSecond.\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (PLAIN.encode(), set()),
        (PLAIN.encode("utf-8-sig"), {("byte-order-mark", 1)}),
        (PLAIN.replace("\n", "\r\n").encode(), {("line-ends", 1)}),
        (PLAIN.replace("\n", "\r").encode(), {("line-ends", 1)}),
        (PLAIN.replace("---\n", "---  \n").encode(), set()),
        (PLAIN.encode("utf-16"), {("encoding", 1)}),
        (b"\xfe\xff" + PLAIN.encode("utf-16-be"), {("encoding", 1)}),
    ],
    ids=["plain", "byte-order mark", "CRLF", "CR", "blanks behind the fences", "UTF-16 LE", "UTF-16 BE"],
)
def test_what_editors_do_to_a_file_changes_nothing_of_what_is_read(content: bytes, expected: set) -> None:
    front = parse(content)
    assert front.fields == front.texts == {"name": "x", "description": "ü"}
    assert front.lines == {"name": 2, "description": 3}
    assert (front.body, front.body_line) == ("  First.\nSecond.", 6)
    assert noted(front) == expected


def test_blank_lines_above_the_frontmatter_are_noted_and_all_lines_are_counted_with_them() -> None:
    front = parse(b"\n \t\n" + PLAIN.encode())
    assert noted(front) == {("frontmatter-start", 1)}
    assert (front.lines, front.body_line) == ({"name": 4, "description": 5}, 8)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_stray_byte_in_the_body_is_noted_with_its_line(line_end: str) -> None:
    text = line_end.join(["---", "name: x", "---", "good", "b?d"]).encode().replace(b"?", b"\xff")
    front = parse(text)
    assert front.body == "good\nb\ufffdd"
    assert noted(front) - {("line-ends", 1)} == {("encoding", 5)}


def test_a_stray_byte_in_the_frontmatter_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidSkill, match="not UTF-8 text") as caught:
        parse(b"---\r\nname: x\r\ndescription: \xff\r\n---\r\n\xfe")
    assert caught.value.line == 3


def test_a_replacement_character_that_somebody_wrote_is_text_like_any_other() -> None:
    assert parse(around("description: a\ufffdb").replace(b"Do", b"\xff")).texts == {"description": "a\ufffdb"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a --- b", "a --- b"),
        ("'---'", "---"),
        ("|\n  above\n  ---\n  below", "above\n---\nbelow\n"),
        (">-\n  above\n   --- \n  below", "above\n --- \nbelow"),
    ],
    ids=["in a line", "in quotes", "in a literal block", "in a folded block"],
)
def test_only_a_line_of_its_own_that_is_not_indented_ends_the_frontmatter(written: str, read: str) -> None:
    front = parse(around(f"description: {written}\nname: x"))
    assert front.texts["description"].rstrip() == read.rstrip()
    assert front.body == "Do it."


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Use when: asked", "Use when: asked"),
        ("Use when: asked\n  for more: that", "Use when: asked for more: that"),
        ("Use when: asked\n\n  for more", "Use when: asked for more"),
        ('Use when: it\'s "so" # really', 'Use when: it\'s "so" # really'),
        ("ends with a colon:", "ends with a colon:"),
        ("`run` it", "`run` it"),
        ("@mentions of people", "@mentions of people"),
        ("%PATH% explained", "%PATH% explained"),
        ("*bold* words", "*bold* words"),
        ("*alone", "*alone"),
        ("&c. and so on: yes", "&c. and so on: yes"),
        ("[DRAFT] does things", "[DRAFT] does things"),
        ("{{ placeholder }} left", "{{ placeholder }} left"),
        ("'quoted' at the start", "'quoted' at the start"),
        ('"quoted" at the start', '"quoted" at the start'),
        ('"never closed', '"never closed'),
        ("!important thing", "!important thing"),
        (">90% of cases", ">90% of cases"),
        ("|x| is the absolute value", "|x| is the absolute value"),
        ("- a dash", "- a dash"),
        ("? a question", "? a question"),
        ("2024-13-45", "2024-13-45"),
        (f"{'9' * 5000}", "9" * 5000),
        (f"{'1:' * 400}1.5", f"{'1:' * 400}1.5"),
    ],
    ids=lambda value: value[:24],
)
def test_a_value_that_should_have_been_quoted_is_read_as_plain_text_and_noted(written: str, read: str) -> None:
    front = parse(around(f"name: x\ndescription: {written}\nlicense: MIT"))
    assert " ".join(front.texts.pop("description").split()) == read
    assert front.texts == {"name": "x", "license": "MIT"}
    assert noted(front) == {("yaml-quotes", 3)}


def test_values_are_mended_at_every_depth_and_each_is_noted_with_its_line() -> None:
    front = parse(around("a: b: c\nmetadata:\n  when: x: y\n  list:\n    - key: p: q\n      other: fine\n  d: @e"))
    assert front.texts == {
        "a": "b: c",
        "metadata": {"when": "x: y", "list": [{"key": "p: q", "other": "fine"}], "d": "@e"},
    }
    assert noted(front) == {("yaml-quotes", line) for line in (2, 4, 6, 8)}


@pytest.mark.parametrize(
    ("other", "read"),
    [
        ("'a\tb'", "a\tb"),
        ("|\n  a\n  \tb", "a\n\tb\n"),
        ("[a, 'b: c']", ["a", "b: c"]),
        ("{a: 1}", {"a": "1"}),
        ('"a\\n\n  b"', "a\n b"),
        ("a # comment", "a"),
    ],
    ids=["tab in quotes", "tab in a block", "list", "map", "escapes", "comment"],
)
def test_mending_one_value_leaves_the_others_as_they_are(other: str, read: object) -> None:
    front = parse(around(f"description: a: b\nmetadata: {other}"))
    assert front.texts["metadata"] == read
    assert noted(front) == {("yaml-quotes", 2)}


def test_mending_one_value_leaves_aliases_of_others_alone() -> None:
    front = parse(around("base: &base {x: 1}\nmetadata: *base\ndescription: a: b"))
    assert front.fields["metadata"] == {"x": 1}
    assert noted(front) == {("yaml-quotes", 4)}


def test_tabs_that_indent_are_replaced_and_noted() -> None:
    front = parse(around("name: x\nmetadata:\n\ta: b\n\tc: 'd\te'"))
    assert front.texts == {"name": "x", "metadata": {"a": "b", "c": "d\te"}}
    assert noted(front) == {("yaml-tabs", 4)}


def test_values_are_kept_as_yaml_types_them_and_as_they_are_written() -> None:
    front = parse(
        around("metadata:\n  v: 1.10\n  d: 2024-01-02\n  n: null\n  e:\n  t: ~\n  b: yes\n  o: 010\n  q: '~'")
    )
    assert front.texts["metadata"] == {
        "v": "1.10",
        "d": "2024-01-02",
        "n": "null",
        "e": "",
        "t": "",
        "b": "yes",
        "o": "010",
        "q": "~",
    }
    values = front.fields["metadata"]
    assert (values["v"], values["n"], values["e"], values["b"], values["o"]) == (1.1, None, None, True, 8)
    assert values["d"].isoformat() == "2024-01-02"


def test_keys_are_text_as_they_are_written() -> None:
    keys = ["on", "no", "1.10", "2024-01-02", "null", "0x10"]
    front = parse(around("metadata: {" + ", ".join(f"{key}: v" for key in keys) + "}\ntrue: x\n1: y"))
    assert list(front.fields["metadata"]) == list(front.texts["metadata"]) == keys
    assert list(front.fields) == list(front.texts) == list(front.lines) == ["metadata", "true", "1"]


def test_nested_values_and_fields_nobody_knows_are_read_like_any_other() -> None:
    front = parse(around("metadata:\n  openclaw: {requires: [git, {bin: jq}]}\nx-vendor: [1, 2]\nüber-uns: ja"))
    assert front.fields == {
        "metadata": {"openclaw": {"requires": ["git", {"bin": "jq"}]}},
        "x-vendor": [1, 2],
        "über-uns": "ja",
    }
    assert front.problems == ()


def test_a_key_that_is_there_twice_is_noted_at_the_second_place_and_the_second_counts() -> None:
    front = parse(around("name: a\nmetadata:\n  k: 1\n  j: 2\n  k: 3\nname: b\nother: {name: c, k: d}"))
    assert (front.texts["name"], front.texts["metadata"]) == ("b", {"k": "3", "j": "2"})
    assert noted(front) == {("duplicate-field", 7), ("duplicate-field", 6)}
    assert front.lines["name"] == 7


def test_a_merged_key_is_no_key_twice() -> None:
    front = parse(around("base: &base {license: MIT, name: y}\n<<: *base\nname: x"))
    assert (front.texts["license"], front.texts["name"], front.problems) == ("MIT", "x", ())
    assert front.lines["name"] == 4


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{c}: &{c} [{', '.join([f'*{p}'] * 9)}]" for p, c in zip("abcdefgh", "bcdefghij", strict=False)
)
DEEP_BY_ALIASES = "\n".join(f"k{i}: &a{i} {'[' * 30}{f'*a{i - 1}' if i else 'x'}{']' * 30}" for i in range(30))


@pytest.mark.parametrize(
    ("content", "says", "line"),
    [
        (b"", "no frontmatter", 1),
        (b"\n\n \n", "no frontmatter", 1),
        (b"# Just Markdown", "no frontmatter", 1),
        (b"----\nname: x\n----\n", "no frontmatter", 1),
        (b"# above\n---\nname: x\n---\n", "no frontmatter", 1),
        (b"---\nname: x\n", "has no end", 1),
        (b"---", "has no end", 1),
        (around("- a\n- b"), "not a list of 'key: value'", None),
        (around("just words"), "not a list of 'key: value'", None),
        (around("# a comment"), "not a list of 'key: value'", None),
        (around(""), "not a list of 'key: value'", None),
        (around("name: x\nwords without a colon\nmore: y"), "not valid YAML in line", 4),
        (around("name: x\n? [a, b]\n: c"), "a key is not text", 3),
        (around("name: x\n? {a: b}\n: c"), "a key is not text", 3),
        (around("a: x\nname: !!python/object/apply:os.system [id]"), "could not determine a constructor", 3),
        (around("a: x\nname: !!python/name:os.system"), "could not determine a constructor", 3),
        (around("a: x\nb:\n  - !!python/object/new:os.system [id]"), "could not determine a constructor", 4),
        (around("name: x\nb: !!bool foo"), "not of its kind", None),
        (around("name: x\ndescription: a\x07b"), "control characters are not allowed", 3),
        (around("name: x\ndescription: ü\x00"), "control characters are not allowed", 3),
        (around("a: &a [*a]"), "contains itself", 2),
        (around("b: 1\na: &a\n  c: *a"), "contains itself", 3),
        (around("b: c: d\na: &a [*a]"), "mapping values are not allowed", 2),
        (around(BOMB), f"more than {MOST_NODES:,} values", 6),
        (around(DEEP_BY_ALIASES), f"nested more than {DEEPEST} deep", 3),
        (around("x: y\na: " + "[" * 100 + "]" * 100), f"nested more than {DEEPEST} deep", 3),
        (around("x: y\na: " + "[" * 20_000), f"nested more than {DEEPEST} deep", 3),
        (around("- " * 100_000), f"nested more than {DEEPEST} deep", 2),
        (around("a: [" + "a," * (MOST_NODES + 1) + "]"), f"more than {MOST_NODES:,} values", 2),
        (around(f"a: {'x' * LARGEST_FRONTMATTER}"), "more than 256 KiB", None),
        (around("a: b") + b"x" * LARGEST_MANIFEST, "more than 4 MiB", None),
    ],
    ids=lambda value: repr(value)[:32],
)
def test_what_is_no_frontmatter_or_beyond_all_bounds_is_refused_with_its_line(
    content: bytes, says: str, line: int | None
) -> None:
    with pytest.raises(InvalidSkill, match=re.escape(says)) as caught:
        parse(content)
    assert caught.value.line == line
    assert caught.value.next_step


@pytest.mark.parametrize(
    "fields",
    [
        "a: b: c\n" + "- " * 100_000,
        "a: b: c\n" + "word " * 40_000,
        "a: b: c\n" + " " * 200_000,
        "\n".join(f"k{i}: a: b" for i in range(20_000)),
        f"a: {'1:' * 100_000}1",
        f"? {'9' * 200_000}\n: x",
        BOMB,
        "bad: a: b\nx: '" + "&b-" * 41_000 + "'\n" + "a: *b\n" * 20_000,
    ],
    ids=[
        "hyphens",
        "words",
        "blanks",
        "many bad values",
        "number to base 60",
        "long number",
        "alias bomb",
        "many aliases",
    ],
)
@NO_HANG
def test_no_frontmatter_hangs_its_reader(fields: str) -> None:
    try:
        assert parse(around(fields)).body
    except InvalidSkill as error:
        assert error.next_step  # noqa: PT017 -- either will do


pieces = st.sampled_from(
    [
        *(
            "---\n",
            "name: x\n",
            "description: ",
            "a: b: c\n",
            "- ",
            "  ",
            "\t",
            "|\n",
            ">",
            "&a ",
            "*a",
            "!!",
            "<<: ",
            "=",
        ),
        *("'", '"', "[", "]", "{", "}", "? ", ": ", "#", "\r\n", "\ufeff", "\0", "!!set ", "~", "\u2028", "\x85"),
        *("2024-02-30", "1:2:3.4", "!!binary ", "!!omap ", "!!float ", "!!timestamp "),
    ]
).map(str.encode)
soup = st.lists(pieces | st.binary(max_size=6), max_size=30).map(b"".join)


@settings(max_examples=600, deadline=None)
@given(st.binary() | soup | soup.map(lambda inside: b"---\n" + inside + b"\n---\nbody"))
@example(b"---\na: !!timestamp x\n---\n")
@example(b"---\na: !!int \n---\n")
@example(b"---\n? !!set {a}\n: b\n---\n")
@example(b"---\n<<: x\n---\n")
@example(b"\xff\xfe\x00")
def test_any_bytes_are_a_frontmatter_or_refused(content: bytes) -> None:
    try:
        front = parse(content)
    except InvalidSkill:
        return
    assert front.fields.keys() == front.texts.keys()
    assert front.lines.keys() - {"<<"} <= front.fields.keys()
    assert all(1 <= line <= front.body_line for line in front.lines.values())


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff\ufffe\uffff"))
values = st.recursive(
    words | st.integers(-(10**20), 10**20) | st.booleans() | st.none() | st.floats(allow_nan=False) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(words, values, min_size=1, max_size=5), st.booleans(), words)
def test_whatever_yaml_can_write_is_read_back(fields: dict[str, object], flow: bool, body: str) -> None:
    dumped = yaml.safe_dump(fields, allow_unicode=True, default_flow_style=flow, sort_keys=False, width=10_000)
    front = parse(around(dumped.rstrip("\n"), body))
    assert front.fields == fields
    assert front.body == body.rstrip()
    assert front.problems == ()


one_line = st.text(
    st.sampled_from(string.ascii_letters + string.digits + " '\"`:,.-#@%&*!|>?[]{}()~=<\\/$äß技\u00a0\t")
    | st.characters(codec="utf-8", categories=["L", "N", "P", "S"]),
    min_size=1,
    max_size=60,
).map(str.strip)


@settings(max_examples=500, deadline=None)
@given(one_line.filter(lambda text: text[:1].isalpha() and not re.search(r"\s#", text)))
@example("Use when: asked")
@example("a: 'b': \"c\": [d")
@example("a:")
@example("Foo: |")
def test_a_line_that_begins_with_a_letter_is_read_as_it_stands_whatever_follows(text: str) -> None:
    """But for ' #', with which YAML begins a comment: a valid line means what YAML says."""
    front = parse(around(f"name: x\ndescription: {text}\nlicense: MIT"))
    assert front.texts == {"name": "x", "description": text, "license": "MIT"}


@settings(max_examples=500, deadline=None)
@given(one_line.filter(lambda text: text and not text.startswith("!!")))
@example("*a")
@example("&a b: c")
@example(">90%")
@example("[a] b")
@example("| # comment")
def test_any_line_is_read_as_yaml_reads_it_alone_or_else_as_it_stands(text: str) -> None:
    try:
        alone = yaml.load(f"key: {text}", getattr(yaml, "CSafeLoader", yaml.SafeLoader))["key"]
    except (yaml.YAMLError, ValueError):
        alone = text
    front = parse(around(f"name: x\ndescription: {text}\nlicense: MIT"))
    assert front.fields in (
        {"name": "x", "description": alone, "license": "MIT"},
        {"name": "x", "description": text, "license": "MIT"},
    )
    if any(problem.rule == "yaml-quotes" for problem in front.problems):
        assert front.fields["description"] == text
