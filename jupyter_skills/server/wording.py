"""How errors are worded for those who see them over HTTP: other people than the one whose server it is, too."""

from __future__ import annotations

from jupyter_skills.errors import SkillNotFound, SkillsError, StoreBroken, StoreBusy, StoreUnreachable

_MAGIC = "%skill"

# They name the database, with its user and where it is.
_ABOUT_THE_DATABASE = (StoreUnreachable, StoreBusy, StoreBroken)
_NOT_JUST_NOW = SkillsError("The store can't be used just now", "The server's log says why; try again")


def over_http(error: SkillsError) -> SkillsError:
    """The words of an error that are shown over HTTP; its class is lost.

    They say nothing of the database's address, and no next step is a magic, which is for notebooks.
    """
    if isinstance(error, _ABOUT_THE_DATABASE):
        return _NOT_JUST_NOW
    if _MAGIC not in error.next_step:
        return SkillsError(error.message, error.next_step)
    step = "List the skills to see those there are" if isinstance(error, SkillNotFound) else ""
    return SkillsError(error.message, step)
