"""What a place where code runs takes and gives, whether it is a container or the live kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Language = Literal["python", "shell"]
Outcome = Literal["ok", "error", "timeout", "died", "declined"]


@dataclass(frozen=True)
class Image:
    """A picture that was checked to be one.

    Args:
        data: Its bytes.
        mime_type: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        width: In pixels.
        height: In pixels.
    """

    data: bytes = field(repr=False)
    mime_type: str
    width: int
    height: int


@dataclass(frozen=True)
class GeneratedFile:
    """A file that code made.

    Args:
        path: Relative to the working folder, with ``/``.
        data: Its bytes.
        mime_type: Judged by its content for images, by its name otherwise.
        image: The same as a picture, if it is one.
        saved_as: Where it was saved on the user's side; empty if it was not.
    """

    path: str
    data: bytes = field(repr=False)
    mime_type: str
    image: Image | None = field(default=None, repr=False)
    saved_as: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.data)

    @property
    def digest(self) -> str:
        """``sha256:…`` of the bytes."""
        return "sha256:" + hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Execution:
    """What came of one piece of code.

    Args:
        outcome: ``ok``; ``error``: it raised, or exited with a status other than 0; ``timeout``: it was
            stopped at its deadline; ``died``: the kernel ended; ``declined``: it never ran.
        text: What it printed and its results, in the order they came, bounded.
        error: The error in compact form, or why it did not run; empty if all went well.
        images: What it displayed, in order.
        files: What it left in the working folder, new or changed.
        state_lost: Whether the variables of earlier calls are gone.
        seconds: How long it took.
        notes: What was left out of the above, and why, one sentence each.
    """

    outcome: Outcome
    text: str = ""
    error: str = ""
    images: tuple[Image, ...] = ()
    files: tuple[GeneratedFile, ...] = ()
    state_lost: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


OnOutput = Callable[[str], None]


@dataclass(frozen=True)
class StagedSkill:
    """A skill's files on their way to where code runs.

    Args:
        name: The skill's name, hence its folder's.
        digest: Of its files; the same digest is not sent twice.
        archive: Called for the files as a tar, only if they have to be sent.
    """

    name: str
    digest: str
    archive: Callable[[], bytes]


class Sandbox(Protocol):
    """A place where code runs in isolation, with state kept from call to call.

    A turn calls ``stage`` and then ``run``, one call at a time; the notebook's session starts and stops it.
    """

    async def start(self) -> None:
        """Makes it ready; called again it does nothing.

        Raises:
            SandboxProblem: It can't be had; the error says why.
        """
        ...

    async def stage(self, skills: Sequence[StagedSkill]) -> None:
        """Puts each skill's files at ``/skills/<name>/``; starts the sandbox if need be."""
        ...

    async def run(self, language: Language, code: str, *, timeout: float, on_output: OnOutput) -> Execution:
        """Runs code, and starts the sandbox if need be.

        Args:
            language: ``python`` keeps its variables from call to call; ``shell`` is a ``bash`` of its own each time.
            code: What to run.
            timeout: Seconds until it is stopped.
            on_output: Called with each piece of text as it is printed.

        Returns:
            What came of it. Code that fails is an outcome, not an error.

        Raises:
            SandboxProblem: The sandbox itself can't be had.
        """
        ...

    async def stop(self) -> None:
        """Ends it and all that is in it; called again it does nothing."""
        ...
