"""Changing skills and versions, as one user may. Called within a transaction of ``Database`` that writes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from jupyter_skills.errors import StoreConflict, UsageProblem
from jupyter_skills.store import blobs, words
from jupyter_skills.store.clock import now
from jupyter_skills.store.intake import Intake
from jupyter_skills.store.records import SkillVersion, StoredSkill, Visibility, version_id
from jupyter_skills.store.rows import own_row, skill_version, stored_skill, version_row
from jupyter_skills.store.tables import skills, versions

_LONGEST_TITLE = 255
_LONGEST_SOURCE = 64
_MOST_METADATA = 64 * 1024  # bytes as JSON
_DEEPEST_METADATA = 32


@dataclass(frozen=True)
class Wish:
    """What an owner wants a skill to be; what is None stays as it is.

    Args:
        title: What people see.
        metadata: What to keep with it, as JSON knows it.
        visibility: Who sees it.
        default_version: The version that is meant where none is named.

    Raises:
        UsageProblem: A value can't be taken.
    """

    title: str | None = None
    metadata: Mapping[str, Any] | None = None
    visibility: Visibility | None = None
    default_version: str | None = None

    def __post_init__(self) -> None:
        if self.title is not None and not (self.title.strip() and len(self.title) <= _LONGEST_TITLE):
            raise UsageProblem(f"A title has 1 to {_LONGEST_TITLE} characters", "Give another")
        if self.title is not None and not self.title.isprintable():
            raise UsageProblem("The title has characters in it that can't be shown", "Give another")
        if self.visibility is not None and self.visibility not in get_args(Visibility):
            choices = ", ".join(get_args(Visibility))
            raise UsageProblem(f"'{self.visibility}' is no visibility", f"Give one of {choices}")
        if self.metadata is not None:
            _check_metadata(self.metadata)


def create(connection: Connection, user: str, intake: Intake, wish: Wish, source: str) -> StoredSkill:
    """Makes a skill and its first version.

    Raises:
        StoreConflict: The user has one of that name.
        UsageProblem: The source can't be taken.
    """
    if not (source.isprintable() and 0 < len(source) <= _LONGEST_SOURCE):
        raise UsageProblem(f"A source has 1 to {_LONGEST_SOURCE} characters", "Say 'custom', or leave it out")
    name, moment = intake.skill.name, now()
    _check_free(connection, user, name)
    skill_id = f"skill_{secrets.token_hex(16)}"
    connection.execute(
        skills.insert().values(
            id=skill_id,
            owner=user,
            name=name,
            title=wish.title or name,
            description="",
            instructions="",
            source=source,
            visibility=wish.visibility or "private",
            metadata=dict(wish.metadata or {}),
            last_number=0,
            created_at=moment,
            created_by=user,
            updated_at=moment,
            updated_by=user,
        )
    )
    add_version(connection, user, skill_id, intake, default=True)
    return stored_skill(own_row(connection, user, skill_id))


def add_version(connection: Connection, user: str, skill_id: str, intake: Intake, *, default: bool) -> SkillVersion:
    """Makes the next version of a skill.

    Raises:
        SkillProblem: See ``own_row``.
        StoreConflict: It is a skill of another name.
    """
    skill = own_row(connection, user, skill_id)
    if skill["name"] != intake.skill.name:
        raise StoreConflict(
            f"'{intake.skill.name}' can't be a version of '{skill['name']}': a skill has one name in all versions",
            "Name it so in its SKILL.md, or create a skill of its own",
        )
    number = skill["last_number"] + 1
    values = {
        "id": version_id(skill_id, number),
        "skill_id": skill_id,
        "number": number,
        "name": intake.skill.name,
        "description": _storable(intake.skill.description),
        "instructions": _storable(intake.skill.body),
        "digest": intake.skill.digest,
        "archive": blobs.keep(connection, intake.archive),
        "size": len(intake.archive),
        "file_count": len(intake.skill.files()),
        "file_name": _named(intake.file_name),
        "file_type": _named(intake.file_type),
        "created_at": now(),
        "created_by": user,
    }
    connection.execute(versions.insert().values(values))
    _set(connection, user, skill_id, last_number=number, latest_version=number)
    if default or skill["default_version"] is None:
        _make_default(connection, user, skill, str(number))
    return skill_version(version_row(connection, skill, str(number)))


def update(connection: Connection, user: str, skill_id: str, wish: Wish) -> StoredSkill:
    """Changes what an owner may change.

    Raises:
        SkillProblem: See ``own_row``; or there is no such version.
    """
    skill = own_row(connection, user, skill_id)
    if wish.default_version is not None:
        _make_default(connection, user, skill, wish.default_version)
    given = {"title": wish.title, "visibility": wish.visibility}
    changed: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if wish.metadata is not None:
        changed["metadata"] = dict(wish.metadata)
    _set(connection, user, skill_id, **changed)
    row = own_row(connection, user, skill_id)
    if wish.title is not None and row["default_version"] is not None:
        _learn(connection, dict(row))
    return stored_skill(row)


def delete(connection: Connection, user: str, skill_id: str) -> StoredSkill:
    """Hides a skill from everybody, until it is restored or purged."""
    words.forget(connection, own_row(connection, user, skill_id)["key"])
    _set(connection, user, skill_id, deleted_at=now())
    return stored_skill(own_row(connection, user, skill_id, deleted=True))


def restore(connection: Connection, user: str, skill_id: str) -> StoredSkill:
    """Brings a deleted skill back.

    Raises:
        SkillNotFound: The user has deleted no such skill.
        StoreConflict: The user has another of that name by now.
    """
    skill = own_row(connection, user, skill_id, deleted=True)
    _check_free(connection, user, skill["name"])
    _set(connection, user, skill_id, deleted_at=None)
    if skill["default_version"] is not None:
        _learn(connection, dict(skill))
    return stored_skill(own_row(connection, user, skill_id))


def delete_version(connection: Connection, user: str, skill_id: str, version: str) -> SkillVersion:
    """Deletes a version for good; what pointed to it points to the newest that is left."""
    skill = own_row(connection, user, skill_id)
    row = version_row(connection, skill, version)
    connection.execute(versions.delete().where(versions.c.id == row["id"]))
    blobs.forget(connection, [row["archive"]])
    of_skill = versions.c.skill_id == skill_id
    newest = connection.execute(sa.select(sa.func.max(versions.c.number)).where(of_skill)).scalar()
    _set(connection, user, skill_id, latest_version=newest)
    if newest is None:
        _set(connection, user, skill_id, default_version=None)
        words.forget(connection, skill["key"])
    elif skill["default_version"] == row["number"]:
        _make_default(connection, user, skill, str(newest))
    return skill_version(row)


def purge(connection: Connection, user: str, before: int) -> int:
    """Forgets for good the user's skills that were deleted before a moment; how many there were."""
    gone = sa.select(skills.c.id).where(skills.c.owner == user, skills.c.deleted_at < before)
    ids = list(connection.execute(gone.with_for_update()).scalars())
    for some in blobs.batched(ids):
        of_them = versions.c.skill_id.in_(some)
        archives = connection.execute(sa.select(versions.c.archive).where(of_them)).scalars().all()
        connection.execute(versions.delete().where(of_them))
        connection.execute(skills.delete().where(skills.c.id.in_(some)))
        blobs.forget(connection, archives)
    return len(ids)


def _set(connection: Connection, user: str, skill_id: str, **values: Any) -> None:
    changed = skills.update().where(skills.c.id == skill_id).values(**values, updated_at=now(), updated_by=user)
    connection.execute(changed)


def _make_default(connection: Connection, user: str, skill: RowMapping, version: str) -> None:
    """Has a skill say of itself what one of its versions says."""
    row = version_row(connection, skill, version)
    said = {key: row[key] for key in ("description", "instructions", "file_name", "file_type")}
    _set(connection, user, skill["id"], default_version=row["number"], **said)
    _learn(connection, {**skill, **said})


def _learn(connection: Connection, skill: Mapping[str, Any]) -> None:
    """Has a skill found by its words. Its title counts as its name does, but only where it says more."""
    name = f"{skill['name']} {skill['title']}" if skill["title"] != skill["name"] else skill["name"]
    words.learn(connection, skill["key"], name, skill["description"], skill["instructions"])


def _check_free(connection: Connection, user: str, name: str) -> None:
    own = (skills.c.owner == user) & (skills.c.name == name) & skills.c.deleted_at.is_(None)
    if taken := connection.execute(sa.select(skills.c.id).where(own)).scalar():
        raise StoreConflict(f"You have a skill '{name}' already ({taken})", "Make a new version of that one")


def _check_metadata(metadata: Mapping[str, Any]) -> None:
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):  # the second for half a character, too
        raise UsageProblem("The metadata is nothing that JSON in UTF-8 can hold", "Give plain values") from None
    if not all(isinstance(key, str) for key in metadata):
        raise UsageProblem("The metadata has keys that are not text", "Give names as keys")
    if _depth(metadata) > _DEEPEST_METADATA:
        raise UsageProblem(f"The metadata is nested more than {_DEEPEST_METADATA}-fold", "Keep such things in a file")
    if size > _MOST_METADATA:
        raise UsageProblem(f"The metadata has more than {_MOST_METADATA >> 10} KiB", "Keep that much in a file")


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _named(text: str | None) -> str | None:
    return None if text is None else _storable(text)[:_LONGEST_TITLE]


def _storable(text: str) -> str:
    """Text that every database takes; the archive has it as it is."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
