"""What the specification says of a SKILL.md's frontmatter.

Loading and the strict report share these rules: what a skill was loaded in spite of is what the report says.
Source: the Agent Skills specification, section "Frontmatter"; names as its reference validator reads them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from jupyter_skills.skills.frontmatter import Frontmatter
from jupyter_skills.skills.manifest import MANIFEST
from jupyter_skills.skills.problem import Problem, Severity

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500
FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
TOOLS_FIELD = "tools"

_RESERVED = ("anthropic", "claude")


def manifest_problems(front: Frontmatter, folder_name: str | None, manifest: str = MANIFEST) -> list[Problem]:
    """Everything that is wrong with a frontmatter that could be read.

    Args:
        front: The frontmatter.
        folder_name: The name of the skill's folder, which its own must equal; None if it lies in no folder.
        manifest: What the SKILL.md is called.
    """
    found = [
        *_spelling(manifest),
        *front.problems,
        *_name(front, folder_name),
        *_description(front),
        *_other_fields(front),
        *_unknown_fields(front),
    ]
    return sorted(found, key=lambda problem: problem.line or 0)


def normalized(name: str) -> str:
    """A name as the specification compares it: NFKC, without surrounding blanks."""
    return unicodedata.normalize("NFKC", name.strip())


def _spelling(manifest: str) -> Iterator[Problem]:
    if manifest != MANIFEST:
        message = f"The file is called '{manifest}'; many clients look for '{MANIFEST}' only"
        yield Problem("manifest-name", message, "Rename it", severity="warning")


def _repaired(name: str) -> str:
    """What to do about a name: another that is allowed, if there is one near."""
    letters = "".join(c if c.isalnum() else "-" for c in normalized(name).lower())
    near = "-".join(filter(None, letters.split("-")))[:LONGEST_NAME].strip("-")
    return f"Write '{near}'" if near else "Use letters, digits and hyphens only"


def _name(front: Frontmatter, folder_name: str | None) -> Iterator[Problem]:
    line = front.lines.get("name")
    if line is None:
        yield Problem("name-missing", "There is no 'name:'", "Add one: the name of the skill's folder", 1)
        return
    text = front.texts.get("name")
    if not isinstance(text, str):
        yield Problem("name-type", f"'name:' is {_kind(text)}, not text", "Give one word", line)
        return
    name = normalized(text)
    if not name:
        yield Problem("name-blank", "'name:' is blank", "Give the name of the skill's folder", line)
        return
    if len(name) > LONGEST_NAME:
        yield Problem(
            "name-length", f"The name has {len(name)} characters, not {LONGEST_NAME} at most", "Shorten it", line
        )
    if name != name.lower():
        yield Problem("name-case", f"The name '{name}' has upper-case letters", _repaired(name), line)
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield Problem(
            "name-hyphens",
            f"The name '{name}' has a hyphen at an end, or two in a row",
            _repaired(name),
            line,
        )
    if strange := sorted({c for c in name if not (c.isalnum() or c == "-")}):
        yield Problem(
            "name-characters",
            f"The name has {', '.join(map(ascii, strange))} in it",
            _repaired(name),
            line,
        )
    if folder_name is not None and unicodedata.normalize("NFKC", folder_name) != name:
        yield Problem(
            "name-directory",
            f"The name '{name}' is not that of the folder, '{folder_name}'",
            "Rename one of the two",
            line,
        )
    if any(word in name.lower() for word in _RESERVED):
        yield Problem(
            "name-reserved",
            "Anthropic's API refuses names with 'anthropic' or 'claude' in them",
            "Choose another if the skill is to be uploaded there",
            line,
            severity="warning",
        )


def _description(front: Frontmatter) -> Iterator[Problem]:
    line = front.lines.get("description")
    remedy = "Say what the skill does and when to use it"
    if line is None:
        yield Problem("description-missing", "There is no 'description:'", remedy, 1)
        return
    text = front.texts.get("description")
    if not isinstance(text, str):
        yield Problem("description-type", f"'description:' is {_kind(text)}, not text", remedy, line)
    elif not text.strip():
        yield Problem("description-blank", "'description:' is blank", remedy, line)
    elif len(text) > LONGEST_DESCRIPTION:
        yield Problem(
            "description-length",
            f"The description has {len(text):,} characters, not {LONGEST_DESCRIPTION:,} at most",
            "Move detail into the body",
            line,
        )


def _other_fields(front: Frontmatter) -> Iterator[Problem]:
    for key in ("license", "compatibility", "allowed-tools"):
        value = front.texts.get(key, "")
        if not isinstance(value, str):
            form = "one line, separated by blanks" if key == "allowed-tools" else "one line of text"
            yield Problem(f"{key}-type", f"'{key}:' is {_kind(value)}, not text", f"Write {form}", front.lines[key])
    compatibility = front.texts.get("compatibility")
    if isinstance(compatibility, str) and (not compatibility.strip() or len(compatibility) > LONGEST_COMPATIBILITY):
        yield Problem(
            "compatibility-length",
            f"'compatibility:' has {len(compatibility):,} characters, not 1 to {LONGEST_COMPATIBILITY}",
            "Shorten it, or leave it out",
            front.lines["compatibility"],
        )
    yield from _metadata(front)


def _metadata(front: Frontmatter) -> Iterator[Problem]:
    if "metadata" not in front.lines:
        return
    values, line = front.fields.get("metadata"), front.lines["metadata"]
    if not isinstance(values, dict):
        yield Problem("metadata-type", f"'metadata:' is {_kind(values)}, not a map", "Write 'key: value' lines", line)
        return
    for key, value in values.items():
        if isinstance(value, dict | list):
            yield Problem(
                "metadata-value", f"'metadata: {key}:' is {_kind(value)}, not text", "Write one line of text", line
            )
        elif not isinstance(value, str):
            yield Problem(
                "metadata-quotes",
                f"'metadata: {key}:' is {_kind(value)} to YAML; it is read as the text that is written there",
                "Put it in quotes",
                line,
                severity="warning",
            )


def _unknown_fields(front: Frontmatter) -> Iterator[Problem]:
    for key, line in front.lines.items():
        if key in FIELDS or key == "<<":
            continue
        severity: Severity = "warning" if key == TOOLS_FIELD else "error"
        yield Problem(
            "unknown-field",
            f"The specification has no field '{key}'",
            "Other clients may refuse the skill because of it"
            if key == TOOLS_FIELD
            else f"Its fields are {', '.join(FIELDS)}; anything else belongs below 'metadata:'",
            line,
            severity=severity,
        )


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "a yes or no"
        case dict():
            return "a map"
        case list() | tuple() | set():
            return "a list"
        case int() | float():
            return "a number"
        case _:
            return "a date" if hasattr(value, "isoformat") else "no text"
