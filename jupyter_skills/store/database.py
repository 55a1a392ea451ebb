"""The one way to the database: connections, transactions, threads, opening; SQLAlchemy's errors end here."""

from __future__ import annotations

import asyncio
import contextvars
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import StaticPool

from jupyter_skills.errors import SkillsError, StoreBroken, StoreBusy, StoreConflict, StoreUnreachable
from jupyter_skills.store import opening
from jupyter_skills.store.location import VARIABLE, default_file
from jupyter_skills.store.presence import Presence

T = TypeVar("T")
P = ParamSpec("P")

_PATIENCE = 30.0  # seconds that a transaction waits for those of others
_THREADS = 4
_ATTEMPTS = 5
_WRITES = "jupyter_skills_writes"

# Two transactions in each other's way, of which PostgreSQL gave up one: doing it again is the cure. One that finds a
# name or number taken (23505) sees the row that took it the next time, and can say so.
_AGAIN = frozenset({"40001", "40P01", "23503", "23505"})
_LOCK_TIMEOUT = "55P03"


class Database:
    """A database of skills, opened at its first use.

    Its SQL runs where it is called, or by ``off_loop`` on threads of its own, so it belongs to no event loop and may be
    used from any thread.

    Args:
        url: Its address as SQLAlchemy writes it: SQLite's or PostgreSQL's.

    Raises:
        StoreUnreachable: The address is none, or another database's.
    """

    def __init__(self, url: str) -> None:
        self._url = _checked(url)
        self.dialect = self._url.get_backend_name()
        self.url = _shown(self._url)
        self._lock = threading.RLock()  # held while the database is opened, so never where a loop would wait for it
        self._threads_lock = threading.Lock()
        self._engine: Engine | None = None
        self._presence: Presence | None = None
        self._threads: ThreadPoolExecutor | None = None

    def read(self, work: Callable[[Connection], T]) -> T:
        """Runs ``work(connection)`` in a transaction that changes nothing.

        Raises:
            StoreProblem: The database can't be opened or read.
        """
        return self._run(work, writes=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Runs ``work(connection)`` in a transaction: all that it changes, or nothing.

        It may be run again from its start when another process got in the way.

        Raises:
            StoreProblem: The database can't be opened or written.
        """
        return self._run(work, writes=True)

    async def off_loop(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a function on one of the database's threads; it runs to its end even if the caller is cancelled."""
        with self._threads_lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="jupyter-skills-store")
            call = partial(contextvars.copy_context().run, function, *args, **kwargs)
            future = asyncio.get_running_loop().run_in_executor(self._threads, call)
        return await future

    def close(self) -> None:
        """Closes its connections; the next use opens it again."""
        with self._threads_lock:
            threads, self._threads = self._threads, None
        with self._lock:
            engine, self._engine = self._engine, None
            presence, self._presence = self._presence, None
        if threads is not None:
            threads.shutdown(wait=False)
        if engine is not None:
            engine.dispose()
        if presence is not None:
            presence.end()

    def _run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        with self._told_plainly():
            for attempt in range(_ATTEMPTS):
                try:
                    with self._transaction(self._opened(), writes=writes) as connection:
                        return work(connection)
                except sa.exc.DBAPIError as error:
                    if getattr(error.orig, "sqlstate", None) not in _AGAIN or attempt == _ATTEMPTS - 1:
                        raise
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _transaction(self, engine: Engine, *, writes: bool) -> Iterator[Connection]:
        in_memory = isinstance(engine.pool, StaticPool)
        with self._lock if in_memory else _NO_LOCK, engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: writes})
            if not writes and self.dialect == "postgresql":  # all that a reader sees is of one moment, as with SQLite
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def _opened(self) -> Engine:
        with self._lock:
            if self._engine is None:
                if self._presence is None and self._file is not None and self._file == default_file():
                    self._presence = Presence(self._file)  # what is not ours to make is not ours to move
                try:
                    engine = self._made()
                except ValueError as error:  # an option of the address
                    raise self._plain(error) from None
                try:
                    with self._transaction(engine, writes=False) as connection:
                        ready = opening.is_ready(connection)
                    if not ready:
                        with self._transaction(engine, writes=True) as connection:
                            opening.make_ready(connection)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine = engine
            return self._engine

    def _made(self) -> Engine:
        if self.dialect == "sqlite":
            return self._sqlite()
        # The user's own options come last, and win.
        options = f"-c lock_timeout={int(_PATIENCE * 1000)} {self._url.query.get('options', '')}".strip()
        return sa.create_engine(
            self._url, pool_pre_ping=True, pool_size=_THREADS, connect_args={"connect_timeout": 10, "options": options}
        )

    def _sqlite(self) -> Engine:
        file = self._file
        if file is not None and not file.exists():
            _make_private(file)
        more: dict[str, Any] = {} if file is not None else {"poolclass": StaticPool}
        engine = sa.create_engine(self._url, connect_args={"timeout": _PATIENCE, "check_same_thread": False}, **more)
        sa.event.listen(engine, "connect", _settle_connection)
        sa.event.listen(engine, "begin", _begin)
        return engine

    @property
    def _file(self) -> Path | None:
        name = self._url.database
        return Path(name) if self.dialect == "sqlite" and name and name != ":memory:" else None

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Turns what SQLAlchemy and the drivers raise into errors of ours."""
        try:
            yield
        except sa.exc.DBAPIError as error:
            raise self._plain(error.orig or error) from None
        except (sa.exc.NoSuchModuleError, ImportError) as error:
            raise StoreUnreachable(
                f"There is no driver for the store at {self.url}: {error}",
                "Run \"pip install 'jupyter-agent-skills[postgres]'\" for PostgreSQL",
            ) from None
        except (sa.exc.SQLAlchemyError, OSError, sqlite3.Error) as error:
            raise self._plain(error) from None

    def _plain(self, error: BaseException) -> SkillsError:
        code = getattr(error, "sqlite_errorcode", None)
        primary = code & 0xFF if isinstance(code, int) else None
        reason = next(iter(str(getattr(error, "strerror", None) or error).strip().splitlines()), "no reason given")
        if primary in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return self._damaged(reason)
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or getattr(error, "sqlstate", "") == _LOCK_TIMEOUT:
            return StoreBusy(f"The store at {self.url} was in use for {_PATIENCE:.0f} s by others", "Try again")
        if primary == sqlite3.SQLITE_CONSTRAINT or str(getattr(error, "sqlstate", "")).startswith("23"):
            return StoreConflict("Somebody else changed the same thing at the same time", "Look again, and repeat it")
        return StoreUnreachable(
            f"The store at {self.url} can't be used: {reason}",
            f"Check that it is there and may be written, or name another with {VARIABLE}",
        )

    def _damaged(self, reason: str) -> StoreBroken:
        with self._lock:
            engine, self._engine = self._engine, None
            presence, self._presence = self._presence, None
        if engine is not None:
            engine.dispose()
        if presence is None:
            return StoreBroken(
                f"{self.url} is no store of skills, or a damaged one: {reason}",
                f"Put a backup in its place, or name another with {VARIABLE}; the file was left as it is",
            )
        kept = presence.put_aside()
        if kept is None:
            return StoreBroken(
                f"The store '{self._file}' is damaged, or was until another process kept it aside: {reason}",
                "Try again; if it goes on, stop the other kernels and servers, which have it open, first",
            )
        return StoreBroken(
            f"The store was damaged: {reason}",
            f"It is kept as '{kept}', and the next use begins with an empty one; put a backup back if you have one",
        )


_databases: dict[str, Database] = {}
_databases_lock = threading.Lock()


def database_for(url: str) -> Database:
    """The process's one ``Database`` for an address."""
    with _databases_lock:
        if url not in _databases:
            _databases[url] = Database(url)
        return _databases[url]


class _NoLock:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_NO_LOCK = _NoLock()


def _checked(address: str) -> URL:
    hint = f"Give {VARIABLE} an address such as 'sqlite:////folder/skills.sqlite3' or 'postgresql://user@host/name'"
    try:
        url = make_url(address)
        kind = url.get_backend_name() if url.drivername != "postgres" else "postgresql"
    except (sa.exc.SQLAlchemyError, ValueError):
        raise StoreUnreachable("The store's address is none that SQLAlchemy knows", hint) from None
    if kind == "sqlite" and url.drivername in ("sqlite", "sqlite+pysqlite"):
        return url
    if kind == "postgresql" and url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreUnreachable(f"The store can't be kept with '{url.drivername}'", hint)


def _shown(url: URL) -> str:
    """An address without passwords, which PostgreSQL also takes as options: ``?password=…``, ``?sslpassword=…``."""
    hidden = {key: "hidden" for key in url.query if "pass" in key.lower()}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def _make_private(file: Path) -> None:
    """Makes an empty file that only its owner may read: skills may be private."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))


def _settle_connection(connection: Any, _: object) -> None:
    connection.isolation_level = None  # or the driver begins transactions of its own, too late to hold a lock
    connection.execute("PRAGMA foreign_keys=ON")
    _insist(lambda: connection.execute("PRAGMA journal_mode=WAL"))  # of a new file; SQLite itself would not wait


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get(_WRITES):
        connection.exec_driver_sql("BEGIN")
        return
    # A transaction that begins as a reader and then writes would fail when another wrote in between. SQLite looks for
    # a lock every 100 ms in the end, and so hardly ever gets it from one who writes on and on; this looks more often.
    driver: Any = connection.connection.dbapi_connection
    driver.execute("PRAGMA busy_timeout=0")
    try:
        _insist(lambda: driver.execute("BEGIN IMMEDIATE"))
    finally:
        driver.execute(f"PRAGMA busy_timeout={int(_PATIENCE * 1000)}")


def _insist(work: Callable[[], object]) -> None:
    """Does it again until no other connection is in the way, for as long as ``_PATIENCE``."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.0005, 0.0015))  # noqa: S311 - so that two don't keep in step
        else:
            return
