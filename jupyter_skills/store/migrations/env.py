"""Run by Alembic for each upgrade, over the connection and within the transaction of ``Database``."""

from alembic import context

from jupyter_skills.store.tables import REVISION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=REVISION_TABLE,
    transactional_ddl=True,  # SQLite's is, since Database begins its transactions itself
)
with context.begin_transaction():
    context.run_migrations()
