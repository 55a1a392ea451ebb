"""What a session needs of a started kernel, wherever that kernel is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Content = Mapping[str, Any]
OnMessage = Callable[[str, Content], None]
"""Called with the type and the content of each message; by any thread, and it must not wait."""


def ignore(_: str, __: Content) -> None:
    """An ``OnMessage`` for requests whose reply is all that matters."""


@dataclass(frozen=True)
class Look:
    """What can be seen of a sandbox from within. Code in it may have lied about any of this.

    Args:
        files: Those in the working folder: size in bytes and time of change in nanoseconds, by path.
        complete: Whether these are all.
        full: The folders that have no room left.
        out_of_memory: Processes killed for want of memory, since the start.
        forks_refused: How often the limit of processes was met with, since the start.
        processes: Processes and threads there are now.
    """

    files: Mapping[str, tuple[int, int]]
    complete: bool = True
    full: tuple[str, ...] = ()
    out_of_memory: int = 0
    forks_refused: int = 0
    processes: int = 0


@dataclass(frozen=True)
class ShellEnd:
    """How a shell command ended.

    Args:
        status: Its exit status; None if it was stopped at its deadline.
        dropped: Bytes of output over the limit, which were not passed on.
    """

    status: int | None
    dropped: int = 0


class KernelHost(Protocol):
    """A started kernel in isolation. Made for one session by a ``Launcher``; once it has ended it is not used again.

    Whatever is asked of one that is gone fails with ``SandboxDied``, which says what it died of.
    """

    image: str
    """The digest of what it runs from; empty if that is not known."""
    limits: Mapping[str, object]
    """What it was started with: ``memory``, ``cpus`` and ``pids``; empty if others say what it may use."""

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        ...

    def request(self, kind: str, content: Content, on_message: OnMessage) -> asyncio.Future[Content]:
        """Sends a request on the kernel's shell channel.

        Args:
            kind: The message's type, such as ``execute_request``.
            content: The message's content.
            on_message: Called with each message that the kernel publishes about it.

        Returns:
            The content of the reply, once nothing more of it is to come.
        """
        ...

    async def interrupt(self) -> None:
        """Interrupts what the kernel does, as Ctrl-C would; where that can't be done, ends it."""
        ...

    async def shell(self, command: str, *, limit: int, timeout: float, on_data: Callable[[bytes], None]) -> ShellEnd:
        """Runs a command in ``bash``; what it started in its foreground ends with it, also when the call is cancelled.

        Args:
            command: The command.
            limit: Bytes of output to pass on.
            timeout: Seconds until it is stopped.
            on_data: Called with its output as it comes; by any thread, and it must not wait.
        """
        ...

    async def put(self, archive: bytes, target: str, *, replace: bool) -> None:
        """Unpacks a tar into a folder; ``replace`` has what lay there before go away."""
        ...

    async def look(self, limit: int) -> Look:
        """Looks at the working folder, at ``limit`` files at most, and at what the limits have met with."""
        ...

    async def get(self, path: str, limit: int) -> bytes | None:
        """The bytes of a regular file, relative to the working folder; None if it is none or is over the limit."""
        ...

    async def end(self) -> None:
        """Ends it at once; called again it does nothing."""
        ...


class Launcher(Protocol):
    """Starts kernels for a session."""

    async def launch(self, requirements: Sequence[str]) -> KernelHost:
        """Starts one.

        Args:
            requirements: What has to be installed, in PEP 508's notation.

        Raises:
            SandboxProblem: It can't be had.
        """
        ...

    def prepare(self, requirements: Sequence[str]) -> None:
        """Called when a kernel may be needed soon; returns at once."""
        ...

    async def close(self) -> None:
        """Lets go of what is kept ready."""
        ...


def checked_look(answer: Mapping[str, Any], limit: int) -> Look:
    """What the answer of the code inside says, as far as it makes sense."""
    files = answer.get("files")
    found: dict[str, tuple[int, int]] = {}
    for row in files[:limit] if isinstance(files, list) else ():
        match row:
            case [str(path), int(size), int(changed)] if size >= 0:
                found[path] = size, changed
    full = answer.get("full")
    return Look(
        found,
        answer.get("complete") is True,
        tuple(str(name) for name in full[:3]) if isinstance(full, list) else (),
        **{name: _count(answer.get(name)) for name in ("out_of_memory", "forks_refused", "processes")},
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
