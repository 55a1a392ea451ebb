"""The store's rows of what is in force in one kernel."""

from __future__ import annotations

import hashlib
import socket
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, RowMapping

from jupyter_skills.errors import (
    InvalidArchive,
    InvalidSkill,
    SkillNotFound,
    SkillProblem,
    StoreBroken,
    StoreProblem,
)
from jupyter_skills.skills.discovery import STORED
from jupyter_skills.skills.discovery.roots import source_of
from jupyter_skills.skills.places import working_folder
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source
from jupyter_skills.store import blobs, finding
from jupyter_skills.store.clock import now
from jupyter_skills.store.loaded import Kernel, LoadedSkill
from jupyter_skills.store.location import file_of, store_url
from jupyter_skills.store.presence import identity
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import kernel_skills as table

FOLDER, STORE = "folder", "store"
"""What a row's ``kind`` is, besides ``blobs.ARCHIVE``."""

_DAY = 86_400_000_000  # microseconds
_MACHINE_ID = Path("/etc/machine-id")
_LONGEST_HOST = 200


@dataclass(frozen=True)
class Entry:
    """One skill in force in one kernel, as a row says it.

    Args:
        name: The name it was loaded by.
        kind: ``folder``, ``store`` or ``archive``.
        reference: A folder's path, ``ID@VERSION``, or the digest of the archive's bytes.
        detail: What the archive is called.
        pinned: See ``LoadedSkill``.
        run: See ``LoadedSkill``.
        content: The archive's bytes, where they are still to be written.
    """

    name: str
    kind: str
    reference: str
    detail: str = ""
    pinned: bool = False
    run: str = ""
    content: bytes | None = None

    @classmethod
    def of(cls, name: str, loaded: LoadedSkill) -> Entry:
        """The row for a skill: a folder by its path, a stored skill by its id and version, all else by its bytes.

        Raises:
            SkillProblem: It has no folder, and can't be packed either.
        """
        skill, how = loaded.skill, (loaded.pinned, loaded.run)
        if skill.folder is not None:
            return cls(name, FOLDER, _text(skill.folder.absolute()), "", *how)
        if skill.source.kind == "store":
            return cls(name, STORE, skill.source.detail, "", *how)
        content = skill.to_zip()
        return cls(name, blobs.ARCHIVE, blobs.digest_of(content), _text(skill.source.detail), *how, content)

    def same_place(self, other: Entry | None) -> bool:
        """Whether another row is about the same folder, version or bytes."""
        return other is not None and (self.kind, self.reference) == (other.kind, other.reference)

    @property
    def place(self) -> str:
        """Where the skill is, in words."""
        return {STORE: f"{STORED}{self.reference}", FOLDER: self.reference}.get(self.kind, self.detail or "an archive")


class Entries:
    """The rows of one kernel.

    Args:
        store: Where they are.
        kernel: Whose they are; nothing here sees those of another kernel, or of another owner.
    """

    def __init__(self, store: SkillStore, kernel: Kernel) -> None:
        self._store = store.for_user(kernel.owner)
        self._database = store.database
        self._kernel = kernel
        self._mine = (table.c.owner == kernel.owner) & (table.c.kernel_id == kernel.id)
        self._file = _identity()

    def replaced(self) -> bool:
        """Whether the store's file is another one by now, or gone."""
        return _identity() != self._file

    def close(self) -> None:
        """Lets go of a file that is gone."""
        self._database.close()

    def all(self) -> list[Entry]:
        """The rows, in the order the skills were loaded.

        Raises:
            StoreProblem: They can't be read.
        """
        return self.exchange({})

    def exchange(self, changes: Mapping[str, Entry | None]) -> list[Entry]:
        """Writes what was changed, and reads all, in one transaction.

        Args:
            changes: Rows by name; None for one that goes. The rows of other names stay as they are.

        Returns:
            The rows, in the order the skills were loaded; a row that is replaced keeps its place.

        Raises:
            StoreProblem: They can't be read or written.
        """

        def write(connection: Connection) -> list[RowMapping]:
            self._change(connection, changes)
            return self._rows(connection)

        rows = self._database.write(write) if changes else self._database.read(self._rows)
        if rows and min(row["loaded_at"] for row in rows) < now() - _DAY:
            self._touch()
        return [_entry(row) for row in rows]

    def opened(self, entry: Entry, start: Path | None = None) -> Skill:
        """The skill of a row. What it may do is decided by where it is found now, whatever the row says.

        Args:
            entry: The row.
            start: The notebook's folder; the working folder if not given.

        Raises:
            SkillProblem: It is not there any more, or can't be read, be it that its bytes in the store are damaged.
            StoreProblem: The store can't be read.
        """
        try:
            return replace(self._opened(entry, start), name=entry.name)
        except StoreBroken as error:
            if self.replaced():  # it was all of the store, which was put aside
                raise
            raise InvalidArchive(f"'{entry.name}' can't be read: {error.message}", error.next_step) from None

    def _opened(self, entry: Entry, start: Path | None) -> Skill:
        if entry.kind == FOLDER:
            folder = Path(entry.reference)
            return Skill.from_path(folder, source_of(folder, start or working_folder()))
        if entry.kind == STORE:
            return finding.stored(entry.place, self._store)
        if entry.kind != blobs.ARCHIVE:
            raise SkillNotFound(f"'{entry.name}' was loaded by a newer release", "Upgrade jupyter-agent-skills")
        content = self._database.read(lambda connection: blobs.content(connection, entry.reference))
        if content is None:
            raise SkillNotFound(f"The bytes of '{entry.name}' are gone", "Load it again")
        return replace(Skill.from_zip(content), source=Source("archive", entry.detail))

    def facts(self, entry: Entry, start: Path | None = None) -> dict[str, Any]:
        """What there is to say of a row, for ``json.dumps``; ``problem`` says why the skill can't be read, if it can't.

        Args:
            entry: The row.
            start: See ``opened``.

        Raises:
            StoreProblem: The store can't be read.
        """
        description = problem = ""
        try:
            description = self.opened(entry, start).description
        except SkillProblem as error:
            problem = error.message
        return {
            "name": entry.name,
            "description": description,
            "pinned": entry.pinned,
            "run": entry.run,
            "kind": entry.kind,
            "place": entry.place,
            "problem": problem,
        }

    def _rows(self, connection: Connection) -> list[RowMapping]:
        query = sa.select(table).where(self._mine).order_by(table.c.position, table.c.name)
        return list(connection.execute(query).mappings())

    def _change(self, connection: Connection, changes: Mapping[str, Entry | None]) -> None:
        blobs.hold(connection)  # what is replaced is read below, and may be forgotten after other bytes were kept
        here = self._mine & table.c.name.in_(list(changes))
        before = connection.execute(sa.select(table.c.kind, table.c.reference).where(here)).mappings().all()
        gone = [name for name, entry in changes.items() if entry is None]
        connection.execute(table.delete().where(self._mine & table.c.name.in_(gone)))
        insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert
        for entry in filter(None, changes.values()):
            values = self._values(connection, entry)
            last = sa.select(sa.func.coalesce(sa.func.max(table.c.position), -1) + 1).where(self._mine)
            statement = insert(table).values(**values, position=last.scalar_subquery())
            # What is there keeps its place; and of two processes that put the same in, both succeed.
            statement = statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)
            connection.execute(statement)
        blobs.forget(connection, archives_of(before))

    def _values(self, connection: Connection, entry: Entry) -> dict[str, object]:
        if entry.content is not None:
            blobs.keep(connection, entry.content)
        return {
            "owner": self._kernel.owner,
            "kernel_id": self._kernel.id,
            "name": entry.name,
            "pinned": entry.pinned,
            "run": entry.run,
            "kind": entry.kind,
            "reference": entry.reference,
            "detail": entry.detail,
            "connection_file": self._kernel.connection_file,
            "host": this_machine(),
            "loaded_at": now(),
        }

    def _touch(self) -> None:
        """Notes, about once a day, that the kernel is still in use."""
        try:
            self._database.write(lambda connection: connection.execute(_stamp().where(self._mine)))
        except StoreProblem:  # a store that may only be read
            return


def archives_of(rows: Iterable[RowMapping]) -> list[str]:
    """The digests of the archives that rows name."""
    return [row["reference"] for row in rows if row["kind"] == blobs.ARCHIVE]


@cache
def this_machine() -> str:
    """The host name, and what tells machines of one name apart; at most 255 characters."""
    try:
        known = _MACHINE_ID.read_text().strip()
    except (OSError, UnicodeDecodeError):  # containers and other systems have none
        known = ""
    known = known if known not in ("", "uninitialized") else f"{uuid.getnode():012x}"
    # A machine's id is not for others, as machine-id(5) says: what is made of it will do.
    return f"{socket.gethostname()[:_LONGEST_HOST]} {hashlib.sha256(known.encode()).hexdigest()[:16]}"


def _stamp() -> sa.Update:
    return sa.update(table).values(loaded_at=now())


def _entry(row: RowMapping) -> Entry:
    return Entry(*(row[key] for key in ("name", "kind", "reference", "detail", "pinned", "run")))


def _text(path: str | Path) -> str:
    """A path as text; one that is none can't be kept.

    Raises:
        InvalidSkill: It is no text.
    """
    try:
        return str(path).encode().decode()
    except UnicodeEncodeError:
        raise InvalidSkill(f"The path {str(path)!a} is no text", "Rename it") from None


def _identity() -> tuple[int, int] | None:
    """Which file the store is; None if it is none, or can't be looked at."""
    file = file_of(store_url())
    with suppress(OSError):
        return identity(file) if file is not None else None
    return None
