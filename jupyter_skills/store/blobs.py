"""Archives by what is in them: the same bytes are kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from jupyter_skills.errors import StoreBroken
from jupyter_skills.store.clock import now
from jupyter_skills.store.tables import blobs, kernel_skills, versions

ARCHIVE = "archive"
"""The ``kind`` of a skill in a kernel whose ``reference`` is the digest of a blob."""

_AT_ONCE = 500

Value = TypeVar("Value")

_LOCK = 0x6A736B626C62  # of PostgreSQL's advisory locks, the one between keeping blobs and forgetting them


def digest_of(content: bytes) -> str:
    """``sha256:…`` of bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def hold(connection: Connection) -> None:
    """Waits until nobody else keeps or forgets bytes, to the end of the transaction.

    Called before a transaction that will do both reads what it will change: two that first keep and then forget would
    wait for each other. SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def keep(connection: Connection, content: bytes) -> str:
    """Keeps bytes, if they are not kept already; their digest. Called in the transaction that then refers to them."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(_LOCK)))
    digest = digest_of(content)
    values = {"digest": digest, "size": len(content), "content": content, "created_at": now()}
    known = connection.execute(sa.select(blobs.c.digest).where(blobs.c.digest == digest)).first()
    if known is None:
        insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert
        connection.execute(insert(blobs).values(values).on_conflict_do_nothing())
    return digest


def content(connection: Connection, digest: str) -> bytes | None:
    """The bytes of a digest; None if they are not kept.

    Raises:
        StoreBroken: They are other bytes by now, which no database notices.
    """
    # As bytes, whatever it is by now: SQLite's columns hold values of any kind.
    as_bytes = sa.cast(blobs.c.content, sa.LargeBinary)
    found = connection.execute(sa.select(as_bytes).where(blobs.c.digest == digest)).scalar()
    if found is not None and digest_of(bytes(found)) != digest:
        raise StoreBroken("The store is damaged: an archive's bytes are not those that were put in", "Use a backup")
    return None if found is None else bytes(found)


def forget(connection: Connection, digests: Iterable[str]) -> None:
    """Forgets those of the bytes that nothing refers to any more."""
    wanted = sorted(set(digests))
    if not wanted:
        return
    hold(connection)
    by_version = sa.exists().where(versions.c.archive == blobs.c.digest)
    by_kernel = sa.exists().where(kernel_skills.c.kind == ARCHIVE, kernel_skills.c.reference == blobs.c.digest)
    for some in batched(wanted):
        connection.execute(blobs.delete().where(blobs.c.digest.in_(some), ~by_version, ~by_kernel))


def batched(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Values some at a time: no database takes any number of them in one statement."""
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))
