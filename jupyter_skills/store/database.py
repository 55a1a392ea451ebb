"""The one way to the database: connections, transactions, threads, opening; SQLAlchemy's errors end here."""

from __future__ import annotations

import asyncio
import contextvars
import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import StaticPool

from jupyter_skills.errors import (
    SkillsError,
    StoreBroken,
    StoreBusy,
    StoreConflict,
    StoreUnreachable,
    UsageProblem,
)
from jupyter_skills.store import opening
from jupyter_skills.store.engines import PATIENCE, WRITES, checked, engine_for, shown
from jupyter_skills.store.location import VARIABLE, default_file, file_of
from jupyter_skills.store.presence import Presence, identity

T = TypeVar("T")
P = ParamSpec("P")

_THREADS = {"read": 4, "write": 2}
_ATTEMPTS = 5

# Two transactions in each other's way, of which PostgreSQL gave up one: doing it again is the cure. One that finds a
# name or number taken (23505) sees the row that took it the next time, and can say so.
_AGAIN = frozenset({"40001", "40P01", "23503", "23505"})
_BUSY = frozenset({"55P03", "40001", "40P01"})  # not in time, or not even after several attempts

_all: weakref.WeakSet[Database] = weakref.WeakSet()


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
        self._url = checked(url)
        self.dialect = self._url.get_backend_name()
        self.url = shown(self._url)
        self._lock = threading.RLock()  # held while the database is opened, so never where a loop would wait for it
        self._threads_lock = threading.Lock()
        self._engine: Engine | None = None
        self._presence: Presence | None = None
        self._identity: tuple[int, int] | None = None
        self._failure: tuple[float, BaseException] | None = None
        self._giving_up = threading.Event()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        _all.add(self)

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
        """Calls a function that only reads on a thread; it runs to its end even if the caller is cancelled."""
        return await self._on_a_thread("read", function, *args, **kwargs)

    async def off_loop_to_write(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Likewise a function that writes: on other threads, for writers wait for each other, and readers need not."""
        return await self._on_a_thread("write", function, *args, **kwargs)

    async def _on_a_thread(self, to: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._threads_lock:
            if to not in self._threads:
                self._threads[to] = ThreadPoolExecutor(_THREADS[to], thread_name_prefix=f"jupyter-skills-{to}")
            call = partial(contextvars.copy_context().run, function, *args, **kwargs)
            future = asyncio.get_running_loop().run_in_executor(self._threads[to], call)
        try:
            return await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise StoreBusy("The store is being closed", "Try again") from None

    def close(self) -> None:
        """Closes its connections, and gives up what waits for others; the next use opens it again."""
        self._giving_up.set()
        with self._threads_lock:
            threads, self._threads = self._threads, {}
        for pool in threads.values():
            pool.shutdown(wait=False, cancel_futures=True)
        if (presence := self._let_go()) is not None:
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
                    time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - so that two don't keep in step
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _transaction(self, engine: Engine, *, writes: bool) -> Iterator[Connection]:
        in_memory = isinstance(engine.pool, StaticPool)
        with self._lock if in_memory else nullcontext(), engine.connect() as connection:
            connection = connection.execution_options(**{WRITES: writes})
            if not writes and self.dialect == "postgresql":  # all that a reader sees is of one moment, as with SQLite
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def _opened(self) -> Engine:
        asked_at = time.monotonic()
        with self._lock:
            if self._engine is not None and self._file is not None and identity(self._file) != self._identity:
                self._let_go()  # what is written into a file that was taken away is lost
            if self._engine is None:
                if self._failure is not None and self._failure[0] > asked_at:
                    raise self._failure[1]  # whoever waited for this has waited enough
                try:
                    self._engine = self._ready()
                except BaseException as error:
                    self._failure = (time.monotonic(), error)
                    raise
                self._failure = None
            return self._engine

    def _ready(self) -> Engine:
        if self._presence is None and self._file is not None and self._file == default_file():
            self._presence = Presence(self._file)  # what is not ours to make is not ours to move
        self._giving_up.clear()
        try:
            engine = engine_for(self._url, self._file, self._giving_up)
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
        self._identity = identity(self._file) if self._file is not None else None
        return engine

    def _let_go(self) -> Presence | None:
        """Closes what is open; the presence, which still holds, is given back."""
        with self._lock:
            engine, self._engine = self._engine, None
            presence, self._presence = self._presence, None
        if engine is not None:
            engine.dispose()
        return presence

    def _after_fork(self) -> None:
        """Called in the child of a fork, which has this process's memory but none of its threads or connections."""
        self._lock, self._threads_lock = threading.RLock(), threading.Lock()
        self._threads.clear()
        if self._engine is not None:
            self._engine.dispose(close=False)
        self._engine = self._presence = None

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
        except UnicodeError:
            raise UsageProblem("A word is no text that could be stored", "Leave out what is no character") from None
        except (sa.exc.SQLAlchemyError, OSError, sqlite3.Error) as error:
            raise self._plain(error) from None

    def _plain(self, error: BaseException) -> SkillsError:
        code = getattr(error, "sqlite_errorcode", None)
        primary = code & 0xFF if isinstance(code, int) else None
        reason = next(iter(str(getattr(error, "strerror", None) or error).strip().splitlines()), "no reason given")
        if primary in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return self._damaged(reason)
        state = str(getattr(error, "sqlstate", ""))
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or state in _BUSY:
            return StoreBusy(f"The store at {self.url} was in use for {PATIENCE:.0f} s by others", "Try again")
        if primary == sqlite3.SQLITE_CONSTRAINT or state.startswith("23"):
            return StoreConflict("Somebody else changed the same thing at the same time", "Look again, and repeat it")
        return StoreUnreachable(
            f"The store at {self.url} can't be used: {reason}",
            f"Check that it is there and may be written, or name another with {VARIABLE}",
        )

    def _damaged(self, reason: str) -> StoreBroken:
        presence = self._let_go()
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
    """The process's one ``Database`` for an address; of databases in memory each is another one."""
    with _databases_lock:
        if url not in _databases:
            database = Database(url)
            if database.dialect == "sqlite" and file_of(url) is None:
                return database
            _databases[url] = database
        return _databases[url]


def _after_fork() -> None:
    global _databases_lock
    _databases_lock = threading.Lock()
    for database in tuple(_all):
        database._after_fork()


if hasattr(os, "register_at_fork"):  # Windows has none
    os.register_at_fork(after_in_child=_after_fork)
