"""``SkillStore``: skills and their versions, kept in a database that a team may share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_skills.errors import UsageProblem
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source
from jupyter_skills.store import blobs, changes, rows
from jupyter_skills.store.changes import Wish
from jupyter_skills.store.clock import now
from jupyter_skills.store.database import Database, database_for
from jupyter_skills.store.intake import Intake, taken_in
from jupyter_skills.store.location import current_user, store_url
from jupyter_skills.store.records import Page, SearchHit, SkillVersion, StoredSkill, Visibility
from jupyter_skills.store.rows import Order

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

T = TypeVar("T")

_LONGEST_USER = 255

MONTH = 30 * 86_400.0
"""How long a deleted skill can be restored at least, in seconds."""


class SkillStore:
    """Skills and their immutable versions, as one user sees them.

    Every method may be called from any event loop; the work is done on threads of the database's. All of them raise
    ``StoreProblem`` when the database can't be used. A skill of others that is not shared is not told from a missing
    one.

    Args:
        url: The database's address as SQLAlchemy writes it; ``JUPYTER_SKILLS_DB`` if not given, else a SQLite file in
            the Jupyter data folder. Nothing is opened yet.
        user: Whose skills are one's own; see ``location.current_user`` if not given.
    """

    def __init__(self, url: str | None = None, user: str | None = None) -> None:
        self.database: Database = database_for(url or store_url())
        self.user = _checked_user(user or current_user())
        self._is_view = False

    @property
    def url(self) -> str:
        """The database's address, without its password."""
        return self.database.url

    def for_user(self, user: str) -> SkillStore:
        """The same store as somebody else sees it; it is closed with this one.

        Raises:
            UsageProblem: That can't be a user's name.
        """
        other = SkillStore.__new__(SkillStore)
        other.database, other.user, other._is_view = self.database, _checked_user(user), True
        return other

    async def create(
        self,
        skill: Skill | bytes | str | Path,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        visibility: Visibility = "private",
        file_name: str | None = None,
        file_type: str | None = None,
        source: str = "custom",
    ) -> StoredSkill:
        """Puts a new skill into the store; title and description are taken from its SKILL.md.

        Args:
            skill: A skill, the bytes of an archive, or the path of a folder, SKILL.md or archive.
            title: What people see; the skill's name if not given.
            metadata: Whatever is to be kept with it, as JSON knows it.
            visibility: Who sees it besides the user.
            file_name: The name of what was uploaded; that of the path if not given.
            file_type: Its MIME type.
            source: Where it came from, in a word.

        Raises:
            SkillProblem: It is no skill, or one whose name or description breaks the specification.
            StoreConflict: The user has a skill of that name already.
            UsageProblem: Something of the rest can't be taken.
        """
        wish = Wish(title, metadata, visibility)
        return await self._do(_create, skill, wish, source, file_name, file_type)

    async def create_version(
        self,
        skill_id: str,
        skill: Skill | bytes | str | Path,
        *,
        default: bool = True,
        file_name: str | None = None,
        file_type: str | None = None,
    ) -> SkillVersion:
        """Puts a new version of a skill into the store.

        Args:
            skill_id: The skill.
            skill: See ``create``; its name must be the skill's.
            default: Whether it is meant from now on where no version is named.
            file_name: See ``create``.
            file_type: See ``create``.

        Raises:
            SkillProblem: It is no usable skill, or there is no skill of that id.
            NotYours: The skill is somebody else's.
            StoreConflict: It has another name.
        """
        return await self._do(_create_version, skill_id, skill, default, file_name, file_type)

    async def get(self, skill_id: str) -> StoredSkill:
        """A skill.

        Raises:
            SkillNotFound: There is none of that id.
        """
        return await self._read(lambda connection: rows.stored_skill(rows.skill_row(connection, self.user, skill_id)))

    async def find(self, name: str) -> StoredSkill:
        """The skill that a name stands for: the user's own, else the first that was shared under it.

        Raises:
            SkillNotFound: There is none of that name.
        """
        return await self._read(lambda connection: rows.stored_skill(rows.named(connection, self.user, name)))

    async def list(
        self,
        *,
        limit: int = 20,
        after: str | None = None,
        order: Order = "desc",
        mine: bool = False,
        deleted: bool = False,
        public: bool = False,
        source: str | None = None,
    ) -> Page[StoredSkill]:
        """A page of the skills, without their instructions, in the order they were created.

        A list read page by page holds each skill once that was there all the while, whatever comes or goes meanwhile.

        Args:
            limit: How many at most, 1 to 1,000.
            after: The cursor of the page before, or the id of a skill.
            order: ``desc`` for the newest first, or ``asc``.
            mine: Only the user's own.
            deleted: The user's deleted ones instead.
            public: Only public ones.
            source: Only those from there.

        Raises:
            UsageProblem: The limit, the cursor or the order makes no sense.
        """
        return await self._read(
            lambda connection: rows.skill_page(
                connection,
                self.user,
                limit=limit,
                after=after,
                order=order,
                mine=mine,
                deleted=deleted,
                public=public,
                source=source,
            )
        )

    async def every(
        self, *, mine: bool = False, deleted: bool = False, public: bool = False
    ) -> AsyncIterator[StoredSkill]:
        """All skills that ``list`` has page by page, in the order they were created."""
        after: str | None = None
        while True:
            page = await self.list(
                limit=rows.MOST_ON_A_PAGE, after=after, order="asc", mine=mine, deleted=deleted, public=public
            )
            for skill in page.items:
                yield skill
            if (after := page.cursor) is None:
                return

    async def versions(
        self, skill_id: str, *, limit: int = 20, after: str | None = None, order: Order = "desc"
    ) -> Page[SkillVersion]:
        """A page of the versions of a skill; see ``list``.

        Raises:
            SkillNotFound: There is no such skill.
            UsageProblem: See ``list``.
        """
        return await self._read(
            lambda connection: rows.version_page(
                connection, rows.skill_row(connection, self.user, skill_id), limit=limit, after=after, order=order
            )
        )

    async def version(self, skill_id: str, version: str | None = None) -> SkillVersion:
        """A version of a skill.

        Args:
            skill_id: The skill.
            version: Its number or id, or ``latest``; the default one if not given.

        Raises:
            SkillNotFound: There is no such skill, or no such version.
        """
        return await self._read(lambda connection: rows.skill_version(self._version(connection, skill_id, version)))

    async def content(self, skill_id: str, version: str | None = None) -> bytes:
        """The files of a version as a zip: the same bytes whenever it is asked for; see ``version``."""
        return (await self._content(skill_id, version))[1]

    async def skill(self, skill_id: str, version: str | None = None) -> Skill:
        """A version as a skill whose files are in memory; see ``version``."""
        found, archive = await self._content(skill_id, version)
        return await self.database.off_loop(opened, archive, found)

    async def update(
        self,
        skill_id: str,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        visibility: Visibility | None = None,
        default_version: str | None = None,
    ) -> StoredSkill:
        """Changes what is given, and nothing else; see ``Wish`` for what each is.

        Raises:
            SkillNotFound: There is no such skill, or no such version.
            NotYours: It is somebody else's.
            UsageProblem: A value can't be taken.
        """
        wish = Wish(title, metadata, visibility, default_version)
        return await self._write(lambda connection: changes.update(connection, self.user, skill_id, wish))

    async def delete(self, skill_id: str) -> StoredSkill:
        """Deletes a skill with all its versions; ``restore`` brings it back until it is purged.

        Raises:
            SkillNotFound: There is no such skill.
            NotYours: It is somebody else's.
        """
        return await self._write(lambda connection: changes.delete(connection, self.user, skill_id))

    async def restore(self, skill_id: str) -> StoredSkill:
        """Brings a deleted skill back as it was.

        Raises:
            SkillNotFound: The user has deleted no such skill.
            StoreConflict: The user has made another of that name since.
        """
        return await self._write(lambda connection: changes.restore(connection, self.user, skill_id))

    async def delete_version(self, skill_id: str, version: str) -> SkillVersion:
        """Deletes a version for good. The latest and the default one are the newest that is left from then on.

        Raises:
            SkillNotFound: There is no such skill, or no such version.
            NotYours: It is somebody else's.
        """
        return await self._write(lambda connection: changes.delete_version(connection, self.user, skill_id, version))

    async def search(self, words: str, *, limit: int = 10) -> Sequence[SearchHit]:
        """The skills that words fit best, best first; beginnings of words count too.

        Args:
            words: What is looked for, in any order.
            limit: How many at most, 1 to 1,000.

        Raises:
            UsageProblem: The limit makes no sense.
        """
        return await self._read(lambda connection: rows.search(connection, self.user, words, limit))

    async def purge(self, older_than: float = MONTH) -> int:
        """Forgets for good the user's skills that were deleted so long ago.

        Args:
            older_than: How long, in seconds.

        Returns:
            How many.
        """
        before = now() - int(older_than * 1_000_000)
        return await self._write(lambda connection: changes.purge(connection, self.user, before))

    async def close(self) -> None:
        """Closes the database's connections; a later use opens them again. Those of others' views stay open."""
        if not self._is_view:
            await asyncio.to_thread(self.database.close)

    async def __aenter__(self) -> SkillStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _version(self, connection: Connection, skill_id: str, version: str | None) -> Any:
        return rows.version_row(connection, rows.skill_row(connection, self.user, skill_id), version)

    async def _content(self, skill_id: str, version: str | None) -> tuple[SkillVersion, bytes]:
        def work(connection: Connection) -> tuple[SkillVersion, bytes]:
            row = self._version(connection, skill_id, version)
            found = blobs.content(connection, row["archive"])
            assert found is not None, "a foreign key keeps the archives of versions"
            return rows.skill_version(row), found

        return await self._read(work)

    async def _do(self, work: Callable[..., T], *args: Any) -> T:
        return await self.database.off_loop_to_write(work, self.database, self.user, *args)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await self.database.off_loop(self.database.read, work)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await self.database.off_loop_to_write(self.database.write, work)


def opened(archive: bytes, version: SkillVersion) -> Skill:
    """The skill in a stored archive."""
    skill = Skill.from_zip(archive)
    return replace(skill, source=Source("store", f"{version.skill_id}@{version.version}"))


def _checked_user(user: str) -> str:
    if not (user.isprintable() and 0 < len(user) <= _LONGEST_USER):
        raise UsageProblem(f"A user's name has 1 to {_LONGEST_USER} characters that can be shown", "Give another")
    return user


def _create(
    database: Database,
    user: str,
    skill: Skill | bytes | str | Path,
    wish: Wish,
    source: str,
    file_name: str | None,
    file_type: str | None,
) -> StoredSkill:
    intake = _intake(skill, file_name, file_type)
    return database.write(lambda connection: changes.create(connection, user, intake, wish, source))


def _create_version(
    database: Database,
    user: str,
    skill_id: str,
    skill: Skill | bytes | str | Path,
    default: bool,
    file_name: str | None,
    file_type: str | None,
) -> SkillVersion:
    intake = _intake(skill, file_name, file_type)
    return database.write(lambda connection: changes.add_version(connection, user, skill_id, intake, default=default))


def _intake(skill: Skill | bytes | str | Path, file_name: str | None, file_type: str | None) -> Intake:
    intake = taken_in(skill)
    return replace(intake, file_name=file_name or intake.file_name, file_type=file_type or intake.file_type)
