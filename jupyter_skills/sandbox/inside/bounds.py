"""What all kinds of values that cross have in common: how they are told apart, refused and kept within bounds."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

CAN_CROSS = "numbers, text, bytes, dates, lists, dicts, NumPy arrays, data frames and pictures can"

Packed = tuple[str, bytes]
Pack = Callable[[object], Packed | None]
"""Gives the kind and the bytes of a value that JSON can't hold; None for all others."""


class Refused(ValueError):
    """What was received is not a value; the text is for the user."""


class Room:
    """What reading one value may still take.

    Args:
        left: Memory, in bytes.
        readers: What reads each kind of value that may lie within others.
    """

    def __init__(self, left: int, readers: Mapping[str, Callable[[bytes, Room], Any]]) -> None:
        self.left = left
        self._readers = readers

    def take(self, size: int) -> None:
        """Notes memory that is about to be taken.

        Raises:
            Refused: There is not as much left.
        """
        if not 0 <= size <= self.left:
            raise Refused(f"the value would take {size:,} bytes of memory, and {self.left:,} are left for it")
        self.left -= size

    def read(self, kind: str, data: bytes) -> Any:
        """The value of some kind that lies within another.

        Raises:
            Refused: No such kind may.
        """
        if kind not in self._readers:
            raise Refused("a container holds what no container can")
        return self._readers[kind](data, self)


def check_size(size: int, limit: int, least: str = "") -> None:
    """Raises ``ValueError`` if a value is over its limit; both in bytes. ``least`` qualifies the size."""
    if size > limit:
        raise ValueError(f"the value takes {least}{size:,} bytes, and the limit is {limit:,}")


def cannot(what: str) -> TypeError:
    """The error for what can't be sent at all."""
    return TypeError(f"{what} can't cross the sandbox's border; {CAN_CROSS}")


def is_a(value: object, module: str, *names: str) -> bool:
    """Whether a value is of one of these classes, if their module is loaded at all."""
    classes = (getattr(sys.modules.get(module), name, None) for name in names)
    return any(isinstance(kind, type) and issubclass(type(value), kind) for kind in classes)


def library(name: str) -> Any:
    """A module that a value received is made with.

    Raises:
        Refused: It can't be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise Refused(f"the value needs the package {package}, which can't be imported here") from None
