"""A PostgreSQL server of the tests' own, in a temporary folder, and a fresh database in it for each test."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import pytest

PASSWORD = "not: s@fe/at all?"
USER = "postgres"
STARTS_WITHIN = 30.0  # seconds

QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
"""Settings for tests, where nobody pulls the plug."""

# The server ends with the pipe that this process holds, so however this process ends. A line on it says
# that there is more to come.
_GUARDIAN = """
folder=$1; shift
"$@" >>"$folder/log" 2>&1 &
read -r stay
kill -INT $!
wait
[ -n "$stay" ] || rm -rf "$folder"
"""


class NoPostgres(Exception):
    """There is no PostgreSQL to be had here; the text says why."""


class Cluster:
    """A server that listens on a Unix socket only, and asks for a password.

    Args:
        settings: Settings of the server, each as ``name=value``.

    Raises:
        NoPostgres: A part is missing.
    """

    def __init__(self, settings: Sequence[str] = QUICK) -> None:
        self._settings = settings
        self._programs = _programs()
        self._identity = _identity()
        # In the system's own folder, because the path of a socket has to be short.
        self.folder = Path(tempfile.mkdtemp(prefix="jupyter-skills-postgres-"))
        if self._identity:
            shutil.chown(self.folder, USER)
        self._server: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)

    def __enter__(self) -> Self:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)  # nobody but the server's user gets into the folder
        options = ["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256"]
        command = [self._programs / "initdb", *options, f"--username={USER}", f"--pwfile={secret}", "-D", self._data]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **self._identity)
        assert done.returncode == 0, done.stderr
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Starts the server; returns when it takes connections."""
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", *self._settings]
        server = [self._programs / "postgres", "-D", self._data, *(f"-c{setting}" for setting in settings)]
        command = ["sh", "-c", _GUARDIAN, "sh", self.folder, *server]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, cwd=self.folder, start_new_session=True, **self._identity
        )
        began = time.monotonic()
        ready = [self._programs / "pg_isready", "--quiet", f"--host={self.folder}"]
        while subprocess.run(ready).returncode != 0:
            log = (self.folder / "log").read_text() if (self.folder / "log").exists() else ""
            assert time.monotonic() - began < STARTS_WITHIN, log
            time.sleep(0.02)

    def stop(self) -> None:
        """Stops the server, and with it all connections; ``start`` brings it back with all it held."""
        if self._server:
            self._server.communicate(b"stay\n")
            self._server = None

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of a database."""
        return f"postgresql+psycopg://{USER}:{quote(PASSWORD, safe='')}@/{database}?host={quote(str(self.folder))}"

    def execute(self, statement: str) -> None:
        """Runs a statement outside of any transaction, as the administrator."""
        import psycopg

        with psycopg.connect(
            user=USER, password=PASSWORD, host=str(self.folder), dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def create(self) -> str:
        """Makes an empty database; returns its URL."""
        name = f"skills_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Removes a database, whoever is still connected to it."""
        name = url.partition("?")[0].rpartition("/")[2]
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _programs() -> Path:
    """The folder with PostgreSQL's programs; Debian keeps them off the path, one folder for each version."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not versions:
        raise NoPostgres("there is no PostgreSQL here (on Debian or Ubuntu: the package postgresql)")
    return versions[-1].parent


def _identity() -> dict[str, Any]:
    """Who runs the server: the present user, except root, whom its programs refuse."""
    if os.geteuid() != 0:
        return {}
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        raise NoPostgres(f"PostgreSQL's server won't run as root, and there is no user '{USER}'") from None
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A server for the whole session, started when the first test asks for it."""
    pytest.importorskip("psycopg", reason="there is no psycopg here (the package's extra 'postgres')")
    try:
        cluster = Cluster()
    except NoPostgres as missing:
        pytest.skip(str(missing))
    with cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres: Cluster) -> Iterator[str]:
    """The SQLAlchemy URL of an empty database of the test's own."""
    url = postgres.create()
    yield url
    postgres.drop(url)
