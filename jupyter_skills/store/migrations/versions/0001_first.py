"""The store as it was first released."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Makes all tables."""
    op.create_table(
        "jupyter_skills_blobs",
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_jupyter_skills_blobs"),
    )
    op.create_table(
        "jupyter_skills_skills",
        sa.Column("key", sa.Integer, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("visibility", sa.String(16), nullable=False),
        sa.Column("last_number", sa.Integer, nullable=False),
        sa.Column("latest_version", sa.Integer),
        sa.Column("default_version", sa.Integer),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.String(255), nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("updated_by", sa.String(255), nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("instructions", sa.Text, nullable=False),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("file_name", sa.Text),
        sa.Column("file_type", sa.Text),
        sa.PrimaryKeyConstraint("key", name="pk_jupyter_skills_skills"),
        sa.UniqueConstraint("id", name="uq_jupyter_skills_skills_id"),
    )
    op.create_index("ix_jupyter_skills_skills_created", "jupyter_skills_skills", ["created_at", "id"])
    living = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_jupyter_skills_skills_own_names",
        "jupyter_skills_skills",
        ["owner", "name"],
        unique=True,
        sqlite_where=living,
        postgresql_where=living,
    )
    op.create_table(
        "jupyter_skills_versions",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("skill_id", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("instructions", sa.Text, nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("archive", sa.String(80), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("file_count", sa.Integer, nullable=False),
        sa.Column("file_name", sa.Text),
        sa.Column("file_type", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_jupyter_skills_versions"),
        sa.ForeignKeyConstraint(
            ["skill_id"], ["jupyter_skills_skills.id"], name="fk_jupyter_skills_versions_skill_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["archive"], ["jupyter_skills_blobs.digest"], name="fk_jupyter_skills_versions_archive"
        ),
        sa.UniqueConstraint("skill_id", "number", name="uq_jupyter_skills_versions_skill_id_number"),
    )
    op.create_index("ix_jupyter_skills_versions_archive", "jupyter_skills_versions", ["archive"])
    op.create_table(
        "jupyter_skills_kernels",
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("kernel_id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("pinned", sa.Boolean, nullable=False),
        sa.Column("run", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reference", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("connection_file", sa.Text, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("loaded_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("owner", "kernel_id", "name", name="pk_jupyter_skills_kernels"),
    )
    if op.get_context().dialect.name == "sqlite":
        op.execute("CREATE VIRTUAL TABLE jupyter_skills_words USING fts5(name, description, body, prefix='3 4')")
        return
    op.create_table(
        "jupyter_skills_words",
        sa.Column("skill", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("terms", postgresql.TSVECTOR, nullable=False),
        sa.PrimaryKeyConstraint("skill", name="pk_jupyter_skills_words"),
    )
    op.create_index("ix_jupyter_skills_words_terms", "jupyter_skills_words", ["terms"], postgresql_using="gin")
