"""What came of a piece of code, wherever it ran."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Language = Literal["python", "shell"]
Outcome = Literal["ok", "error", "timeout", "died", "declined", "interrupted"]
Cause = Literal["", "deadline", "out_of_memory", "process_limit", "disk_full", "exited", "lost"]


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
            stopped at its deadline; ``died``: the kernel ended; ``declined``: it never ran;
            ``interrupted``: it was given up.
        text: What it printed and its results, in the order they came, bounded.
        error: The error in compact form, or why it did not run; empty if all went well.
        images: What it displayed, in order.
        files: What it left in the working folder, new or changed.
        state_lost: Whether the variables and files of earlier calls are gone.
        seconds: How long it took.
        notes: What was left out of the above, and why, and what else is good to know, one sentence each.
        cause: The limit that stopped it, or how the kernel ended: ``exited`` by itself, or ``lost`` with all around it.
    """

    outcome: Outcome
    text: str = ""
    error: str = ""
    images: tuple[Image, ...] = ()
    files: tuple[GeneratedFile, ...] = ()
    state_lost: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    cause: Cause = ""


OnOutput = Callable[[str], None]
