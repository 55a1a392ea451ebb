"""What the store takes in: whole skills, of which only what the specification says of name and description must hold.

A field too many hinders nobody who uses a skill, but a name that is none, or a description that no catalog can show,
does: see https://agentskills.io/specification.
"""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.skills.files import ARCHIVE_SUFFIXES
from jupyter_skills.skills.places import expanded
from jupyter_skills.skills.skill import Skill

_UNUSABLE = ("name-", "description-")
_HARMLESS = "name-directory"  # its folder in the archive gets its name


@dataclass(frozen=True)
class Intake:
    """A skill that may come into the store.

    Args:
        skill: The skill, with all its files in memory.
        archive: Its files as a zip, the same bytes for the same files.
        file_name: The name of what was given, if it had one.
        file_type: Its MIME type, if it was a file.
    """

    skill: Skill
    archive: bytes
    file_name: str | None = None
    file_type: str | None = None


def taken_in(what: Skill | bytes | str | Path) -> Intake:
    """A skill as the store keeps it.

    Args:
        what: A skill, the bytes of an archive, or the path of a folder, a SKILL.md or an archive.

    Raises:
        SkillNotFound: There is nothing at that path.
        InvalidArchive: The archive is damaged or hostile.
        InvalidSkill: There is no skill in it, or its name or description is not what the specification asks for.
    """
    file_name = file_type = None
    if isinstance(what, str | Path):
        path = expanded(what)
        file_name = path.resolve().name
        if path.suffix.lower() in ARCHIVE_SUFFIXES and not path.is_dir():
            file_type = mimetypes.guess_type(f"{path.stem}.zip")[0]
            skill = Skill.from_zip(path)
        else:
            skill = Skill.from_path(path)
    else:
        skill = Skill.from_zip(what) if isinstance(what, bytes) else what.snapshot()
    skill = skill.snapshot()
    for problem in skill.manifest_problems:
        if problem.severity == "error" and problem.rule.startswith(_UNUSABLE) and problem.rule != _HARMLESS:
            raise InvalidSkill(
                f"The store takes no skill with such a name or description: {problem.message}",
                problem.remedy,
                problem.line,
                problem.rule,
            )
    return Intake(skill, skill.to_zip(), file_name, file_type)
