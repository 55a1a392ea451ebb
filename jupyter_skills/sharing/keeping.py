"""Skills that were fetched, put into the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jupyter_skills.errors import SkillNotFound
from jupyter_skills.sharing.fetched import Fetched
from jupyter_skills.store.records import StoredSkill, Visibility
from jupyter_skills.store.store import SkillStore

_ZIP = "application/zip"
_FACTS = ("origin", "revision", "digest")  # see Fetched.metadata


@dataclass(frozen=True)
class Kept:
    """What became of a skill that was put into the store.

    Args:
        outcome: ``created``; ``new version`` of one that was there; ``unchanged`` if its latest version has the same
            files.
        skill: The skill as the store has it now.
        left_out: See ``Fetched``.
    """

    outcome: Literal["created", "new version", "unchanged"]
    skill: StoredSkill
    left_out: tuple[str, ...] = ()


async def keep(
    store: SkillStore, fetched: Fetched, *, title: str | None = None, visibility: Visibility | None = None
) -> Kept:
    """Puts a skill into the store: as a new one, or as a new version of the user's own of that name.

    Args:
        store: The store, as the user sees it.
        fetched: The skill.
        title: What people see; what is there stays if not given, and its name is taken for a new one.
        visibility: Who sees it; what is there stays if not given, and a new one is private.

    Raises:
        SkillProblem: The store doesn't take it.
        StoreProblem: The store can't be used.
    """
    skill = fetched.skill
    own = await own_skill(store, skill.name)
    file_type = _ZIP if fetched.file_name and fetched.file_name.endswith((".zip", ".skill")) else None
    if own is None:
        made = await store.create(
            skill,
            title=title,
            metadata=fetched.metadata,
            visibility=visibility or "private",
            file_name=fetched.file_name,
            file_type=file_type,
        )
        return Kept("created", made, fetched.left_out)
    latest = await store.version(own.id, "latest") if own.latest_version else None
    changed = latest is None or latest.digest != skill.digest
    if changed:
        await store.create_version(own.id, skill, file_name=fetched.file_name, file_type=file_type)
    facts = {key: value for key, value in own.metadata.items() if key not in _FACTS} | fetched.metadata
    if not changed and (not fetched.metadata or dict(own.metadata) == facts):
        facts = {}
    if facts or title or visibility or changed:
        await store.update(own.id, title=title, visibility=visibility, metadata=facts if changed or facts else None)
    return Kept("new version" if changed else "unchanged", await store.get(own.id), fetched.left_out)


async def own_skill(store: SkillStore, name: str) -> StoredSkill | None:
    """The user's own skill of a name, if there is one."""
    try:
        found = await store.find(name)
    except SkillNotFound:
        return None
    return found if found.owner == store.user else None
