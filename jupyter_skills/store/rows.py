"""Reading skills and versions, as one user sees them. Called within a transaction of ``Database``."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from jupyter_skills.errors import NotYours, SkillNotFound, UsageProblem
from jupyter_skills.skills.rules import normalized
from jupyter_skills.store import words as index
from jupyter_skills.store.clock import as_time
from jupyter_skills.store.records import Page, SearchHit, SkillVersion, StoredSkill, version_id
from jupyter_skills.store.tables import skills, versions

Order = Literal["desc", "asc"]

LATEST = "latest"
_SEE = "See the list of skills for those it has"
MOST_ON_A_PAGE = 1000

_LISTED = [column for column in skills.c if column.name != "instructions"]
_DESCRIBED = [column for column in versions.c if column.name != "instructions"]
_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


def skill_row(connection: Connection, user: str, skill_id: str, *, deleted: bool = False) -> RowMapping:
    """The row of a skill that a user sees.

    Args:
        connection: Within a transaction.
        user: Who asks.
        skill_id: The skill.
        deleted: Whether a deleted one is wanted instead.

    Raises:
        SkillNotFound: There is none, or none that this user sees: nothing tells which.
    """
    wanted = (_deleted_of(user) if deleted else _seen_by(user)) & (skills.c.id == skill_id)
    row = connection.execute(sa.select(skills).where(wanted)).mappings().first() if _is_text(skill_id) else None
    if row is None:
        what = "deleted skill" if deleted else "skill"
        raise SkillNotFound(f"The store has no {what} '{skill_id}'", _SEE)
    return row


def own_row(connection: Connection, user: str, skill_id: str, *, deleted: bool = False) -> RowMapping:
    """The row of a skill that a user may change, held until the end of the transaction.

    Raises:
        SkillNotFound: See ``skill_row``.
        NotYours: It is somebody else's.
    """
    if _is_text(skill_id):
        connection.execute(sa.select(skills.c.id).where(skills.c.id == skill_id).with_for_update())
    row = skill_row(connection, user, skill_id, deleted=deleted)
    if row["owner"] != user:
        raise NotYours(f"The skill '{row['name']}' ({skill_id}) is {row['owner']}'s", "Make one of your own from it")
    return row


def named(connection: Connection, user: str, name: str) -> RowMapping:
    """The row that a name stands for: the user's own skill, else the first that was shared under it.

    Raises:
        SkillNotFound: None is called so.
    """
    others = sa.case((skills.c.owner == user, 0), else_=1)
    query = sa.select(skills).where(_seen_by(user), skills.c.name == normalized(name))
    query = query.order_by(others, skills.c.created_at, skills.c.id).limit(1)
    row = connection.execute(query).mappings().first() if _is_text(name) else None
    if row is None:
        raise SkillNotFound(f"The store has no skill named '{name}'", _SEE)
    return row


def skill_page(
    connection: Connection,
    user: str,
    *,
    limit: int,
    after: str | None,
    order: Order,
    mine: bool = False,
    deleted: bool = False,
    public: bool = False,
    source: str | None = None,
) -> Page[StoredSkill]:
    """A page of the skills that a user sees; see ``SkillStore.list``."""
    seen = _deleted_of(user) if deleted else _seen_by(user)
    if mine:
        seen &= skills.c.owner == user
    if public:
        seen &= skills.c.visibility == "public"
    if source is not None:
        seen &= (skills.c.source == source) if _is_text(source) else sa.false()
    query = sa.select(*_LISTED).where(seen)
    key = sa.tuple_(skills.c.created_at, skills.c.id)
    if after is not None:
        created, last = _place(connection, user, after)
        border = sa.tuple_(sa.literal(created), sa.literal(last))
        query = query.where(key < border if order == "desc" else key > border)
    columns = (skills.c.created_at, skills.c.id)
    query = query.order_by(*(column.desc() if _is_down(order) else column for column in columns))
    rows = connection.execute(query.limit(_checked(limit) + 1)).mappings().all()
    cursor = _cursor(rows[limit - 1]) if len(rows) > limit else None
    return Page(tuple(stored_skill(row) for row in rows[:limit]), cursor)


def version_row(connection: Connection, skill: RowMapping, version: str | None) -> RowMapping:
    """The row of a version.

    Args:
        connection: Within a transaction.
        skill: The row of the skill.
        version: Its number or id, or ``latest``; the default one if not given.

    Raises:
        SkillNotFound: The skill has no such version.
    """
    pointer = skill["latest_version" if version == LATEST else "default_version"]
    number = pointer if version in (None, LATEST) else _number(skill, version)
    query = sa.select(versions).where(versions.c.skill_id == skill["id"], versions.c.number == number)
    row = connection.execute(query).mappings().first() if number is not None else None
    if row is None:
        what = f"no version '{version}'" if version not in (None, LATEST) else "no version any more"
        raise SkillNotFound(f"The skill '{skill['name']}' has {what}", "See the list of its versions")
    return row


def version_page(
    connection: Connection, skill: RowMapping, *, limit: int, after: str | None, order: Order
) -> Page[SkillVersion]:
    """A page of the versions of a skill; see ``SkillStore.versions``."""
    query = sa.select(*_DESCRIBED).where(versions.c.skill_id == skill["id"])
    down = _is_down(order)
    if after is not None:
        last = _number(skill, after)
        if last is None:
            raise UsageProblem(f"'{after}' is no version", "Give the number of the last one of the page before")
        query = query.where(versions.c.number < last if down else versions.c.number > last)
    query = query.order_by(versions.c.number.desc() if down else versions.c.number)
    rows = connection.execute(query.limit(_checked(limit) + 1)).mappings().all()
    cursor = str(rows[limit - 1]["number"]) if len(rows) > limit else None
    return Page(tuple(map(skill_version, rows[:limit])), cursor)


def search(connection: Connection, user: str, words: str, limit: int) -> list[SearchHit]:
    """The skills that words fit best, of those that a user sees."""
    most = _checked(limit)
    for wanted in index.asked_for(connection, words, _seen_by(user)):
        found = index.matches(connection, wanted)
        best = (
            sa.select(skills.c.id, found.c.score)
            .join(found, found.c.key == skills.c.key)
            .where(_seen_by(user))
            .order_by(found.c.score.desc(), skills.c.name, skills.c.id)
            .limit(most)
        )
        if scores := {row.id: row.score for row in connection.execute(best)}:
            # In a second step, since a word may fit thousands, whose texts would all be read to be sorted.
            listed = connection.execute(sa.select(*_LISTED).where(skills.c.id.in_(list(scores)))).mappings()
            by_id = {row["id"]: stored_skill(row) for row in listed}
            return [SearchHit(by_id[skill_id], score) for skill_id, score in scores.items()]
    return []


def stored_skill(row: RowMapping) -> StoredSkill:
    """The record of a row."""
    return StoredSkill(
        id=row["id"],
        name=row["name"],
        title=row["title"],
        description=row["description"],
        instructions=row.get("instructions"),
        source=row["source"],
        owner=row["owner"],
        visibility=row["visibility"],
        latest_version=_shown(row["latest_version"]),
        default_version=_shown(row["default_version"]),
        metadata=row["metadata"],
        file_name=row["file_name"],
        file_type=row["file_type"],
        created_at=as_time(row["created_at"]),
        created_by=row["created_by"],
        updated_at=as_time(row["updated_at"]),
        updated_by=row["updated_by"],
        deleted_at=None if row["deleted_at"] is None else as_time(row["deleted_at"]),
    )


def skill_version(row: RowMapping) -> SkillVersion:
    """The record of a row."""
    return SkillVersion(
        id=row["id"],
        skill_id=row["skill_id"],
        version=str(row["number"]),
        name=row["name"],
        description=row["description"],
        digest=row["digest"],
        archive_digest=row["archive"],
        size=row["size"],
        file_count=row["file_count"],
        created_at=as_time(row["created_at"]),
        created_by=row["created_by"],
    )


def _seen_by(user: str) -> sa.ColumnElement[bool]:
    return skills.c.deleted_at.is_(None) & ((skills.c.owner == user) | (skills.c.visibility != "private"))


def _deleted_of(user: str) -> sa.ColumnElement[bool]:
    return skills.c.deleted_at.is_not(None) & (skills.c.owner == user)


def _is_text(word: str) -> bool:
    """Whether a word can be asked for at all: PostgreSQL's texts have no NUL, and no driver takes half of a pair."""
    return word.isprintable()


def _is_down(order: str) -> bool:
    if order not in ("desc", "asc"):
        raise UsageProblem(f"'{order}' is no order", "Give 'desc', which is newest first, or 'asc'")
    return order == "desc"


def _checked(limit: int) -> int:
    if not 1 <= limit <= MOST_ON_A_PAGE:
        raise UsageProblem(f"A page can't have {limit} items", f"Ask for 1 to {MOST_ON_A_PAGE}")
    return limit


def _number(skill: RowMapping, version: str | None) -> int | None:
    number = (version or "").removeprefix(version_id(skill["id"], ""))
    return int(number) if _NUMBER.fullmatch(number) else None


def _shown(number: int | None) -> str | None:
    return None if number is None else str(number)


def _cursor(row: RowMapping) -> str:
    return base64.urlsafe_b64encode(f"{row['created_at']} {row['id']}".encode()).decode().rstrip("=")


def _place(connection: Connection, user: str, after: str) -> tuple[int, str]:
    """Where a page begins: a cursor says it, an id has to be looked up."""
    try:
        created, _, last = base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)).decode("ascii").partition(" ")
        if last and _is_text(last) and re.fullmatch("[0-9]{1,18}", created, re.ASCII):
            return int(created), last
    except (binascii.Error, ValueError):
        pass
    own = sa.select(skills.c.created_at, skills.c.id).where(skills.c.id == after)
    row = connection.execute(own.where(_seen_by(user) | _deleted_of(user))).first() if _is_text(after) else None
    if row is None:
        raise UsageProblem("The list can't go on after what was given", "Give the cursor of the page before")
    return row[0], row[1]
