"""Where the store is, and whose skills one sees in it. Imports no database."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

VARIABLE = "JUPYTER_SKILLS_DB"
_USERS = ("JUPYTER_SKILLS_USER", "JUPYTERHUB_USER")
_SQLITE = ("sqlite:///", "sqlite+pysqlite:///")


def default_file() -> Path:
    """The store of a user who has set no other: a file in the Jupyter data folder."""
    return Path(jupyter_data_dir()) / "jupyter_skills.sqlite3"


def store_url() -> str:
    """The store's address as SQLAlchemy writes it: ``JUPYTER_SKILLS_DB``, else that of ``default_file``."""
    return os.environ.get(VARIABLE, "").strip() or f"sqlite:///{default_file()}"


def file_of(url: str) -> Path | None:
    """The file that an address names; None for a server's, and for a database in memory."""
    for start in _SQLITE:
        if url.startswith(start):
            path = url.removeprefix(start).partition("?")[0]
            return None if path in ("", ":memory:") else Path(path)
    return None


def has_store(url: str | None = None) -> bool:
    """Whether there is a store already, as far as can be said without a connection; none is made.

    Args:
        url: Its address; see ``store_url`` if not given.
    """
    file = file_of(url or store_url())
    return file is None or file.exists()


def current_user() -> str:
    """Who the skills that are made here belong to.

    ``JUPYTER_SKILLS_USER``, else the name that JupyterHub gives to the servers it starts, and they to their kernels;
    else the login name.
    """
    for variable in _USERS:
        if name := os.environ.get(variable, "").strip():
            return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())
