"""The system message: the same bytes for the same skills, so that providers can cache it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from jupyter_skills.agent.executor import Executor
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.registry import LoadedSkill

_MOST_FILES_LISTED = 100

_OPENING = "You answer inside a notebook. Your text is shown as Markdown."
_PLACES = {
    "docker": """\
Code runs in an isolated container: no network, /work is the working folder, variables of run_python are kept from \
call to call. Files left in /work, and figures that are displayed, are shown to the user.""",
    "live": """\
Code runs in the user's own notebook kernel, with their variables, after they have consented to it. Figures that are \
displayed are shown to the user.""",
    "": "No code can be run.",
}
_CATALOG = """\
These skills are at hand. When a task matches the description of one, call load_skill with its name before anything \
else, and follow its instructions."""


def system_message(skills: Iterable[LoadedSkill], executor: Executor | None, more: str = "") -> str:
    """What the model is told before the conversation.

    Args:
        skills: The skills in force.
        executor: Where code will run; None if nowhere.
        more: The user's own system text.
    """
    skills = list(skills)
    parts = [_OPENING, _PLACES[executor.place if executor else ""]]
    if catalog := [entry for entry in skills if not entry.pinned]:
        parts.append(_CATALOG)
        rows = (
            f"<skill>\n<name>{escape(entry.skill.name)}</name>\n"
            f"<description>{escape(entry.skill.description, quote=False)}</description>\n</skill>"
            for entry in catalog
        )
        parts.append("<available_skills>\n" + "\n".join(rows) + "\n</available_skills>")
    parts += [skill_content(entry.skill, executor) for entry in skills if entry.pinned]
    if more:
        parts.append(more)
    return "\n\n".join(parts)


def skill_content(skill: Skill, executor: Executor | None) -> str:
    """A skill's instructions and the names of its files, as the model gets them when it loads the skill."""
    folder = executor.skill_folder(skill) if executor else ""
    files = skill.files()
    listed = "\n".join(f"<file>{escape(path, quote=False)}</file>" for path in files[:_MOST_FILES_LISTED])
    if len(files) > _MOST_FILES_LISTED:
        listed += f"\n… and {len(files) - _MOST_FILES_LISTED} more"
    where = f"\n\nSkill directory: {folder}" if folder else ""
    return (
        f'<skill_content name="{escape(skill.name)}">\n{skill.instructions(folder)}{where}\n\n'
        f"<skill_resources>\n{listed}\n</skill_resources>\n</skill_content>"
    )
