"""The two halves of a SKILL.md: YAML frontmatter and Markdown body.

Reading is lenient: what can be mended is mended, and each mend is noted. Source: the Agent Skills
specification, section "SKILL.md format", and its client guide on malformed frontmatter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.reader import Reader, ReaderError

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.skills.problem import Problem

FENCE = "---"
LARGEST_MANIFEST = 4 * 1024 * 1024
LARGEST_FRONTMATTER = 256 * 1024
DEEPEST = 40
MOST_NODES = 20_000

_NEXT = "A SKILL.md begins with a line '---', then 'name:' and 'description:', then a second line '---'"
_LONGEST_NUMBER = 100  # in digits; what Python does with a number takes the square of its length
# Bounded, for a line of nothing but hyphens could be taken apart in very many ways.
_ENTRY = re.compile(r"(?P<indent> *(?:- +){0,40})(?P<key>[\w.$-]+(?: [\w.$-]+)*):[ \t]+(?P<value>\S.*)$")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2} *(?:#.*)?$")
_ANCHOR = re.compile(r"&([\w-]+)")
_TABS = re.compile(r"^ *\t[ \t]*", re.MULTILINE)


class _TooMuch(yaml.error.MarkedYAMLError):
    """It exceeds the bounds, which no quotes can mend."""


def _mapping_with_text_keys(loader: Any, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
    """Keys are what is written: 'on' is no truth value, and a date no date."""
    loader.flatten_mapping(node)
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key is not text", key.start_mark)
    return {key.value: loader.construct_object(value, deep=deep) for key, value in node.value}


# The one of libyaml where PyYAML was built with it: the same constructor, ten times as fast.
_Loader: Any = type(
    "_Loader",
    (getattr(yaml, "CSafeLoader", yaml.SafeLoader),),
    {"construct_mapping": _mapping_with_text_keys},
)


@dataclass(frozen=True)
class Frontmatter:
    """A SKILL.md taken apart.

    Args:
        fields: The frontmatter's fields as YAML types them.
        texts: The same with each scalar as the text that was written: a version ``1.10`` stays ``1.10``.
        lines: The line that each field starts in, from 1.
        body: What follows the frontmatter, without surrounding blank lines.
        body_line: The line that the body starts in, from 1.
        problems: What had to be mended.
    """

    fields: dict[str, Any]
    texts: dict[str, Any]
    lines: dict[str, int]
    body: str
    body_line: int
    problems: tuple[Problem, ...] = field(default=())


_Loaded = tuple[yaml.Node | None, Any, list[tuple[int, str, int]]]


def parse(content: bytes) -> Frontmatter:
    """Takes a SKILL.md apart.

    Args:
        content: The whole file. A byte-order mark, foreign line ends, blank lines above, stray bytes in the
            body and values that should have been quoted are mended and noted.

    Raises:
        InvalidSkill: There is no frontmatter, or it can't be read as a YAML mapping even so.
    """
    if len(content) > LARGEST_MANIFEST:
        raise InvalidSkill(f"SKILL.md has more than {LARGEST_MANIFEST >> 20} MiB", "Move data into files of their own")
    problems: list[Problem] = []
    text, damaged = _text(content, problems)
    lines = text.split("\n")
    above = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[above].rstrip() != FENCE:
        raise InvalidSkill("SKILL.md has no frontmatter", _NEXT, above + 1, "frontmatter-missing")
    if above:
        problems.append(Problem("frontmatter-start", "There are blank lines above the frontmatter", "Remove them", 1))
    end = next((i for i, line in enumerate(lines[above + 1 :], above + 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise InvalidSkill("The frontmatter of SKILL.md has no end", _NEXT, above + 1, "frontmatter-end")
    source = "".join(f"{line}\n" for line in lines[above + 1 : end])
    if damaged is not None and damaged <= end:
        raise InvalidSkill(
            "The frontmatter of SKILL.md is not UTF-8 text", "Save the file as UTF-8", damaged, "encoding"
        )
    if len(source) > LARGEST_FRONTMATTER:
        raise InvalidSkill(
            f"The frontmatter of SKILL.md has more than {LARGEST_FRONTMATTER >> 10} KiB", "Move text into the body"
        )
    fields, texts, starts = _mapping(source, above + 2, problems)
    rest = end + 1
    while rest < len(lines) and not lines[rest].strip():
        rest += 1
    body = "\n".join(lines[rest:]).rstrip()
    return Frontmatter(fields, texts, starts, body, rest + 1, tuple(problems))


def _text(content: bytes, problems: list[Problem]) -> tuple[str, int | None]:
    """The file as text, and the line of the first byte that is none."""
    encoding, damaged = "UTF-8", None
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.append(Problem("encoding", "The file is UTF-16", "Save it as UTF-8", 1))
        encoding = "UTF-16"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        text = content.decode(encoding, errors="replace")
        damaged = _unix(content[: error.start].decode(encoding, errors="replace")).count("\n") + 1
        problems.append(Problem("encoding", f"A byte here is not {encoding}", "Save the file as UTF-8", damaged))
    if text.startswith("\ufeff"):
        problems.append(
            Problem(
                "byte-order-mark", "The file starts with a byte-order mark", "Save it without", 1, severity="warning"
            )
        )
        text = text[1:]
    if "\r" in text:
        message = "The lines end as on Windows"
        problems.append(Problem("line-ends", message, "Save it with line feeds only", 1, severity="warning"))
    return _unix(text), damaged


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _mapping(
    source: str, first_line: int, problems: list[Problem]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """The fields, the same as text, and their lines."""
    try:
        node, fields, keys = _load(source)
    except _TooMuch as error:
        raise _unreadable(error, source, first_line) from None
    except yaml.YAMLError as error:
        node, fields, keys = _mended(source, first_line, problems, error)
    if not isinstance(node, yaml.MappingNode) or not isinstance(fields, dict):
        raise InvalidSkill("The frontmatter of SKILL.md is not a list of 'key: value' lines", _NEXT)
    lines: dict[str, int] = {}
    met: set[tuple[int, str]] = set()
    for owner, name, offset in keys:
        line = first_line + offset
        if (owner, name) in met:
            problems.append(
                Problem("duplicate-field", f"'{name}' is there twice; the later one counts", "Keep one", line)
            )
        met.add((owner, name))
        if owner == id(node):
            lines[name] = line
    texts = _as_text(node)
    return fields, texts if isinstance(texts, dict) else {}, lines


def _mended(source: str, first_line: int, problems: list[Problem], error: yaml.YAMLError) -> _Loaded:
    """What can be loaded once values are put in quotes, and if need be tabs replaced; that is noted.

    Raises:
        InvalidSkill: Not even then; for the reason that ``error`` tells.
    """
    tab = _TABS.search(source)
    candidates = [source, *([_TABS.sub(lambda match: match[0].replace("\t", "    "), source)] if tab else [])]
    for candidate in candidates:
        mended, changed = _quoted(candidate)
        try:
            loaded = _load(mended)
        except yaml.YAMLError:
            continue
        if tab and candidate is not source:
            line = first_line + source.count("\n", 0, tab.start())
            problems.append(Problem("yaml-tabs", "A line is indented with a tab", "Use blanks", line))
        problems += [
            Problem(
                "yaml-quotes",
                f"The value of '{key}' is not valid YAML as it stands, and was read as plain text",
                "Put it in quotes",
                first_line + line,
            )
            for line, key in changed
        ]
        return loaded
    raise _unreadable(error, source, first_line) from None


def _unreadable(error: yaml.YAMLError, source: str, first_line: int) -> InvalidSkill:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + first_line if mark else None
    what = getattr(error, "problem", None) or error
    if isinstance(error, ReaderError):
        what, odd = error.reason, Reader.NON_PRINTABLE.search(source)
        line = first_line + source.count("\n", 0, odd.start()) if odd else None
    return InvalidSkill(
        f"The frontmatter of SKILL.md is not valid YAML{f' in line {line}' if line else ''}: {str(what)[:200]}",
        "Make it simpler" if isinstance(error, _TooMuch) else "Put values with special characters in quotes",
        line,
        "yaml",
    )


def _load(source: str) -> _Loaded:
    """The document within bounds: as nodes, as values, and its keys as ``_keys`` has them.

    Raises:
        yaml.YAMLError: It is no YAML, or exceeds the bounds.
    """
    depth = 0
    for event in yaml.parse(source, Loader=_Loader):  # without recursion, so nothing can be too deep for it
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise _too_much(f"it is nested more than {DEEPEST} deep", event)
    loader = _Loader(source)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, None, []
        _measure(node, {}, ())
        keys = list(_keys(node, set()))  # before the next line, which writes out merges
        return node, loader.construct_document(node), keys
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        # PyYAML lets these through: an explicit '!!bool foo', a date of the 45th, and the like.
        raise yaml.YAMLError(f"a value is not of its kind ({error})") from None
    finally:
        loader.dispose()


def _measure(node: yaml.Node, known: dict[int, tuple[int, int]], above: tuple[int, ...]) -> tuple[int, int]:
    """How many nodes there are, and how deep, once every alias is written out: what a traversal would cost."""
    if id(node) in above:
        raise _too_much("an alias contains itself", node)
    if id(node) not in known:
        if node.tag.endswith((":int", ":float")) and len(node.value) > _LONGEST_NUMBER:
            raise yaml.error.MarkedYAMLError(problem="a number is too long", problem_mark=node.start_mark)
        size, height = 1, 0
        for child in _children(node):
            more, inner = _measure(child, known, (*above, id(node)))
            size, height = size + more, max(height, inner)
            if size > MOST_NODES:
                raise _too_much(f"it has more than {MOST_NODES:,} values once its aliases are written out", node)
            if height >= DEEPEST:
                raise _too_much(f"it is nested more than {DEEPEST} deep once its aliases are written out", node)
        known[id(node)] = size, height + 1
    return known[id(node)]


def _too_much(what: str, at: Any) -> _TooMuch:
    return _TooMuch(problem=what, problem_mark=at.start_mark)


def _keys(node: yaml.Node, met: set[int]) -> Iterator[tuple[int, str, int]]:
    """Each key of each map, in order: the map's identity, the key's text, its line from 0."""
    if id(node) in met:
        return
    met.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, _ in node.value:
            yield id(node), str(key.value), key.start_mark.line
    for child in _children(node):
        yield from _keys(child, met)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


def _as_text(node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_as_text(child) for child in node.value]
    if isinstance(node, yaml.MappingNode):
        return {str(getattr(key, "value", "")): _as_text(value) for key, value in node.value}
    return "" if node.tag.endswith(":null") and node.value in ("", "~") else str(node.value)


def _quoted(source: str) -> tuple[str, list[tuple[int, str]]]:
    """The source with quotes around each value that is no valid YAML by itself; and the lines and keys of these."""
    lines = source.split("\n")
    anchors = set(_ANCHOR.findall(source))
    changed: list[tuple[int, str]] = []
    at = 0
    while at < len(lines):
        start, entry = at, _ENTRY.match(lines[at])
        at += 1
        if entry is None:
            continue
        deeper = len(entry["indent"]) + 1
        while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) >= deeper):
            at += 1
        value = "\n".join([entry["value"], *lines[start + 1 : at]]).rstrip()
        # A tag asks for an object to be made; that is nothing to be mended.
        if _BLOCK.match(entry["value"]) or entry["value"].startswith("!!") or _is_valid(entry, value, anchors):
            continue
        last = start + value.count("\n")
        escaped = value.replace("'", "''")
        lines[start : last + 1] = f"{entry['indent']}{entry['key']}: '{escaped}'".split("\n")
        changed.append((start, entry["key"]))
    return "\n".join(lines), changed


def _is_valid(entry: re.Match[str], value: str, anchors: set[str]) -> bool:
    text = f"{' ' * len(entry['indent'])}key: {value}"
    try:
        aliases = [
            str(event.anchor) for event in yaml.parse(text, Loader=_Loader) if isinstance(event, yaml.AliasEvent)
        ]
        if not aliases:
            _load(text)
    except _TooMuch:
        return True
    except yaml.YAMLError:
        return False
    return anchors.issuperset(aliases)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
