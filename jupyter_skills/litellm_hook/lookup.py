"""The skills that a container names, as one user sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from jupyter_skills.errors import SkillNotFound, UsageProblem
from jupyter_skills.litellm_hook.container import PREFIX, Reference
from jupyter_skills.skills import discovery
from jupyter_skills.skills.rules import normalized
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store import finding
from jupyter_skills.store.store import SkillStore

_LATEST = "latest"


async def skills_for(
    references: Iterable[Reference], store: SkillStore | None, *, discovers: bool
) -> tuple[Skill, ...]:
    """The skills, each once, with all their files as they are now.

    Args:
        references: Which ones.
        store: Where they are kept, and whose view of it, which comes first; the environment's if not given, where there
            is one, which comes after what lies in folders.
        discovers: Whether names also stand for skills that lie in folders, or came with packages. Paths never count:
            who sends a request need not be who owns the machine.

    Raises:
        SkillProblem: One is not there, or can't be read.
        StoreProblem: The store can't be used.
        UsageProblem: Two of them have the same name.
    """
    return await asyncio.to_thread(_all, tuple(references), store, discovers)


def _all(references: tuple[Reference, ...], store: SkillStore | None, discovers: bool) -> tuple[Skill, ...]:
    found: dict[str, Skill] = {}
    for reference in references:
        skill = _one(reference, store, discovers).snapshot()
        if found.setdefault(skill.name, skill).digest != skill.digest:
            raise UsageProblem(
                f"'{PREFIX}{reference}' is another skill of the name '{skill.name}', which was asked for already",
                "Ask for one of them",
            )
    return tuple(found.values())


def _one(reference: Reference, store: SkillStore | None, discovers: bool) -> Skill:
    places = [_stored, _discovered] if store is not None else [_discovered, _stored]
    for place in places if discovers else [_stored]:
        with suppress(SkillNotFound):
            return place(reference, store)
    raise SkillNotFound(f"There is no skill '{PREFIX}{reference}'", "Check its id or name, and whose it is")


def _discovered(reference: Reference, _: SkillStore | None) -> Skill:
    if reference.version not in (None, _LATEST) or not discovery.may_be_name(reference.word):
        raise SkillNotFound(f"No folder holds '{reference}'")
    return discovery.named(reference.word)


def _stored(reference: Reference, store: SkillStore | None) -> Skill:
    try:
        return finding.stored(f"{discovery.STORED}{reference}", store)
    except SkillNotFound:
        if (word := normalized(reference.word)) == reference.word:
            raise
        return finding.stored(f"{discovery.STORED}{Reference(word, reference.version)}", store)
