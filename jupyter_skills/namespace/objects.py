# ruff: noqa: D102 -- kind.py says what the methods of a kind of state do
"""States of objects with attributes, and of what a notebook's own functions and classes hold."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_skills.namespace.classes import bases_of, members_of
from jupyter_skills.namespace.kind import MISSING, Effort, Kind, Uncopyable, ids, same_objects, values


class Attributes(Kind):
    """Which dict holds an object's attributes; that dict has a state of its own.

    Args:
        descriptor: What gives an object its dict.
        may_be_set: Whether an object can be given another dict.
    """

    def __init__(self, descriptor: Any, may_be_set: bool) -> None:
        self._descriptor, self._may_be_set = descriptor, may_be_set

    def take(self, thing: Any) -> Any:
        held = self._descriptor.__get__(thing)
        if not issubclass(type(held), dict):
            raise Uncopyable("can't be copied")
        return held

    def children(self, thing: Any, state: Any) -> Sequence[object]:
        return (state,)

    def same(self, thing: Any, state: Any) -> bool:
        return self._descriptor.__get__(thing) is state

    def give_back(self, thing: Any, state: Any) -> None:
        if self._may_be_set and not self.same(thing, state):
            self._descriptor.__set__(thing, state)

    def mark(self, thing: Any, effort: Effort) -> object:
        return id(self.take(thing))


class Slots(Kind):
    """What an object holds in slots."""

    def __init__(self, descriptors: Sequence[Any]) -> None:
        self._descriptors = descriptors

    def cost(self, thing: Any) -> int:
        return 8 * len(self._descriptors)

    def take(self, thing: Any) -> list[Any]:
        return [_slot(thing, descriptor) for descriptor in self._descriptors]

    def children(self, thing: Any, state: list[Any]) -> Sequence[object]:
        return state

    def same(self, thing: Any, state: list[Any]) -> bool:
        return same_objects(self.take(thing), state)

    def give_back(self, thing: Any, state: list[Any]) -> None:
        for descriptor, value in zip(self._descriptors, state, strict=True):
            if value is not MISSING:
                descriptor.__set__(thing, value)
            elif _slot(thing, descriptor) is not MISSING:
                descriptor.__delete__(thing)

    def mark(self, thing: Any, effort: Effort) -> object:
        return values(self.take(thing))


def _slot(thing: Any, descriptor: Any) -> Any:
    try:
        return descriptor.__get__(thing)
    except AttributeError:
        return MISSING


class Arguments(Kind):
    """What an exception was made with."""

    def take(self, thing: Any) -> Any:
        return _arguments.__get__(thing)

    def children(self, thing: Any, state: Any) -> Sequence[object]:
        return (state,)

    def same(self, thing: Any, state: Any) -> bool:
        return same_objects(self.take(thing), state)

    def give_back(self, thing: Any, state: Any) -> None:
        _arguments.__set__(thing, state)

    def mark(self, thing: Any, effort: Effort) -> object:
        return values(self.take(thing))


_arguments = BaseException.__dict__["args"]


class Functions(Kind):
    """Functions of the notebook: what they are made of, and what they close over."""

    _NAMES = ("__code__", "__defaults__", "__kwdefaults__", "__dict__")

    def take(self, thing: Any) -> list[Any]:
        return [getattr(thing, name) for name in self._NAMES]

    def children(self, thing: Any, state: list[Any]) -> Sequence[object]:
        return [*state[1:], *(thing.__closure__ or ())]

    def same(self, thing: Any, state: list[Any]) -> bool:
        return same_objects(self.take(thing), state)

    def give_back(self, thing: Any, state: list[Any]) -> None:
        for name, value in zip(self._NAMES, state, strict=True):
            setattr(thing, name, value)

    def mark(self, thing: Any, effort: Effort) -> object:
        return ids(self.take(thing))


class Cells(Kind):
    """What a variable of a function holds that an inner one uses."""

    def take(self, thing: Any) -> Any:
        try:
            return thing.cell_contents
        except ValueError:
            return MISSING

    def children(self, thing: Any, state: Any) -> Sequence[object]:
        return (state,)

    def same(self, thing: Any, state: Any) -> bool:
        return self.take(thing) is state

    def give_back(self, thing: Any, state: Any) -> None:
        if state is not MISSING:
            thing.cell_contents = state
        elif self.take(thing) is not MISSING:
            del thing.cell_contents

    def mark(self, thing: Any, effort: Effort) -> object:
        return values([self.take(thing)])


class Leading(Kind):
    """What never changes, but leads to what may: bound methods and partial functions."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def take(self, thing: Any) -> None:
        return None

    def children(self, thing: Any, state: None) -> Sequence[object]:
        return [getattr(thing, name) for name in self._names]

    def same(self, thing: Any, state: None) -> bool:
        return True

    def give_back(self, thing: Any, state: None) -> None:
        pass


class Classes(Kind):
    """Classes of the notebook: their attributes and methods."""

    # The interpreter keeps these itself, or makes them when they are first asked for.
    _ITS_OWN = frozenset({"__dict__", "__weakref__", "__annotations__", "__annotations_cache__", "__annotate_func__"})

    def cost(self, thing: Any) -> int:
        return 16 * len(members_of(thing))

    def take(self, thing: Any) -> dict[str, Any]:
        return self._read(members_of(thing))

    def _read(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value
            for name, value in members.items()
            if type(name) is str and name not in self._ITS_OWN and not name.startswith("_abc_")
        }

    def children(self, thing: Any, state: dict[str, Any]) -> Sequence[object]:
        return [value for value in state.values() if type(value) is types.FunctionType or not _is_descriptor(value)]

    def same(self, thing: Any, state: dict[str, Any]) -> bool:
        now = self.take(thing)
        return now.keys() == state.keys() and all(now[name] is state[name] for name in state)

    def give_back(self, thing: Any, state: dict[str, Any]) -> None:
        now = self.take(thing)
        for name in now.keys() - state.keys():
            type.__delattr__(thing, name)
        for name, value in state.items():
            if now.get(name, MISSING) is not value:
                type.__setattr__(thing, name, value)

    def mark(self, thing: Any, effort: Effort) -> object:
        return ids(list(self.take(thing).values()))


def _is_descriptor(value: object) -> bool:
    return any("__get__" in members_of(base) for base in bases_of(type(value)))


OBJECTS: dict[type, Kind] = {
    types.CellType: Cells(),
    types.MethodType: Leading("__func__", "__self__"),
    functools.partial: Leading("func", "args", "keywords"),
}
"""What Python is made of and may be traversed."""
