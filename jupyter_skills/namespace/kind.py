"""What it takes to copy the contents of an object, and to put them back into the same object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import is_
from typing import Any


class Uncopyable(Exception):
    """The contents of this object can't be copied or given back; the reason is for people."""


class Effort:
    """What may be spent on looking at objects; the same look at the same objects always spends the same.

    Args:
        items: How many items may be looked at.
        size: How many bytes.
    """

    def __init__(self, items: int, size: int) -> None:
        self.items, self.size = items, size

    def affords(self, items: int = 0, size: int = 0) -> bool:
        """Whether so much is left; it is spent if so."""
        if items > self.items or size > self.size:
            return False
        self.items -= items
        self.size -= size
        return True


class Kind(ABC):
    """How the contents of one kind of object are copied, compared and given back.

    A state is shallow: it refers to what the object refers to. Nothing here runs code of the object's class; what
    gives back may, where keys of a dict or items of a set are objects with a ``__hash__`` of their own.
    """

    charges = False
    """Whether it counts what its copies take itself."""

    def meet(self, thing: Any) -> None:  # noqa: B027 -- most kinds need not know
        """Called once for each object, before any of its kind is copied that is not small."""

    def cost(self, thing: Any) -> int:
        """How many bytes its state will take, found out without a look at the contents."""
        return 0

    def weight(self, thing: Any) -> int:
        """How many bytes it holds, whether or not they are copied."""
        return self.cost(thing)

    def size(self, state: Any) -> int:
        """About how many bytes a state takes."""
        return 0

    def items(self, thing: Any) -> int:
        """How many objects it refers to, likewise."""
        return 0

    @abstractmethod
    def take(self, thing: Any) -> Any:
        """Its state now.

        Raises:
            Uncopyable: It turned out to have none that could be given back.
        """

    def children(self, thing: Any, state: Any) -> Sequence[object]:
        """What its state refers to, and may change in turn."""
        return ()

    @abstractmethod
    def same(self, thing: Any, state: Any) -> bool:
        """Whether its state is still this one: of the very same objects, and of the same bytes."""

    def check(self, thing: Any, state: Any) -> None:  # noqa: B027 -- most can always be given back
        """Raises ``Uncopyable`` if this state can't be given back any more; changes nothing."""

    @abstractmethod
    def give_back(self, thing: Any, state: Any) -> None:
        """Puts a state back into the object; a state may be given back once."""

    def sample(self, thing: Any) -> object:
        """A small part of its state, for comparing where all of it can't be had; None if there is none."""
        return None

    def mark(self, thing: Any, effort: Effort) -> object:
        """Something small that most likely differs once its state does, and keeps nothing alive; None for none.

        It is of simple values, and the same for the same state; where the effort is not enough, of a sample.
        """
        return None

    def parts(self, thing: Any) -> Sequence[object]:
        """What it refers to now, and may change in turn."""
        return self.children(thing, self.take(thing)) if type(self).children is not Kind.children else ()


def same_objects(these: Sequence[object], those: Sequence[object]) -> bool:
    """Whether two sequences hold the very same objects in the same order."""
    return len(these) == len(those) and all(map(is_, these, those))


def ids(things: Sequence[object]) -> int:
    """A number for which objects these are."""
    return hash(tuple(map(id, things)))


def values(things: Sequence[object]) -> int:
    """Likewise, where numbers of the same value can't be told apart."""
    return hash(tuple([one if id(type(one)) in _NUMBERS else id(one) for one in things])) ^ ids(list(map(type, things)))


_NUMBERS = frozenset(map(id, (int, float, bool)))

MISSING = object()
"""Stands for an attribute or a content that is not there."""
