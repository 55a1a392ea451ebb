"""Knowing an object again, without keeping it alive where that can be avoided."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from jupyter_skills.namespace.classes import any_in, ids_of_bases, is_one_of, library

_MOST_LOOKED_AT = 10_000


class Hold:
    """An object that a name stood for.

    Lists, tuples and dicts can't be referred to weakly. One that holds an array or a data frame is known again by where
    it is in memory, as long as that lives: once it is gone, another object may have taken the place.

    Args:
        thing: The object.
    """

    def __init__(self, thing: Any) -> None:
        self._thing: Any = None
        self._id = id(thing)
        self._witness: weakref.ref[Any] | None = None
        try:
            self._witness = weakref.ref(thing)
        except TypeError:
            part = _first_array(thing)
            if part is None:
                self._thing = thing
            else:
                self._witness = weakref.ref(part)

    @property
    def size(self) -> int:
        """About how many bytes it keeps alive."""
        if is_one_of(type(self._thing), str, bytes):
            return len(self._thing)
        return 8 * len(self._thing) if is_one_of(type(self._thing), list, tuple, dict) else 0

    def is_it(self, now: Any) -> bool:
        """Whether an object is that one."""
        if self._witness is None:
            return now is self._thing
        return id(now) == self._id and self._witness() is not None


def _first_array(thing: Any) -> Any:
    """An array or a data frame that lists, tuples and dicts lead to; None if none is seen."""
    wanted = *library("numpy", "ndarray"), *library("pandas", "DataFrame", "Series")
    todo, met, others, looked_at = [thing], set(), set(), 0
    while todo and looked_at < _MOST_LOOKED_AT:
        part = todo.pop()
        kind = type(part)
        if is_one_of(kind, list, tuple, dict):
            if id(part) not in met:
                met.add(id(part))
                held = list(itertools.islice(part.values() if kind is dict else part, _MOST_LOOKED_AT))
                looked_at += 1 + len(held)
                todo.extend(held)
        elif id(kind) not in others:
            if any_in(ids_of_bases(kind), *wanted):
                return part
            others.add(id(kind))
    return None
