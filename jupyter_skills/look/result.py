"""What a look at code gives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Touch:
    """One thing that code would do outside of plain computing.

    Args:
        what: A short phrase, such as ``writes 'out.csv'``. It quotes the code, with what wouldn't show as escapes.
        line: The line of the code it stands in, from 1; 0 where it is the code as a whole.
    """

    what: str
    line: int


@dataclass(frozen=True)
class Look:
    """What a piece of code would touch, as far as can be seen without running it.

    What stands in a function counts as if it ran, and names are those of the notebook, never a function's own.

    Args:
        reads: Names whose value the code takes from the notebook, in order of appearance.
        binds: Names it gives a value, except those that an ``except`` clause takes away again.
        deletes: Names it takes away.
        changes: Names whose object it changes in place, as far as can be seen.
        files: What it does to files, folders and databases.
        network: What it fetches or sends; also what may be fetched, where the address is worked out by the code.
        processes: Programs and threads it starts, and what else outlives the cell or ends the kernel.
        installs: What it installs or removes.
        secrets: Where it reads keys: the environment, and files known for holding them.
        hidden: What can't be seen.
        risks: Sentences for a person, the worst first; empty for plain computing.
        complete: Whether nothing is hidden.
    """

    reads: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    files: tuple[Touch, ...] = ()
    network: tuple[Touch, ...] = ()
    processes: tuple[Touch, ...] = ()
    installs: tuple[Touch, ...] = ()
    secrets: tuple[Touch, ...] = ()
    hidden: tuple[Touch, ...] = ()
    risks: tuple[str, ...] = ()
    complete: bool = True
