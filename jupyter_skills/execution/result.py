"""What came of a piece of code, wherever it ran."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Language = Literal["python", "shell"]
Outcome = Literal["ok", "error", "timeout", "died", "declined", "edited", "interrupted"]
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
class Display:
    """Something that code in the live kernel displayed, as its own cell would show it.

    Args:
        data: By MIME type.
        metadata: By MIME type too.
    """

    data: Mapping[str, Any] = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Change:
    """What code did to one of the user's variables.

    Args:
        name: The variable's name.
        kind: ``rebound``: the name stands for another object now; ``mutated``: the same object has other contents.
        before: Its type and size, such as ``list, 3 items``; empty if it was not there.
        after: Likewise; empty if it is gone.
    """

    name: str
    kind: Literal["added", "rebound", "mutated", "deleted"]
    before: str = ""
    after: str = ""

    @property
    def happened(self) -> str:
        """What happened to it, in words."""
        return "changed in place" if self.kind == "mutated" else self.kind

    @property
    def from_to(self) -> str:
        """It before and after that; of one that is new or gone, what it is or was."""
        return " → ".join(filter(None, (self.before, self.after)))


@dataclass(frozen=True)
class Execution:
    """What came of one piece of code.

    Args:
        outcome: ``ok``; ``error``: it raised, or exited with a status other than 0; ``timeout``: it was
            stopped at its deadline; ``died``: the kernel ended; ``declined``: it never ran;
            ``edited``: it never ran either, for the user took it to change and run it themselves;
            ``interrupted``: it was given up.
        text: What it printed and its results, in the order they came, bounded.
        error: The error in compact form, or why it did not run; empty if all went well.
        images: What it displayed, in order.
        files: What it left in the working folder, new or changed.
        state_lost: Whether the variables and files of earlier calls are gone.
        seconds: How long it took.
        notes: What was left out of the above, and why, and what else is good to know, one sentence each.
        cause: The limit that stopped it, or how the kernel ended: ``exited`` by itself, or ``lost`` with all around it.
        changes: What it did to the user's variables, if it ran in the live kernel.
        traceback: The error as IPython shows it, with its colours; of code in the live kernel only.
        displays: Of code in the live kernel of a notebook, what it displayed that is still to be shown: none of it if
            all was shown as it came. None where nothing but ``images`` may be shown of what code displayed.
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
    changes: tuple[Change, ...] = ()
    traceback: str = field(default="", repr=False)
    displays: tuple[Display, ...] | None = None


OnOutput = Callable[[str], None]
"""Takes a piece of what code prints, while it runs. In it a carriage return means that what follows overwrites the
line, and a form feed that all so far was cleared; there are no other control characters but tabs and line feeds."""
