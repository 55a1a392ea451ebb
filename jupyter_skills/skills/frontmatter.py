"""The two halves of a SKILL.md: YAML frontmatter and Markdown body.

Source: the Agent Skills specification, section "SKILL.md format".
"""

from __future__ import annotations

from typing import Any

import yaml

from jupyter_skills.errors import InvalidSkill

FENCE = "---"
_NEXT = "A SKILL.md begins with a line '---', then 'name:' and 'description:', then a second line '---'"


def split(text: str) -> tuple[dict[str, Any], str]:
    """Takes a SKILL.md apart.

    Args:
        text: The whole file. A byte-order mark and Windows line ends are tolerated.

    Returns:
        The frontmatter's fields, and the body without surrounding blank lines.

    Raises:
        InvalidSkill: There is no frontmatter, or it is not a YAML mapping.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise InvalidSkill("SKILL.md has no frontmatter", _NEXT)
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise InvalidSkill("The frontmatter of SKILL.md has no end", _NEXT)
    return _mapping("\n".join(lines[1:end])), "\n".join(lines[end + 1 :]).strip()


def _mapping(source: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(source)
    except Exception as error:  # noqa: BLE001 -- PyYAML lets all sorts through for values of a wrong kind
        mark = getattr(error, "problem_mark", None)
        # The frontmatter's first line is line 2 of the file, and YAML counts from 0.
        where = f" in line {mark.line + 2}" if mark else ""
        raise InvalidSkill(
            f"The frontmatter of SKILL.md is not valid YAML{where}: {getattr(error, 'problem', None) or error}",
            "Quote values that contain a colon",
        ) from None
    if not isinstance(fields, dict):
        raise InvalidSkill("The frontmatter of SKILL.md is not a list of 'key: value' lines", _NEXT)
    return {str(key): value for key, value in fields.items()}
