"""Changes of the tables: whichever way a database came to where it is, it is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from jupyter_skills.errors import StoreProblem, StoreTooNew
from jupyter_skills.store import opening
from jupyter_skills.store.database import Database
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import REVISION, REVISION_TABLE, WORDS_TABLE, metadata
from tests.store.processes import MANY, Crowd, a_skill

STEPS = Path(opening.__file__).with_name("migrations")

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{before}"


def upgrade():
    op.add_column("jupyter_skills_skills", sa.Column("stars", sa.Integer, server_default="3"))
    op.create_table("jupyter_skills_extra", sa.Column("id", sa.Integer, primary_key=True))
    {more}
"""


def upgrade(url: str, steps: Path = STEPS, revision: str = "head") -> None:
    """Runs the steps on a database as Alembic's own command line would, by hand."""
    config = Config()
    config.set_main_option("script_location", str(steps).replace("%", "%%"))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def schema(url: str) -> list[str]:
    """All that the database itself says of its tables, column by column and index by index."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            query = "SELECT type, name, tbl_name FROM sqlite_master"
            facts = [str(row) for row in connection.exec_driver_sql(query)]
            tables = sa.inspect(connection).get_table_names()
            for table in tables:
                for pragma in ("table_xinfo", "foreign_key_list", "index_list"):
                    found = connection.exec_driver_sql(f"PRAGMA {pragma}({table})")
                    facts += [f"{table} {pragma} {row[1:]}" for row in found]  # the first is a mere number
        else:
            facts = []
            for query in (
                "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default,"
                " ordinal_position FROM information_schema.columns WHERE table_schema = 'public'",
                "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
                "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'public'::regnamespace",
            ):
                facts += [str(row) for row in connection.exec_driver_sql(query)]
    engine.dispose()
    return sorted(facts)


def test_the_steps_lead_to_what_a_new_store_is_made_as(store_url: str) -> None:
    upgrade(store_url)
    stepped = schema(store_url)
    erase(store_url)
    Database(store_url).read(lambda _: None)
    assert schema(store_url) == stepped
    assert any(WORDS_TABLE in fact for fact in stepped)


def erase(url: str) -> None:
    file = Path(url.removeprefix("sqlite:///"))
    if file.exists():
        file.unlink()
        return
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()


def test_the_steps_lead_to_the_tables_that_the_code_knows(store_url: str) -> None:
    upgrade(store_url)
    engine = sa.create_engine(store_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": REVISION_TABLE,
                "compare_type": True,
                "compare_server_default": True,
                "include_name": lambda name, kind, _: not (kind == "table" and name.startswith(WORDS_TABLE)),
            },
        )
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == REVISION
    engine.dispose()


async def test_a_store_made_by_the_steps_works(store_url: str) -> None:
    upgrade(store_url)
    async with SkillStore(store_url, user="ann") as store:
        skill = await store.create(a_skill("seedlings", "Weighs seedlings."))
        assert [hit.skill.id for hit in await store.search("weighs")] == [skill.id]


def test_the_steps_are_one_line_that_ends_where_the_code_is() -> None:
    config = Config()
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
    steps = ScriptDirectory.from_config(config)
    assert steps.get_heads() == [REVISION]
    assert len(steps.get_bases()) == 1


# The next release


@pytest.fixture
def next_steps(tmp_path: Path) -> Path:
    """The steps of a release that has changed the tables once more."""
    return steps_with(tmp_path / "next", "")


def steps_with(folder: Path, more: str) -> Path:
    (folder / "versions").mkdir(parents=True)
    for path in (STEPS / "env.py", STEPS / "script.py.mako", *(STEPS / "versions").glob("*.py")):
        (folder / path.relative_to(STEPS)).write_text(path.read_text())
    (folder / "versions" / "9999_next.py").write_text(NEXT.format(before=REVISION, more=more))
    return folder


def become(steps: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
    """Makes this process one of that release; its code differs in nothing else."""
    for name, value in {"_MIGRATIONS": steps, "REVISION": "9999"}.items():
        if monkeypatch:
            monkeypatch.setattr(opening, name, value)
        else:
            setattr(opening, name, value)


async def test_an_older_store_is_brought_up_to_date_when_it_is_opened_and_keeps_what_it_holds(
    store_url: str, next_steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SkillStore(store_url, user="ann") as store:
        skill = await store.create(a_skill("seedlings", "Weighs seedlings."))
    with monkeypatch.context() as patch:
        become(next_steps, patch)
        async with SkillStore(store_url, user="ann") as store:
            assert await store.get(skill.id) == skill
            assert (await store.skill(skill.id)).body == "Weighs seedlings."
            assert [hit.skill.id for hit in await store.search("weighs")] == [skill.id]
    assert "jupyter_skills_extra" in str(schema(store_url))
    async with SkillStore(store_url, user="ann") as store:
        with pytest.raises(StoreTooNew):
            await store.get(skill.id)


async def test_a_step_that_fails_leaves_the_store_as_it_was(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SkillStore(store_url, user="ann") as store:
        skill = await store.create(a_skill("seedlings"))
    before = schema(store_url)
    with monkeypatch.context() as patch:
        become(steps_with(tmp_path / "failing", 'op.execute("INSERT INTO nowhere VALUES (1)")'), patch)
        async with SkillStore(store_url, user="ann") as store:
            with pytest.raises(StoreProblem, match="nowhere"):
                await store.get(skill.id)
    assert schema(store_url) == before
    async with SkillStore(store_url, user="ann") as store:
        assert await store.get(skill.id) == skill


async def test_many_that_open_an_older_store_bring_it_up_to_date_once(store_url: str, next_steps: Path) -> None:
    async with SkillStore(store_url, user="ann") as store:
        skill = await store.create(a_skill("seedlings"))
    crowd = Crowd()
    seen = crowd.run(open_as_the_next_release, store_url, skill.id, next_steps)
    crowd.close()
    assert seen == ["seedlings"] * MANY


async def open_as_the_next_release(_: int, url: str, skill_id: str, steps: Path) -> str:
    become(steps)
    async with SkillStore(url, user="ann") as store:
        return (await store.get(skill_id)).name


async def test_a_database_with_tables_of_others_keeps_them(store_url: str) -> None:
    engine = sa.create_engine(store_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('somebody else''s')")
        connection.exec_driver_sql("CREATE TABLE skills (id INTEGER)")
    async with SkillStore(store_url, user="ann") as store:
        await store.create(a_skill("seedlings"))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT * FROM alembic_version").scalar() == "somebody else's"
    engine.dispose()
