"""The skill in what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_skills.errors import UsageProblem
from jupyter_skills.server.incoming.multipart import Upload
from jupyter_skills.server.incoming.workers import off_loop
from jupyter_skills.skills.archive.uploaded import as_archive
from jupyter_skills.skills.skill import Skill


@dataclass(frozen=True)
class Sent:
    """A skill that a client sent.

    Args:
        skill: The skill.
        file_name: The name of the archive, or of the folder if its files came one by one; None if it had none.
        file_type: What the client takes the file for, as a MIME type, if it was a single one.
    """

    skill: Skill
    file_name: str | None
    file_type: str | None


async def skill_in(upload: Upload) -> Sent:
    """The skill in a form, whatever its fields are called.

    Raises:
        UsageProblem: No file was sent.
        SkillProblem: See ``as_archive`` and ``Skill.from_zip``.
    """
    if not upload.files:
        raise UsageProblem("No file was sent", "Send the files of a skill's folder, or one zip of it")
    skill = await off_loop(_opened, [(file.filename, file.content) for file in upload.files])
    first = upload.files[0]
    folder, slash, _ = first.filename.partition("/")
    if slash:
        return Sent(skill, folder or None, None)
    return Sent(skill, first.filename or None, first.content_type or None if len(upload.files) == 1 else None)


def _opened(parts: Sequence[tuple[str, bytes]]) -> Skill:
    return Skill.from_zip(as_archive(parts))
