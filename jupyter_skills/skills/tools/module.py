"""Tools that a skill's ``tools.py`` defines: functions under ``@tool``, read from the source and not imported."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.tools.record import TOOL_NAME, SkillTool, described, fit_for_providers, is_json, sound
from jupyter_skills.skills.tools.schema import fits

MODULE = "tools.py"
DECORATOR = "tool"
MOST_TOOLS = 128  # what providers take in all
_LARGEST = 1024 * 1024
_PLAIN_TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "Path": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "dict": {"type": "object"},
    "Mapping": {"type": "object"},
    "list": {"type": "array"},
    "tuple": {"type": "array"},
    "set": {"type": "array"},
    "frozenset": {"type": "array"},
    "Sequence": {"type": "array"},
    "Iterable": {"type": "array"},
    "List": {"type": "array"},
    "Tuple": {"type": "array"},
    "Set": {"type": "array"},
    "Dict": {"type": "object"},
}
_SECTION = re.compile(r"^(?:Args|Arguments|Parameters|Params):\s*$")
_GOOGLE = re.compile(r"^(?P<indent>\s+)\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)$")
_SPHINX = re.compile(r"^\s*:param\s(?P<what>[^:]*\w):(?P<text>.*)$")
_TOO_DEEP = (SyntaxError, ValueError, RecursionError, MemoryError)  # what the parser says of odd source


class _Refused(Exception):
    """A function that can't be offered."""

    def __init__(self, message: str, rule: str = "tool-function", remedy: str = "Mend its definition") -> None:
        super().__init__(message)
        self.rule = rule
        self.remedy = remedy


@dataclass(frozen=True)
class _Decorated:
    """A function under ``@tool``, and the decorator's own words."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    description: str

    @property
    def function(self) -> str:
        """The function's name."""
        return self.node.name


def module_tools(source: bytes) -> tuple[list[SkillTool], list[Problem]]:
    """The tools of a ``tools.py``.

    Args:
        source: The file. It is parsed, never run.

    Returns:
        The tools, and what is wrong with the file or with functions that can't be offered.
    """
    if len(source) > _LARGEST:
        return [], [_problem("tools-size", f"{MODULE} has more than {_LARGEST >> 20} MiB", "Move data elsewhere", 1)]
    try:
        with warnings.catch_warnings():  # '"\\d"' is for its author to see, not for who lists skills
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except _TOO_DEEP as error:
        what = getattr(error, "msg", None) or str(error) or "it is nested too deep"
        line = getattr(error, "lineno", None) or None
        return [], [_problem("tools-syntax", f"{MODULE} is no valid Python: {what}", "Mend it", line)]
    tools: dict[str, SkillTool] = {}
    problems: list[Problem] = []
    # Of functions of one name Python keeps the last, so that one is meant; likewise of tools.
    decorated = list(_decorated(tree))
    functions = {found.function: i for i, found in enumerate(decorated)}
    names = {found.name: i for i, found in enumerate(decorated) if functions[found.function] == i}
    for i, found in enumerate(decorated):
        try:
            tools[found.name] = _tool(
                found, last=functions[found.function] == names.get(found.name) == i, taken=len(tools)
            )
        except (_Refused, RecursionError) as refused:
            told = refused if isinstance(refused, _Refused) else _Refused("it is nested too deep")
            message = f"The function '{found.function}' is not offered: {told}"
            problems.append(_problem(told.rule, message, told.remedy, found.node.lineno))
    return list(tools.values()), problems


def _problem(rule: str, message: str, remedy: str, line: int | None) -> Problem:
    return Problem(rule, message, remedy, line, MODULE)


def _decorated(tree: ast.Module) -> Iterator[_Decorated]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            target = call.func if call else decorator
            if (target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")) == DECORATOR:
                words = {word.arg: _literal(word.value) for word in call.keywords} if call else {}
                name = words.get("name")
                description = words.get("description")
                yield _Decorated(
                    node,
                    name if isinstance(name, str) else node.name,
                    description if isinstance(description, str) else "",
                )
                break


def _tool(found: _Decorated, *, last: bool, taken: int) -> SkillTool:
    if not last:
        raise _Refused("there is another of its name below it", "tool-duplicate", "Rename one of the two")
    if taken >= MOST_TOOLS:
        raise _Refused(f"a skill can have {MOST_TOOLS} tools at most", remedy="Make several skills of it")
    if not TOOL_NAME.fullmatch(found.name):
        raise _Refused("its name is not made of 64 letters, digits, '_' and '-' at most")
    arguments = found.node.args
    if arguments.vararg or arguments.kwarg:
        raise _Refused("it takes any number of arguments, so that none can be described")
    doc = ast.get_docstring(found.node) or ""
    texts = _argument_texts(doc)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for argument, default in _with_defaults(arguments):
        if not TOOL_NAME.fullmatch(argument.arg):
            raise _Refused(f"providers take no argument of the name '{argument.arg[:80]}'")
        schema = dict(_schema(argument.annotation))
        text = schema.pop("description", "") or texts.get(argument.arg, "")
        if text:
            schema["description"] = sound(text)
        if default is None:
            required.append(argument.arg)
        else:
            value = _literal(default)
            if value is not _UNKNOWN and fits(value, schema):
                schema["default"] = value
        properties[argument.arg] = schema
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    description = found.description or _first_paragraph(doc) or f"Calls {found.node.name}."
    return SkillTool(found.name, described(description), parameters, MODULE, function=found.function)


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    bare = len(positional) - len(arguments.defaults)
    yield from zip(positional, [*[None] * bare, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


_UNKNOWN = object()


def _literal(node: ast.expr) -> Any:
    """The value of a literal that JSON knows; ``_UNKNOWN`` for anything else."""
    try:
        value = ast.literal_eval(node)
    except (TypeError, *_TOO_DEEP):
        return _UNKNOWN
    return value if is_json(value) else _UNKNOWN


def _schema(annotation: ast.expr | None) -> dict[str, Any]:
    """The JSON schema of an annotation, of its own; one that says nothing for what is not known here."""
    return fit_for_providers(dict(_reading(annotation)))


def _reading(annotation: ast.expr | None) -> Mapping[str, Any]:
    match annotation:
        case None:
            return {}
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.Constant(value=str(text)):
            try:
                return _schema(ast.parse(text, mode="eval").body)
            except _TOO_DEEP:
                return {}
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _PLAIN_TYPES.get(name, {})
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union([_schema(left), _schema(right)])
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _generic(name, inner.elts if isinstance(inner, ast.Tuple) else [inner])
    return {}


def _generic(name: str, inner: list[ast.expr]) -> Mapping[str, Any]:
    if not inner:  # 'Optional[()]'
        return _PLAIN_TYPES.get(name, {})
    match name:
        case "Optional":
            return _union([_schema(inner[0]), {"type": "null"}])
        case "Union":
            return _union([_schema(part) for part in inner])
        case "Literal":
            values = [_literal(part) for part in inner]
            return {"enum": values} if all(value is not _UNKNOWN for value in values) else {}
        case "Annotated":
            schema = _schema(inner[0])
            for note in inner[1:]:
                if isinstance(text := _literal(note), str):
                    schema["description"] = text
            return schema
        case "dict" | "Dict" | "Mapping":
            values_schema = _schema(inner[1]) if len(inner) == 2 else {}
            return {"type": "object", **({"additionalProperties": values_schema} if values_schema else {})}
        case "list" | "List" | "Sequence" | "Iterable" | "set" | "Set" | "frozenset" | "tuple" | "Tuple":
            if name in ("tuple", "Tuple") and not (len(inner) == 2 and _is_ellipsis(inner[1])):
                return {"type": "array", "minItems": len(inner), "maxItems": len(inner)}
            item = _schema(inner[0])
            return {"type": "array", **({"items": item} if item else {})}
    return {}


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _union(parts: list[dict[str, Any]]) -> Mapping[str, Any]:
    if not all(parts):
        return {}
    if all(set(part) == {"type"} for part in parts):
        kinds = [kind for part in parts for kind in ([part["type"]] if isinstance(part["type"], str) else part["type"])]
        return {"type": list(dict.fromkeys(kinds))}
    flat = [option for part in parts for option in part.get("anyOf", [part])]
    return {"anyOf": flat}


def _first_paragraph(doc: str) -> str:
    lines: list[str] = []
    for line in doc.splitlines():
        if not line.strip() or _SECTION.match(line) or _SPHINX.match(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _argument_texts(doc: str) -> dict[str, str]:
    """What a docstring says of each argument, in Google's form or Sphinx's."""
    texts: dict[str, str] = {}
    inside, indent, current = False, 0, ""
    for line in doc.splitlines():
        if match := _SPHINX.match(line):
            texts[match["what"].split()[-1]] = match["text"].strip()
            continue
        if _SECTION.match(line):
            inside, indent, current = True, 0, ""
            continue
        if inside and line.strip() and not line[0].isspace():
            inside = False
        if not inside or not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        match = _GOOGLE.match(line)
        if match and (not indent or depth <= indent):
            indent, current = depth, match["name"]
            texts[current] = match["text"].strip()
        elif current:
            texts[current] = f"{texts[current]} {line.strip()}".strip()
    return texts
