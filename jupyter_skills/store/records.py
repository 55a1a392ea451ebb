"""What the store gives back: plain values, with the JSON that the server and the command line show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

Item = TypeVar("Item")

Visibility = Literal["private", "shared", "public"]
"""Who sees a skill: its owner; every user of the store; those, and whoever reads the index below ``.well-known``."""


@dataclass(frozen=True)
class StoredSkill:
    """A skill in the store. What it says of itself is what its default version says.

    Args:
        id: ``skill_…``.
        name: Its name, the same in all versions.
        title: What people see; its name unless another was given.
        description: What it does and when to use it.
        instructions: The body of its SKILL.md; None in lists, which leave it out.
        source: Where it came from: ``custom``, unless whoever created it says otherwise.
        owner: Whose it is.
        visibility: Who sees it.
        latest_version: The newest version; None if all were deleted.
        default_version: The version that is meant where none is named; None if all were deleted.
        metadata: Whatever its owner wants to keep with it.
        file_name: The name that the archive or folder had, if it had one.
        file_type: The MIME type of what was uploaded, if anything was.
        created_at: When, in UTC.
        created_by: By whom.
        updated_at: The last change of any of this, or of its versions.
        updated_by: By whom.
        deleted_at: When it was deleted; None if it was not.
    """

    id: str
    name: str
    title: str
    description: str
    instructions: str | None
    source: str
    owner: str
    visibility: Visibility
    latest_version: str | None
    default_version: str | None
    metadata: Mapping[str, Any]
    file_name: str | None
    file_type: str | None
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    deleted_at: datetime | None = None

    def as_json(self, *, full: bool = True) -> dict[str, Any]:
        """For ``json.dumps``.

        Args:
            full: Whether the instructions are wanted.
        """
        facts = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        facts["display_title"] = facts.pop("title")
        if not full:
            del facts["instructions"]
        return facts


@dataclass(frozen=True)
class SkillVersion:
    """One version of a stored skill; nothing of it ever changes.

    Args:
        id: ``skillver_…``; see ``version_id``.
        skill_id: The skill.
        version: ``1``, ``2`` and so on; never given twice for a skill.
        name: The name in its SKILL.md.
        description: The description in its SKILL.md.
        digest: ``sha256:…`` over its files; see ``Skill.digest``.
        archive_digest: ``sha256:…`` of the archive's bytes.
        size: Of the archive, in bytes.
        file_count: How many files it has.
        created_at: When, in UTC.
        created_by: By whom.
    """

    id: str
    skill_id: str
    version: str
    name: str
    description: str
    digest: str
    archive_digest: str
    size: int
    file_count: int
    created_at: datetime
    created_by: str

    def as_json(self) -> dict[str, Any]:
        """For ``json.dumps``."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of a list.

    Args:
        items: What is on it.
        cursor: Give it as ``after`` to get the next page; None if this is the last.
    """

    items: tuple[Item, ...]
    cursor: str | None = None

    @property
    def has_more(self) -> bool:
        """Whether there is a next page."""
        return self.cursor is not None


@dataclass(frozen=True)
class SearchHit:
    """A skill that words fit.

    Args:
        skill: The skill, without its instructions.
        score: How well they fit; only good for comparing hits of one search.
    """

    skill: StoredSkill
    score: float


def version_id(skill_id: str, number: int | str) -> str:
    """The id of a version, made from what it is, so that it can be told of a skill without asking for the version.

    Args:
        skill_id: ``skill_…``.
        number: Which one.
    """
    return f"skillver_{skill_id.removeprefix('skill_')}_{number}"


def _plain(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
