"""Sending skills to another store, and taking them from there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from jupyter_skills.errors import RemoteDamaged, RemoteRefused, SkillNotFound
from jupyter_skills.sharing.endpoints import Endpoint, RemoteSkill
from jupyter_skills.sharing.fetched import Fetched
from jupyter_skills.sharing.opened import promised
from jupyter_skills.skills.skill import Skill

Outcome = Literal["created", "new version", "unchanged"]


@dataclass(frozen=True)
class Pushed:
    """What became of a skill that was sent.

    Args:
        outcome: ``created``; ``new version`` of one that was there; ``unchanged`` if the same files were there.
        skill_id: Its id there.
        version: Its version there, if there are versions.
        place: The endpoint's address.
    """

    outcome: Outcome
    skill_id: str
    version: str
    place: str


async def push(endpoint: Endpoint, skill: Skill, title: str | None = None, skill_id: str | None = None) -> Pushed:
    """Sends a skill: as a new one, or as a new version of the one of its name there.

    Args:
        endpoint: Where to.
        skill: The skill.
        title: What people see there; its name if not given.
        skill_id: The skill there that it is a version of; the one of its name if not given.

    Raises:
        SkillProblem: A file of the skill can't be read or packed.
        RemoteProblem: The other side can't be reached, or refuses.
    """
    now = await asyncio.to_thread(skill.snapshot)
    archive = await asyncio.to_thread(now.to_zip)
    there = await endpoint.get(skill_id) if skill_id else await endpoint.find(now.name, title or now.name)
    if there is None:
        made = await endpoint.create(archive, now.name, title or now.name)
        return _pushed("created", made, endpoint)
    if endpoint.keeps_versions and await _holds(endpoint, there, now):
        return _pushed("unchanged", there, endpoint)
    return _pushed("new version", await endpoint.create_version(there.id, archive, now.name), endpoint)


async def pull(endpoint: Endpoint, what: str, version: str | None = None) -> Fetched:
    """Takes a skill from another store.

    Args:
        endpoint: Where from.
        what: Its id there, or its name.
        version: The version, as it is called there; the one in force if not given.

    Raises:
        SkillNotFound: There is none of that name.
        RemoteProblem: It can't be had, or what came is no skill.
    """
    # An id has a '_' in it in all shapes, and a name can't.
    there = await (endpoint.get(what) if "_" in what else endpoint.find(what, what))
    if there is None:
        raise SkillNotFound(f"There is no skill '{what}' at '{endpoint.place}'", "Give its id there")
    chosen = version or there.version
    archive = await endpoint.content(there.id, chosen or None)
    skill = await asyncio.to_thread(promised, archive, f"{endpoint.place} {there.id}")
    return Fetched(skill, f"{endpoint.place}#{there.id}", chosen, file_name=f"{skill.name}.zip")


async def _holds(endpoint: Endpoint, there: RemoteSkill, skill: Skill) -> bool:
    """Whether the version in force there has the same files, as far as the other side lets us know."""
    try:
        archive = await endpoint.content(there.id, there.version or None)
        other = await asyncio.to_thread(promised, archive, endpoint.place)
    except (RemoteRefused, RemoteDamaged):
        return False
    if other.digest == skill.digest:
        return True
    # Some keep no permissions: then only the bytes can be the same.
    theirs, ours = other.file_digests(), skill.file_digests()
    keeps_none = not any(digest.endswith("+x") for digest in theirs.values())
    return keeps_none and theirs == {path: digest.removesuffix("+x") for path, digest in ours.items()}


def _pushed(outcome: Outcome, skill: RemoteSkill, endpoint: Endpoint) -> Pushed:
    if not skill.id:
        raise RemoteDamaged(f"'{endpoint.place}' does not say which skill it made", "Check the address and shape")
    return Pushed(outcome, skill.id, skill.version, endpoint.place)
