"""Tools that the frontmatter declares: ``tools:`` with a script for each.

::

    tools:
      fetch:
        description: Fetches a page.
        script: scripts/fetch.py
        args:
          url: {type: string, description: Where to look.}
          depth: {type: integer, default: 1}
          format: {enum: [text, html], required: false}

An argument without ``default`` and without ``required: false`` is required. ``pass:`` says how the script
gets its arguments (``positional``, ``named``, ``json``), and ``timeout:`` how many seconds it may take.
Without ``pass:`` they go as ``--name=value`` if the script has such options for all of them, else in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import normpath
from typing import Any, get_args

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.skills.files import FileEntry, SkillFiles
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.tools.command import Convention, Style, convention_of
from jupyter_skills.skills.tools.record import TOOL_NAME, SkillTool, described, fit_for_providers, is_json
from jupyter_skills.skills.tools.schema import fault_in, fits

LONGEST_TIMEOUT = 3600.0
_INTERPRETERS = {".py": "python", ".sh": "bash", ".bash": "bash", ".js": "node", ".mjs": "node", ".cjs": "node"}
_KNOWN = {"description", "script", "args", "pass", "timeout"}
# As authors write them, and as JSON schema wants them.
_TYPES = {
    "str": "string",
    "text": "string",
    "path": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
# What providers take, and what costs nothing to check: a pattern could keep this process busy for ever, and a
# reference could lead into the network.
_SCHEMA_WORDS = {
    *("type", "title", "description", "default", "enum", "const", "examples", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("items", "minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties"),
}
_DEEPEST_SCHEMA = 8


class _Refused(Exception):
    """A tool that can't be offered."""

    def __init__(self, rule: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.problem = (rule, message, remedy)


def declared_tools(declared: object, files: SkillFiles, line: int | None) -> tuple[list[SkillTool], list[Problem]]:
    """The tools that a manifest declares.

    Args:
        declared: The value of the ``tools:`` field.
        files: The skill's files, where the scripts must be.
        line: The line that the field is in.

    Returns:
        The tools that can be offered, and what is wrong with the others. One bad tool hides no other.
    """
    if declared is None:
        return [], []
    if not isinstance(declared, dict):
        remedy = "Write a map: the name of each tool, then 'script:', 'description:' and 'args:' below it"
        return [], [Problem("tools-type", "'tools:' is not a map", remedy, line)]
    tools: list[SkillTool] = []
    problems: list[Problem] = []
    paths = files.paths()
    for name, entry in declared.items():
        try:
            tools.append(_tool(str(name), entry, files, paths))
        except _Refused as refused:
            rule, message, remedy = refused.problem
            problems.append(Problem(rule, f"The tool '{str(name)[:80]}' is not offered: {message}", remedy, line))
        if isinstance(entry, dict) and (unknown := sorted(map(str, entry.keys() - _KNOWN))):
            problems.append(
                Problem(
                    "tool-field",
                    f"The tool '{str(name)[:80]}' has unknown fields: {', '.join(unknown)}",
                    f"They are {', '.join(sorted(_KNOWN))}",
                    line,
                    severity="warning",
                )
            )
    return tools, problems


def _tool(name: str, entry: object, files: SkillFiles, paths: list[str]) -> SkillTool:
    if not TOOL_NAME.fullmatch(name):
        raise _Refused("tool-name", "its name has other characters", "Use letters, digits, '_' and '-', 64 at most")
    if not isinstance(entry, dict):
        raise _Refused("tool-type", "it is not a map", "Write 'script:', 'description:' and 'args:' below its name")
    path = _script(entry.get("script"), paths)
    script = _entry(path, files)
    suffix = path[path.rfind(".") :].lower() if "." in path.rpartition("/")[2] else ""
    interpreter = _INTERPRETERS.get(suffix, "")
    if not interpreter and not script.executable:
        raise _Refused(
            "tool-script", f"'{path}' is not executable", "Set its executable bit, or end its name in .py, .sh or .js"
        )
    parameters = _parameters(entry.get("args"))
    return SkillTool(
        name,
        described(str(entry.get("description") or f"Runs {path}.")),
        parameters,
        path,
        interpreter=interpreter,
        convention=_convention(entry.get("pass"), list(parameters["properties"]), script.content),
        timeout=_timeout(entry.get("timeout")),
    )


def _script(path: object, paths: list[str]) -> str:
    if not isinstance(path, str) or not path.strip():
        raise _Refused("tool-script", "it names no script", "Add 'script:' with a path in the skill's folder")
    plain = normpath(path.strip())
    shown = path[:80]
    if plain.startswith(("/", "~", "../")) or plain == ".." or "\\" in path or re.match(r"[A-Za-z]:", plain):
        raise _Refused("tool-outside", f"'{shown}' leads out of the skill's folder", "Give a path within it")
    if plain not in paths:
        raise _Refused("tool-script", f"there is no file '{shown}'", "Add it (links don't count), or mend the path")
    return plain


def _entry(path: str, files: SkillFiles) -> FileEntry:
    try:
        return files.entry(path)
    except InvalidSkill as error:
        raise _Refused("tool-script", error.message, error.next_step) from None


def _parameters(arguments: object) -> dict[str, Any]:
    if arguments is None:
        arguments = {}
    if isinstance(arguments, list):  # a list of names, or of maps with a name each
        arguments = dict(_named(entry) for entry in arguments)
    if not isinstance(arguments, dict):
        raise _Refused("tool-args", "'args:' is not a map", "Write the name of each argument and its type below it")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key, entry in arguments.items():
        name = str(key)
        if not TOOL_NAME.fullmatch(name):
            raise _Refused("tool-args", f"the argument '{name[:80]}' can't be called so", "Use letters, digits and '_'")
        schema, needed = _schema(name, entry)
        properties[name] = schema
        if needed:
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if not is_json(schema):
        raise _Refused("tool-args", "there is a date, or another value that is no JSON, in 'args:'", "Put it in quotes")
    if fault := fault_in(schema):
        raise _Refused("tool-args", fault, "Use the words of JSON schema")
    for name, part in properties.items():
        if "enum" in part and not (part["enum"] and all(fits(value, part) for value in part["enum"])):
            raise _Refused("tool-args", f"the enum of '{name}' is empty, or not of its type", "Put its words in quotes")
        if "default" in part and not fits(part["default"], part):
            raise _Refused("tool-args", f"the default of '{name}' is not of its type", "Mend one of the two")
    return schema


def _named(entry: object) -> tuple[str, object]:
    if isinstance(entry, dict) and "name" in entry:
        return str(entry["name"]), {key: value for key, value in entry.items() if key != "name"}
    return str(entry), {}


def _schema(name: str, entry: object) -> tuple[dict[str, Any], bool]:
    """The JSON schema of one argument, and whether it must be given."""
    if entry is None:
        entry = {}
    if isinstance(entry, str):  # shorthand: its type
        entry = {"type": entry}
    if not isinstance(entry, Mapping):
        raise _Refused("tool-args", f"the argument '{name}' is not a map", "Write its type, or a map with 'type:'")
    needed = entry.get("required", not entry.get("optional", False))
    if isinstance(needed, list):  # JSON schema's: what an object must have
        needed = not entry.get("optional", False)
        schema = _plain_schema(entry)
    else:
        schema = _plain_schema({key: value for key, value in entry.items() if key != "required"})
    if not {"type", "enum", "const"} & schema.keys():
        schema["type"] = "string"
    if "default" in entry and entry["default"] is None:  # nothing, unless null is a value of it
        needed = False
        kinds = schema.get("type")
        if "null" in (kinds if isinstance(kinds, list) else [kinds]):
            schema["default"] = None
    if not isinstance(needed, bool):
        raise _Refused("tool-args", f"'required:' of '{name}' is not true or false", "Say which of the two")
    return schema, needed and "default" not in schema


def _convention(wanted: object, names: list[str], script: bytes) -> Convention:
    try:
        return convention_of(wanted, names, script)
    except ValueError as error:
        raise _Refused("tool-pass", str(error), f"Say one of {', '.join(get_args(Style))}") from None


def _plain_schema(entry: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
    """The words of a schema that are known to be harmless, at every level."""
    if depth > _DEEPEST_SCHEMA:
        raise _Refused("tool-args", "an argument is nested too deep", "Take JSON as text")
    schema = {str(key): value for key, value in entry.items() if key in _SCHEMA_WORDS and value is not None}
    if isinstance(kind := schema.get("type"), str):
        schema["type"] = _TYPES.get(kind.lower(), kind)
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), dict):
            schema[key] = _plain_schema(inner, depth + 1)
    if isinstance(inner := schema.get("properties"), dict):
        schema["properties"] = {
            str(name): _plain_schema(part, depth + 1) if isinstance(part, dict) else {} for name, part in inner.items()
        }
        if odd := [name for name in schema["properties"] if not TOOL_NAME.fullmatch(name)]:
            raise _Refused("tool-args", f"a property can't be called '{odd[0][:80]}'", "Use letters, digits and '_'")
    return fit_for_providers(schema)


def _timeout(wanted: object) -> float | None:
    if wanted is None:
        return None
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted <= LONGEST_TIMEOUT:
        raise _Refused("tool-timeout", "'timeout:' is not a number of seconds", "Give 1 to 3600")
    return float(wanted)
