"""The list of skills that the model chooses from, within its share of the model's context.

The form is that of the specification's client guide, ``<available_skills>``, without ``<location>``: the model gets
at a skill by ``load_skill``, and only then do its files lie anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jupyter_skills.skills.skill import Skill
from jupyter_skills.words import CHARACTERS_PER_TOKEN, count

_USUAL_CONTEXT = 100_000
_LEAST_DESCRIPTION = 40

_INTRODUCTION = """\
These skills are at hand. When a task matches the description of one, call load_skill with its name before anything \
else, and follow its instructions."""


@dataclass(frozen=True)
class Catalog:
    """A rendered list of skills.

    Args:
        text: For the system message; empty if there are no skills.
        notice: For the user: what was shortened or left out, if anything.
    """

    text: str = ""
    notice: str = ""


def budget(share: float, context: int | None) -> int:
    """How many characters the catalog may have.

    Args:
        share: Its share of the model's context.
        context: How many tokens that has; None if it is not known.
    """
    return int(share * (context or _USUAL_CONTEXT) * CHARACTERS_PER_TOKEN)


def catalog(skills: Sequence[Skill], room: int) -> Catalog:
    """Lists skills: descriptions are shortened if need be, then skills are left out from the end, visibly.

    Args:
        skills: What to list, in this order; the same skills give the same bytes.
        room: How many characters there are for it.
    """
    if not skills:
        return Catalog()
    longest = max(len(skill.description) for skill in skills)
    whole = _framed([_row(skill, longest) for skill in skills])
    if len(whole) <= room:
        return Catalog(whole)
    low, high = _LEAST_DESCRIPTION, longest
    while low < high:  # the greatest length that fits, or else the least
        middle = (low + high + 1) // 2
        if len(_framed([_row(skill, middle) for skill in skills])) <= room:
            low = middle
        else:
            high = middle - 1
    rows = [_row(skill, low) for skill in skills]
    listed = len(rows)
    if len(_framed(rows)) > room:
        listed, used = 0, len(_framed([], len(rows)))
        while listed < len(rows) and used + len(rows[listed]) + 1 <= room:
            used += len(rows[listed]) + 1
            listed += 1
    shortened = sum(len(skill.description) > low for skill in skills[:listed])
    what = [f"{count(shortened, 'description')} cut to {low} characters"] if shortened else []
    if listed < len(rows):
        what.append(f"{count(len(rows) - listed, 'skill')} left out of the list (but not of load_skill's names)")
    return Catalog(
        _framed(rows[:listed], len(rows) - listed),
        f"To keep within JupyterSkills.catalog_share: {', '.join(what)}. Unload what is not needed.",
    )


def _row(skill: Skill, longest: int) -> str:
    description = skill.description
    if len(description) > longest:
        description = description[: longest - 1].rstrip() + "…"
    return (
        f"<skill>\n<name>{escape(skill.name)}</name>\n"
        f"<description>{escape(description, quote=False)}</description>\n</skill>"
    )


def _framed(rows: Sequence[str], left_out: int = 0) -> str:
    more = [f"<!-- {left_out:,} more for want of room; load_skill knows their names -->"] if left_out else []
    body = "\n".join([*rows, *more])
    return f"{_INTRODUCTION}\n\n<available_skills>\n{body}\n</available_skills>"
