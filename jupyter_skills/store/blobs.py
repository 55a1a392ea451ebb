"""Archives by what is in them: the same bytes are kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from jupyter_skills.errors import StoreBroken
from jupyter_skills.store.clock import now
from jupyter_skills.store.tables import blobs, kernel_skills, versions

ARCHIVE = "archive"
"""The ``kind`` of a skill in a kernel whose ``reference`` is the digest of a blob."""

_LOCK = 0x6A736B626C62  # of PostgreSQL's advisory locks, the one between keeping blobs and forgetting them


def digest_of(content: bytes) -> str:
    """``sha256:…`` of bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


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
    found = connection.execute(sa.select(blobs.c.content).where(blobs.c.digest == digest)).scalar()
    if found is not None and digest_of(bytes(found)) != digest:
        raise StoreBroken("The store is damaged: an archive's bytes are not those that were put in", "Use a backup")
    return None if found is None else bytes(found)


def forget(connection: Connection, digests: Iterable[str]) -> None:
    """Forgets those of the bytes that nothing refers to any more."""
    wanted = sorted(set(digests))
    if not wanted:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    by_version = sa.exists().where(versions.c.archive == blobs.c.digest)
    by_kernel = sa.exists().where(kernel_skills.c.kind == ARCHIVE, kernel_skills.c.reference == blobs.c.digest)
    connection.execute(blobs.delete().where(blobs.c.digest.in_(wanted), ~by_version, ~by_kernel))
