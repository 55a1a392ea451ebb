"""Our strict verdict against that of ``skills-ref``, the specification's own demonstration of a validator.

Both must say the same of every SKILL.md, except where the table below says why not. Its cases must differ, so a
release of skills-ref that mends one shows here. Of what is generated, a difference must be one that the predicates
below know, and in the direction that they say.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import string
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import strictyaml
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from skills_ref import validator as skills_ref

from jupyter_skills.skills.validation import validate

GOOD = "name: x\ndescription: y"


def written(fields: str, body: str = "body\n") -> bytes:
    return f"---\n{fields}\n---\n{body}".encode()


def verdicts(content: bytes, folder_name: str = "x") -> tuple[bool, bool]:
    """Ours and theirs; a crash is counted as a no."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, folder_name)
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(content)
        try:
            theirs = not skills_ref.validate(folder)
        except (ValueError, AttributeError):  # not UTF-8; a character that its parser refuses
            theirs = False
        return validate(folder).valid, theirs


OURS, THEIRS = "we take it", "skills-ref takes it"

# Case: who takes it, the SKILL.md, and why the other does not, or should not.
DIFFERENCES: dict[str, tuple[str, bytes, str]] = {
    "flow map": (OURS, written(f"{GOOD}\nmetadata: {{a: b}}"), "strictyaml refuses YAML's flow style"),
    "empty flow map": (OURS, written(f"{GOOD}\nmetadata: {{}}"), "strictyaml refuses YAML's flow style"),
    "anchor": (OURS, written("name: x\ndescription: &y z"), "strictyaml refuses anchors"),
    "alias": (OURS, written("name: &x x\ndescription: *x"), "strictyaml refuses anchors"),
    "tag": (OURS, written("name: x\ndescription: !!str y"), "strictyaml refuses tags"),
    "non-specific tag": (OURS, written("name: x\ndescription: ! y"), "strictyaml refuses tags"),
    "tab": (OURS, written("name: x\ndescription: y\tz"), "its parser ends a plain value at a tab"),
    "byte-order mark": (OURS, b"\xef\xbb\xbf" + written(GOOD), "it wants '---' first; a warning here"),
    "tools": (OURS, written(f"{GOOD}\ntools:"), "typed tools are an extension; a warning here"),
    "hyphens in quotes": (OURS, written("name: x\ndescription: 'y --- z'"), "it ends the frontmatter at any '---'"),
    "hyphens alone": (OURS, written("name: x\ndescription: ---"), "it ends the frontmatter at any '---'"),
    "hyphens in a comment": (OURS, written(f"# --- about\n{GOOD}"), "it ends the frontmatter at any '---'"),
    "hyphens before an error": (
        THEIRS,
        written("name: x\ndescription: y --- z\nv: 1"),
        "it reads nothing behind '---'",
    ),
    "words behind the first fence": (THEIRS, b"--- # c\n" + written(GOOD)[4:], "the fence is a line of its own"),
    "field in the first fence": (THEIRS, b"---" + written(GOOD)[4:], "the fence is a line of its own"),
    "words behind the last fence": (THEIRS, b"---\n" + GOOD.encode() + b"\n--- b", "the fence is a line of its own"),
    "indented fence": (THEIRS, b"---\n" + GOOD.encode() + b"\n ---\nb", "the fence is a line of its own"),
    "null description": (THEIRS, written("name: x\ndescription: ~"), "'~' is nothing in YAML"),
    "list as license": (THEIRS, written(f"{GOOD}\nlicense:\n  - MIT"), "the field is text; not checked there"),
    "map as license": (THEIRS, written(f"{GOOD}\nlicense:\n  a: b"), "the field is text; not checked there"),
    "list as allowed-tools": (
        THEIRS,
        written(f"{GOOD}\nallowed-tools:\n  - Read"),
        "the field is text; not checked there",
    ),
    "map as allowed-tools": (
        THEIRS,
        written(f"{GOOD}\nallowed-tools:\n  a: b"),
        "the field is text; not checked there",
    ),
    "no compatibility": (THEIRS, written(f"{GOOD}\ncompatibility:"), "the field has 1 to 500 characters"),
    "null compatibility": (THEIRS, written(f"{GOOD}\ncompatibility: ~"), "'~' is nothing in YAML"),
    "empty compatibility": (THEIRS, written(f"{GOOD}\ncompatibility: ''"), "the field has 1 to 500 characters"),
    "text as metadata": (THEIRS, written(f"{GOOD}\nmetadata: a"), "the field is a map; not checked there"),
    "no metadata": (THEIRS, written(f"{GOOD}\nmetadata:"), "the field is a map; not checked there"),
    "list as metadata": (THEIRS, written(f"{GOOD}\nmetadata:\n  - a"), "the field is a map; not checked there"),
    "map in metadata": (
        THEIRS,
        written(f"{GOOD}\nmetadata:\n  a:\n    b: c"),
        "its values are text; not checked there",
    ),
    "list in metadata": (
        THEIRS,
        written(f"{GOOD}\nmetadata:\n  a:\n    - b"),
        "its values are text; not checked there",
    ),
    "line separator": (THEIRS, written("name: x\ndescription: y\u2028z"), "a line break to YAML 1.1, not to 1.2"),
}


@pytest.mark.parametrize(("taken_by", "content", "reason"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_two_differ_in_each_case_of_the_table(taken_by: str, content: bytes, reason: str) -> None:
    assert verdicts(content) == (taken_by is OURS, taken_by is THEIRS), reason
    assert knows(taken_by, content), "the predicates below must know every case of the table"


def test_the_folder_is_the_one_that_the_path_leads_to_and_not_what_the_path_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "SKILL.md").write_bytes(written(GOOD))
    (tmp_path / "y").symlink_to("x")
    monkeypatch.chdir(tmp_path / "x")
    for path in (Path("."), tmp_path / "y"):
        assert (validate(path).valid, not skills_ref.validate(path)) == (True, False)


# What a generated difference must have, for each that takes it alone. What skills-ref took is looked at as its own
# parser reads it, and what it refused as the tokens of YAML.


def fields_of(content: bytes) -> str:
    text = content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)[1] if re.match(r"---[ \t]*\n", text) else ""


def has(*tokens: type[yaml.Token]) -> Callable[[bytes], bool]:
    return lambda content: any(isinstance(token, tokens) for token in yaml.scan(fields_of(content), yaml.CSafeLoader))


def has_a_tab_in_a_plain_value(content: bytes) -> bool:
    return bool(re.search(r"^[a-z-]+: [^'\"\n]*\S[ \t]*\t", fields_of(content), re.MULTILINE))


def has_hyphens_inside(content: bytes) -> bool:
    return "---" in fields_of(content)


def has_a_fence_with_company(content: bytes) -> bool:
    """A '---' that is no line of its own where one should be."""
    lines = re.split(r"\r\n|\r|\n", content.decode(errors="replace"))
    alone = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    return lines[0].startswith("---") and (alone[:1] != [0] or len(alone) < 2)


def their(content: bytes) -> dict[str, object]:
    text = content.decode().replace("\r\n", "\n").replace("\r", "\n")
    return strictyaml.load(text.split("---", 2)[1]).data


def is_no_text(key: str) -> Callable[[bytes], bool]:
    return lambda content: not isinstance(their(content).get(key, ""), str)


def has_other_metadata(content: bytes) -> bool:
    metadata = their(content).get("metadata", {})
    return not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values())


KNOWN: dict[str, list[Callable[[bytes], bool]]] = {
    OURS: [
        has(yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken),
        has(yaml.AnchorToken, yaml.AliasToken),
        has(yaml.TagToken),
        has_a_tab_in_a_plain_value,
        has_hyphens_inside,
        lambda content: content.startswith(b"\xef\xbb\xbf"),
        lambda content: bool(re.search(r"^tools:", fields_of(content), re.MULTILINE)),
    ],
    THEIRS: [
        is_no_text("license"),
        is_no_text("allowed-tools"),
        has_other_metadata,
        has_hyphens_inside,
        has_a_fence_with_company,
        lambda content: their(content)["description"] == "~",
        lambda content: str(their(content).get("compatibility", "-")).strip() in ("", "~"),
        lambda content: bool(re.search("[\u2028\u2029\x85]", fields_of(content))),
    ],
}


def knows(taken_by: str, content: bytes) -> bool:
    return any(predicate(content) for predicate in KNOWN[taken_by])


def check(content: bytes, folder_name: str = "x") -> bool:
    """Whether the verdicts differ, for a reason that is known."""
    ours, theirs = verdicts(content, folder_name)
    assert ours == theirs or knows(OURS if ours else THEIRS, content), f"ours: {ours}, theirs: {theirs}, of {content!r}"
    return ours != theirs


NAMES = ["x", "'x'", '"x"', "X", "-x", "x-", "x--y", "x_y", "x y", "", "~", "[x]", "{a: b}", "!!str x", "&a x", "1"]
NAMES += [
    "1.10",
    "null",
    "true",
    "技能",
    "café",
    "cafe\u0301",
    "s²",
    "x # c",
    "'x",
    "x: y",
    "y",
    "x" * 65,
    "|\n  x",
    ">\n  x",
]
DESCRIPTIONS = ["y", "'y: z'", "y: z", "y # z", "", "''", "~", "null", "[a, b]", "\n  - a\n  - b", "{a: b}", "\n  a: b"]
DESCRIPTIONS += [
    "y --- z",
    "'---'",
    "y\n  z",
    "y\n  z: w",
    "y\n\n  z",
    ">\n  y: z\n  w",
    "|\n  y\n",
    "|-\n  y --- z",
    "*y*",
]
DESCRIPTIONS += [
    "@y",
    "`y`",
    "%y",
    "&y z",
    "!y z",
    "!!str y",
    "[y] z",
    "'y' z",
    '"y\\nz"',
    "y\tz",
    "1",
    "2024-01-01",
    "yes",
]
DESCRIPTIONS += [
    "y" * 1024,
    "y" * 1025,
    f"|\n  {'y' * 1023}",
    f"|\n  {'y' * 1024}",
    "😀",
    "'it''s'",
    "- y",
    "? y",
    ">50",
]
DESCRIPTIONS += ["y\u2028z", "\u00a0y", "y\x7f", "y\x07", "---", "<b>y</b>"]
REST = [
    "",
    "license: MIT",
    "license: [MIT]",
    "license:\n  - MIT",
    "license:",
    "license: 1",
    "license:\n  a: b",
    "license: ~",
]
REST += [
    "compatibility: y",
    "compatibility: ''",
    "compatibility:",
    f"compatibility: {'y' * 500}",
    f"compatibility: {'y' * 501}",
]
REST += [f"compatibility: |\n  {'y' * 500}", "compatibility: [a]", "compatibility:\n  - a", "compatibility:\n  a: b"]
REST += [
    "allowed-tools: Read Bash(git:*)",
    "allowed-tools: [Read]",
    "allowed-tools:\n  - Read",
    "allowed-tools: Bash(git: *)",
]
REST += [
    "metadata:\n  a: b",
    "metadata:\n  a: 1",
    "metadata:\n  a:\n    b: c",
    "metadata:\n  a:\n    - b",
    "metadata: {}",
]
REST += [
    "metadata: {a: b}",
    "metadata: a",
    "metadata:",
    "metadata:\n  - a",
    "metadata:\n  a: b\n  a: c",
    "metadata:\n  a: ",
]
REST += [
    "metadata:\n\ta: b",
    "metadata:\n  ? a\n  : b",
    "metadata:\n  'a b': c",
    "metadata:\n    a: b\n  c: d",
    "version: 1",
]
REST += [
    "tools:",
    "tools:\n  t: s",
    "name: x",
    "description: z",
    "# comment",
    "# --- comment",
    "\n",
    "<<: x",
    "1: 2",
    "'license': M",
]
REST += [
    "License: MIT",
    "...",
    "license: MIT\n...",
    "words",
    "license:MIT",
    " license: MIT",
    "license: MIT\n\n",
    "a: &a b\nb: *a",
]
FRAMES: dict[str, Callable[[str], bytes]] = {
    "plain": written,
    "byte-order mark": lambda fields: b"\xef\xbb\xbf" + written(fields),
    "CRLF": lambda fields: written(fields).replace(b"\n", b"\r\n"),
    "CR": lambda fields: written(fields).replace(b"\n", b"\r"),
    "blank line above": lambda fields: b"\n" + written(fields),
    "blanks behind the fences": lambda fields: f"--- \n{fields}\n---\t\nbody".encode(),
    "no end": lambda fields: f"---\n{fields}\n".encode(),
    "nothing behind": lambda fields: f"---\n{fields}\n---".encode(),
    "hyphens in the body": lambda fields: written(fields, "a\n---\nb --- c\n"),
    "UTF-16": lambda fields: written(fields).decode().encode("utf-16"),
    "stray byte in the body": lambda fields: written(fields) + b"\xff",
    "stray byte in the frontmatter": lambda fields: written(f"{fields}\nlicense: ?").replace(b"?", b"\xff"),
    "comment on the fence": lambda fields: f"--- # c\n{fields}\n---\nb".encode(),
    "glued to the fence": lambda fields: f"---{fields}\n---\nb".encode(),
    "four hyphens": lambda fields: f"----\n{fields}\n----\n".encode(),
    "indented end": lambda fields: f"---\n{fields}\n ---\nb".encode(),
    "words behind the end": lambda fields: f"---\n{fields}\n--- b".encode(),
    "no fences": str.encode,
}
ONE_BY_ONE = [
    *[written(f"name: {name}\ndescription: y") for name in NAMES],
    *[written(f"name: x\ndescription: {description}") for description in DESCRIPTIONS],
    *[written(f"{GOOD}\n{rest}") for rest in REST],
    *[frame("name: x\ndescription: ü") for frame in FRAMES.values()],
]


def mixed() -> list[bytes]:
    everything = list(itertools.product(FRAMES.values(), NAMES, DESCRIPTIONS, REST))
    chosen = random.Random(3).sample(everything, 150)
    # Most of those have several faults, of which each hides a difference in the others; these have two at most.
    chosen += [(frame, "x", "y", rest) for frame in FRAMES.values() for rest in REST[::6]]
    chosen += [(written, "x", description, rest) for description in DESCRIPTIONS for rest in REST[::8]]
    return [frame(f"name: {name}\ndescription: {description}\n{rest}") for frame, name, description, rest in chosen]


def test_both_say_the_same_of_hundreds_of_variants() -> None:
    corpus = [*ONE_BY_ONE, *mixed()]
    differing = sum(check(content) for content in corpus)
    assert len(corpus) > 600
    assert 0 < differing < len(corpus) / 4


@pytest.mark.parametrize("name", [name for name in NAMES if name.isprintable() and name and "/" not in name])
def test_both_compare_names_to_folders_alike(name: str) -> None:
    for folder_name in dict.fromkeys(["x", name[:80], name.strip("'\""), name.lower(), "cafe\u0301", "s2"]):
        check(written(f"name: {name}\ndescription: y"), folder_name)


def test_no_predicate_excuses_what_never_happens() -> None:
    for taken_by, predicates in KNOWN.items():
        cases = [content for by, content, _ in DIFFERENCES.values() if by is taken_by]
        for predicate in predicates:
            assert any(predicate(content) for content in cases)
    assert not any(knows(by, written(GOOD)) for by in KNOWN)


plain = st.text(string.ascii_letters + string.digits + " -_.,:;!?#'\"`@%&*()[]{}|<>=+/\\~^$äß技é²\u00a0", max_size=40)
single = plain.map(lambda text: "'" + text.replace("'", "''") + "'")
double = plain.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
block = st.lists(plain, max_size=3).map(lambda lines: "|\n" + "\n".join(f"  {line}" for line in lines))
scalar = plain | single | double | block
keys = st.sampled_from(["license", "compatibility", "allowed-tools", "metadata", "version", "tools"])
nested = st.lists(st.tuples(st.sampled_from("abc"), scalar.filter(lambda text: "\n" not in text)), max_size=2).map(
    lambda pairs: "".join(f"\n  {key}: {value}" for key, value in pairs)
)
names = st.sampled_from(["x", "'x'", "X", "y", "x-"]) | st.text("xyX-_é² 1", max_size=8)


@settings(max_examples=300, deadline=None)
@given(names, scalar, st.lists(st.tuples(keys, scalar | nested), max_size=3), st.sampled_from(sorted(FRAMES)))
@example("x", "|\n", [], "plain")
@example("x", "y", [("metadata", "\n  a: '"), ("license", "'")], "plain")
def test_both_say_the_same_of_whatever_is_written(
    name: str, description: str, rest: list[tuple[str, str]], frame: str
) -> None:
    fields = [("name", name), ("description", description), *rest]
    check(FRAMES[frame]("\n".join(f"{key}: {value}" for key, value in fields)))


def test_both_look_for_the_manifest_in_small_letters_too(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "skill.md").write_bytes(written(GOOD))
    assert validate(tmp_path / "x").valid
    assert skills_ref.validate(tmp_path / "x") == []
    os.rename(tmp_path / "x" / "skill.md", tmp_path / "x" / "README.md")
    assert not validate(tmp_path / "x").valid
    assert skills_ref.validate(tmp_path / "x") != []
