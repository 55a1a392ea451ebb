"""A skill's tool: what the model sees of it, and what is needed to run it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jupyter_skills.skills.tools.command import Convention
from jupyter_skills.skills.tools.schema import fits, validator
from jupyter_skills.words import shortened

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024  # OpenAI refuses a whole request for a longer one
TOOL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_MOST_COMPLAINTS = 5
_SUFFIX = 8
_DEEPEST_VALUE = 64
_MOST_BITS = 1023  # of a whole number that is also a float


@dataclass(frozen=True)
class SkillTool:
    """A tool of a skill, as it was read; nothing of it has run.

    Args:
        name: Its own name, without the skill's.
        description: What the model is told of it.
        parameters: JSON schema of its arguments: an object.
        path: The file it lives in: a script, or ``tools.py``.
        function: The function of that file; empty if the tool is the script itself.
        interpreter: What runs the script: ``python``, ``bash``, ``node``; empty if it runs by itself.
        convention: How a script gets its arguments.
        timeout: Seconds it may run; None for the limit of the place where it runs.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(hash=False)
    path: str
    function: str = ""
    interpreter: str = ""
    convention: Convention = field(default_factory=Convention)
    timeout: float | None = None

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return validator(self.parameters)

    def checked(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Arguments with the defaults of those that were left out, and what is wrong with them.

        Nothing may run unless the second part is empty.
        """
        properties = self.parameters.get("properties", {})
        defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
        # A null for an argument that may be left out is how some models leave it out.
        optional = set(properties) - set(self.parameters.get("required", ()))
        given = {
            name: value
            for name, value in arguments.items()
            if not (value is None and name in optional and not _allows_null(properties[name]))
        }
        full = {**defaults, **given}
        odd = [f"{name}: it is no JSON value" for name, value in full.items() if not is_json(value)]
        if odd:  # an infinity, say, which a validator would stumble over
            return full, odd[:_MOST_COMPLAINTS]
        errors = sorted(self._validator.iter_errors(full), key=lambda error: [str(part) for part in error.path])
        complaints = [_complaint(error) for error in errors[:_MOST_COMPLAINTS]]
        whole = {name: _as_integer(value, properties.get(name, {})) for name, value in full.items()}
        return {name: whole[name] for name in [*properties, *whole] if name in whole}, complaints


def call_name(skill: str, tool: str) -> str:
    """The name that the model calls a tool by: ``<skill>__<tool>``, 64 letters, digits, ``_`` and ``-`` at most.

    Names that don't fit, or that could be taken apart in two ways, get a suffix made from both, so that no
    two tools share one.
    """
    plain = f"{skill}__{tool}"
    fits = re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]*", plain) and len(plain) <= LONGEST_NAME
    if fits and "__" not in f"{skill}_" and "__" not in f"_{tool}":
        return plain
    suffix = "___" + hashlib.sha256(f"{skill}\0{tool}".encode()).hexdigest()[:_SUFFIX]  # no plain one has '___'
    safe = re.sub(r"[^a-zA-Z0-9_-]+", "-", plain)
    safe = safe if re.match(r"[a-zA-Z_]", safe) else f"s{safe}"
    return safe[: LONGEST_NAME - len(suffix)] + suffix


def _allows_null(schema: Mapping[str, Any]) -> bool:
    return not schema or fits(None, schema)


def is_json(value: Any, depth: int = 0) -> bool:
    """Whether a value is one that every JSON parser knows: no infinity, no date, no half of a character."""
    if depth > _DEEPEST_VALUE:
        return False
    match value:
        case None | bool():
            return True
        case str():
            return sound(value) == value
        case int():
            return value.bit_length() <= _MOST_BITS
        case float():
            return math.isfinite(value)
        case list():
            return all(is_json(part, depth + 1) for part in value)
        case dict():
            return all(isinstance(key, str) and is_json([key, part], depth) for key, part in value.items())
    return False


def sound(text: str) -> str:
    """Text without halves of characters, which can't be sent anywhere."""
    return text.encode(errors="replace").decode()


def described(text: str) -> str:
    """A description of the length that providers take."""
    return shortened(sound(text), LONGEST_DESCRIPTION)


def fit_for_providers(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with what some providers can't do without, where it says nothing else anyway."""
    if schema.get("type") == "array":  # OpenAI and Gemini refuse one without
        schema.setdefault("items", {})
    values = schema.get("enum")
    if "type" not in schema and isinstance(values, list) and values and all(isinstance(v, str) for v in values):
        schema["type"] = "string"  # Gemini knows enums of strings only, and only if they say so
    return schema


def _as_integer(value: Any, schema: Mapping[str, Any]) -> Any:
    """JSON knows one kind of number, so 5.0 is a whole one; Python code that wants an int gets one."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        return [_as_integer(part, items) for part in value]
    if isinstance(value, float) and "integer" in kinds and "number" not in kinds and value.is_integer():
        return int(value)
    return value


def _complaint(error: ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    return f"{where}: {error.message[:200]}" if where else error.message[:200]
