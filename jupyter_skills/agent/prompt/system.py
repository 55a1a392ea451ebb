"""The system message, and how a skill's instructions stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jupyter_skills.agent.executor import Executor
from jupyter_skills.agent.prompt.catalog import Catalog
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import LoadedSkill
from jupyter_skills.words import first_rows

_MOST_FILES_LISTED = 100
_LONGEST_GIVEN = 300

IN_A_NOTEBOOK = "You answer inside a notebook. Your text is shown as Markdown."
_PLACES = {
    "docker": """\
Code runs in an isolated container: no network, /work is the working folder, variables of run_python are kept from \
call to call. Files left in /work, and figures that are displayed, are given to the user.""",
    "live": """\
Code runs in the user's own notebook kernel, with their variables, after they have consented to it. Figures that are \
displayed are shown to the user.""",
    "": "No code can be run.",
}


def given_at_once(entry: LoadedSkill, disclosure: str) -> bool:
    """Whether a skill's instructions belong into the system message, rather than its description.

    Args:
        entry: The skill.
        disclosure: The setting of that name.
    """
    if entry.pinned or disclosure == "full":
        return True
    skill = entry.skill
    short = len(skill.body) <= _LONGEST_GIVEN
    return disclosure == "auto" and short and len(skill.body) <= len(skill.description) and len(skill.files()) == 1


@dataclass(frozen=True)
class Section:
    """A part of the system message.

    Args:
        title: What it is, for those who ask where the tokens went.
        text: What the model reads.
        skill: The skill whose instructions it holds; empty if it holds none.
    """

    title: str
    text: str
    skill: str = ""


def system_sections(
    executor: Executor | None,
    catalog: Catalog,
    given: Sequence[Skill] = (),
    changed: Sequence[str] = (),
    *,
    opening: str = IN_A_NOTEBOOK,
    more: str = "",
) -> tuple[Section, ...]:
    """What the model is told before the conversation, part by part.

    Args:
        executor: Where its code will run; None if nowhere.
        catalog: The skills it can load.
        given: The skills whose instructions it gets at once.
        changed: The names of skills that have changed since it loaded them.
        opening: How to answer, in general.
        more: The user's own system text.
    """
    place = _PLACES[executor.place if executor else ""] if opening or executor or catalog.text or given else ""
    sections = [
        Section("how to answer", "\n\n".join(filter(None, (opening, place)))),
        Section("list of skills", catalog.text),
        *(Section("instructions", skill_content(skill, executor), skill.name) for skill in given),
    ]
    if changed:
        again = f"Changed since you loaded them; load them again before you use them: {', '.join(changed)}."
        sections.append(Section("skills that changed", again))
    sections.append(Section("your system text", more))
    return tuple(section for section in sections if section.text)


def joined(sections: Sequence[Section]) -> str:
    """The system message: the same bytes for the same skills, so that providers can cache it."""
    return "\n\n".join(section.text for section in sections)


def skill_content(skill: Skill, executor: Executor | None) -> str:
    """A skill's instructions and the names of its files, as the model gets them when it loads the skill."""
    folder = executor.skill_folder(skill) if executor else ""
    files = [f"<file>{escape(path, quote=False)}</file>" for path in skill.files()]
    listed = "\n".join(first_rows(files, _MOST_FILES_LISTED))
    where = f"\n\nSkill directory: {folder} (relative paths start there)" if folder else ""
    if executor and not folder:
        where = (
            "\n\nIts files lie nowhere for run_python; read them with read_skill_file, or use the skill's own tools."
        )
    return (
        f'<skill_content name="{escape(skill.name)}">\n{skill.instructions(folder)}{where}\n\n'
        f"<skill_resources>\n{listed}\n</skill_resources>\n</skill_content>"
    )
