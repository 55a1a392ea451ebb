"""The store's tables as they are now.

A new database gets them as they stand here. One that an older release made is brought here by the steps in
``migrations/``; a test compares what both ways lead to. Times are microseconds since the epoch, in UTC: they compare
and travel alike on every database.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

REVISION = "0001"
"""The newest step in ``migrations/``."""

# A team may keep its skills in a database that others use too, so every name says whose it is.
REVISION_TABLE = "jupyter_skills_revision"
WORDS_TABLE = "jupyter_skills_words"

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

blobs = Table(
    "jupyter_skills_blobs",
    metadata,
    Column("digest", String(80), primary_key=True),
    Column("size", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
"""Archives by the SHA-256 of their bytes, each held once however often it is used."""

skills = Table(
    "jupyter_skills_skills",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("owner", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("source", String(64), nullable=False),
    Column("visibility", String(16), nullable=False),
    Column("last_number", Integer, nullable=False),
    Column("latest_version", Integer),
    Column("default_version", Integer),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", String(255), nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("updated_by", String(255), nullable=False),
    Column("deleted_at", BigInteger),
    # Last, because SQLite reads a row from its start: what decides whether it is wanted stands before what is long.
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("instructions", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("file_name", Text),
    Column("file_type", Text),
)
"""A skill, with what its default version says.

``key`` is for the index of words, ``id`` for everybody else. ``last_number`` only grows: a number is never given twice.
"""

Index("ix_jupyter_skills_skills_created", skills.c.created_at, skills.c.id)
Index(
    "ix_jupyter_skills_skills_own_names",
    skills.c.owner,
    skills.c.name,
    unique=True,
    sqlite_where=text("deleted_at IS NULL"),
    postgresql_where=text("deleted_at IS NULL"),
)

versions = Table(
    "jupyter_skills_versions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("skill_id", String(64), ForeignKey(skills.c.id, ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", String(255), nullable=False),
    Column("description", Text, nullable=False),
    Column("instructions", Text, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("archive", String(80), ForeignKey(blobs.c.digest), nullable=False, index=True),
    Column("size", Integer, nullable=False),
    Column("file_count", Integer, nullable=False),
    Column("file_name", Text),
    Column("file_type", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", String(255), nullable=False),
    UniqueConstraint("skill_id", "number"),
)
"""A version; nothing of it ever changes."""

kernel_skills = Table(
    "jupyter_skills_kernels",
    metadata,
    Column("owner", String(255), primary_key=True),
    Column("kernel_id", String(255), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("run", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("reference", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("connection_file", Text, nullable=False),
    Column("host", String(255), nullable=False),
    Column("loaded_at", BigInteger, nullable=False),
)
"""A skill in force in a kernel: where to find it (``kind`` and ``reference``), and what tells that the kernel ended."""
