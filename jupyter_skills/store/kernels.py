"""The kernels that skills are in force in, and sweeping up after those that have ended."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from jupyter_skills.errors import SkillNotFound, StoreProblem, UsageProblem
from jupyter_skills.store import blobs
from jupyter_skills.store.clock import now
from jupyter_skills.store.database import Database
from jupyter_skills.store.entries import Entries, archives_of, this_machine
from jupyter_skills.store.loaded import Kernel
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import kernel_skills as table

_FORGOTTEN_AFTER = 30 * 86_400_000_000  # microseconds


@dataclass(frozen=True)
class KernelInUse:
    """A kernel that skills are in force in.

    Args:
        id: Its id.
        skills: Their names, in the order they were loaded.
    """

    id: str
    skills: tuple[str, ...]


def entries_of(kernel: Kernel) -> Entries:
    """The rows of a kernel in the store that the environment names; those of the user's ended kernels are forgotten.

    Raises:
        StoreProblem: It can't be opened.
    """
    store = SkillStore(user=kernel.owner)
    store.database.read(lambda _: None)  # makes the file, if it is one
    with suppress(StoreProblem):  # the next one will
        sweep(store.database, kernel.owner, spare=kernel.id)
    return Entries(store, kernel)


def kernels(store: SkillStore) -> list[KernelInUse]:
    """The kernels of a user that skills are in force in, but for those that have ended.

    Raises:
        StoreProblem: They can't be read.
    """
    sweep(store.database, store.user)
    query = sa.select(table.c.kernel_id, table.c.name).where(table.c.owner == store.user)
    query = query.order_by(table.c.kernel_id, table.c.position, table.c.name)
    names: dict[str, list[str]] = {}
    for kernel_id, name in store.database.read(lambda connection: connection.execute(query).all()):
        names.setdefault(kernel_id, []).append(name)
    return [KernelInUse(kernel_id, tuple(of_it)) for kernel_id, of_it in names.items()]


def in_kernel(beginning: str, store: SkillStore) -> list[dict[str, Any]]:
    """What is in force in a kernel; see ``Entries.facts``.

    Args:
        beginning: Of its id, as much as tells it from the others.
        store: Where to look, and whose kernels.

    Raises:
        SkillNotFound: There is nothing in force in a kernel of such an id.
        UsageProblem: There are several.
        StoreProblem: They can't be read.
    """
    found = [kernel.id for kernel in kernels(store) if kernel.id.startswith(beginning)]
    if beginning not in found and len(found) != 1:
        if found:
            raise UsageProblem(f"'{beginning}' is the beginning of {len(found)} kernels' ids", "Give more of it")
        raise SkillNotFound(f"No skill is in force in a kernel '{beginning}'", "See 'jupyter skills list --kernels'")
    entries = Entries(store, Kernel(store.user, beginning if beginning in found else found[0]))
    return [entries.facts(entry) for entry in entries.all()]


def sweep(database: Database, owner: str, spare: str = "") -> int:
    """Forgets a user's kernels that have ended.

    jupyter_client removes a kernel's connection file when the kernel is shut down, and not when it restarts, so a
    kernel of this machine is there as long as its file is. Of the others nothing is known; they are forgotten when
    nobody has used them for 30 days.

    Args:
        database: Where the rows are.
        owner: The user.
        spare: The id of a kernel that is known to be there.

    Returns:
        How many kernels were forgotten.

    Raises:
        StoreProblem: They can't be read or written.
    """
    columns = (table.c.kernel_id, table.c.connection_file, table.c.host)
    query = sa.select(*columns, sa.func.max(table.c.loaded_at).label("used_at"))
    query = query.where(table.c.owner == owner, table.c.kernel_id != spare).group_by(*columns)
    ended: dict[str, bool] = {}
    for row in database.read(lambda connection: connection.execute(query).mappings().all()):
        # A server may know of another file than the kernel does; it is there as long as one of them is.
        ended[row["kernel_id"]] = ended.get(row["kernel_id"], True) and _has_ended(row)
    gone = [kernel_id for kernel_id, has_ended in ended.items() if has_ended]
    if gone:
        database.write(lambda connection: _forget(connection, owner, gone))
    return len(gone)


def _forget(connection: Connection, owner: str, kernel_ids: Iterable[str]) -> None:
    blobs.hold(connection)
    theirs = (table.c.owner == owner) & table.c.kernel_id.in_(list(kernel_ids))
    rows = connection.execute(sa.select(table.c.kind, table.c.reference).where(theirs)).mappings().all()
    connection.execute(table.delete().where(theirs))
    blobs.forget(connection, archives_of(rows))


def _has_ended(row: RowMapping) -> bool:
    if row["host"] == this_machine() and row["connection_file"]:
        try:
            os.stat(row["connection_file"])
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):  # it may be there
            pass
        else:
            return False
    return bool(row["used_at"] < now() - _FORGOTTEN_AFTER)
