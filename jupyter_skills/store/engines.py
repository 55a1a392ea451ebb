"""How each kind of database is reached: what addresses mean, and how connections and transactions begin."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import StaticPool

from jupyter_skills.errors import StoreUnreachable
from jupyter_skills.store.location import VARIABLE

PATIENCE = 30.0
"""Seconds that a transaction waits for those of others."""

WRITES = "jupyter_skills_writes"
"""The execution option of a connection whose next transaction writes."""

_CONNECTED_WITHIN = 5  # seconds
_CONNECTIONS = 6

# A server that has gone silent is given up in some 15 s: seconds, seconds, times, and milliseconds.
_KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 15_000}


def engine_for(url: URL, file: Path | None, giving_up: threading.Event) -> Engine:
    """An engine whose connections are set up for this package; nothing is connected yet.

    Args:
        url: The database.
        file: Its file, if it is one; made, and readable by its owner only, if it isn't there.
        giving_up: Set when nobody wants to wait any more.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, file, giving_up)
    # The user's own options come last, and win.
    options = f"-c lock_timeout={int(PATIENCE * 1000)} {url.query.get('options', '')}".strip()
    arguments = {"connect_timeout": _CONNECTED_WITHIN, **_KEEPALIVES, "options": options}
    return sa.create_engine(url, pool_pre_ping=True, pool_size=_CONNECTIONS, connect_args=arguments)


def _sqlite(url: URL, file: Path | None, giving_up: threading.Event) -> Engine:
    if file is not None and not file.exists():
        _make_private(file)
    more: dict[str, Any] = {} if file is not None else {"poolclass": StaticPool}
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE, "check_same_thread": False}, **more)

    def insist(work: Callable[[], object]) -> None:
        """Does it again until no other connection is in the way, for as long as ``PATIENCE``."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                work()
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or giving_up.is_set() or time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0.0005, 0.0015))  # noqa: S311 - so that two don't keep in step
            else:
                return

    @sa.event.listens_for(engine, "connect")
    def settle(connection: Any, _: object) -> None:
        connection.isolation_level = None  # or the driver begins transactions of its own, too late to hold a lock
        connection.execute("PRAGMA foreign_keys=ON")
        insist(lambda: connection.execute("PRAGMA journal_mode=WAL"))  # of a new file; SQLite itself would not wait

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if not connection.get_execution_options().get(WRITES):
            connection.exec_driver_sql("BEGIN")
            return
        # A transaction that begins as a reader and then writes would fail when another wrote in between. SQLite looks
        # for a lock every 100 ms in the end, and so hardly ever gets it from one who writes on and on; this looks more
        # often.
        driver: Any = connection.connection.dbapi_connection
        driver.execute("PRAGMA busy_timeout=0")
        try:
            insist(lambda: driver.execute("BEGIN IMMEDIATE"))
        finally:
            driver.execute(f"PRAGMA busy_timeout={int(PATIENCE * 1000)}")

    return engine


def checked(address: str) -> URL:
    """An address as SQLAlchemy understands it.

    Raises:
        StoreUnreachable: It is none, or another database's.
    """
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


def shown(url: URL) -> str:
    """An address without passwords, which PostgreSQL also takes as options: ``?password=…``, ``?sslpassword=…``."""
    hidden = {key: "hidden" for key in url.query if "pass" in key.lower()}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def _make_private(file: Path) -> None:
    """Makes an empty file that only its owner may read: skills may be private."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
