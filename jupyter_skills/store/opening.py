"""What happens when a database is opened: its tables are made, brought up to date, or found to be too new."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from jupyter_skills.errors import StoreTooNew
from jupyter_skills.store import words
from jupyter_skills.store.tables import REVISION, REVISION_TABLE, metadata

_MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 0x6A736B696C6C  # of PostgreSQL's advisory locks, the one for changes of our tables

_revision = sa.table(REVISION_TABLE, sa.column("version_num"))


def is_ready(connection: Connection) -> bool:
    """Whether the tables are there as this release knows them."""
    return _found(connection) == REVISION


def make_ready(connection: Connection) -> None:
    """Makes the tables, or brings those of an older release up to date. Called within a transaction that writes.

    Raises:
        StoreTooNew: A newer release has changed them; nothing is touched.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    found = _found(connection)  # again: another process may have been quicker
    if found == REVISION:
        return
    if found is None:
        metadata.create_all(connection)
        words.create(connection)
        connection.exec_driver_sql(
            f"CREATE TABLE {REVISION_TABLE} (version_num VARCHAR(32) NOT NULL, "
            f"CONSTRAINT {REVISION_TABLE}_pkc PRIMARY KEY (version_num))"
        )
        connection.execute(_revision.insert().values(version_num=REVISION))
    else:
        _migrate(connection, found)


def _found(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(REVISION_TABLE):
        return None
    return connection.execute(sa.select(_revision.c.version_num)).scalar()


def _migrate(connection: Connection, found: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    if found not in {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}:
        raise StoreTooNew(
            "A newer release of jupyter-agent-skills has changed the store's tables",
            "Run 'pip install --upgrade jupyter-agent-skills'; the store was left as it is",
        )
    command.upgrade(config, "head")
