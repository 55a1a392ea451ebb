# ruff: noqa: D102 -- kind.py says what the methods of a kind of state do
"""States of pandas' and polars' objects."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from jupyter_skills.namespace.arrays import Arrays
from jupyter_skills.namespace.budget import Budget
from jupyter_skills.namespace.classes import dict_descriptor, package_of
from jupyter_skills.namespace.kind import Effort, Kind, Uncopyable, ids, same_objects

_CACHES = frozenset({"_mgr", "_item_cache", "_cache", "_cacher", "_is_copy", "_flags"})

_MOST_COLUMNS = 100
_MOST_VALUES = 1_000
_ITEMS_PER_COLUMN = 50
_ITEMS_PER_VALUE = 4


class _Frame(NamedTuple):
    manager: Any
    axes: list[Any]
    duplicates: bool
    rest: dict[str, Any]


class Frames(Kind):
    """Data frames and series of pandas, and of classes built upon them.

    What holds the values is copied and compared by pandas' own code below the methods that a class may have put in
    their place, and is put back into the same object, as unpickling does.

    Args:
        arrays: How arrays are compared.
        budget: Copies are charged here.
    """

    charges = True

    def __init__(self, arrays: Arrays, budget: Budget) -> None:
        self._arrays, self._budget = arrays, budget

    def cost(self, thing: Any) -> int:
        return sum(_size(block.values) for block in _manager(thing).blocks)

    def weight(self, thing: Any) -> int:
        return sum(int(block.values.nbytes) for block in _manager(thing).blocks)

    def labels(self, thing: Any, state: _Frame) -> tuple[list[Any], list[Any]]:
        """A data frame's column labels, now and before; empty if these are the same ones, and for a series."""
        now, then = _manager(thing).axes, state.axes
        return ([], []) if len(now) < 2 or now[0] is then[0] else (now[0].tolist(), then[0].tolist())

    def items(self, thing: Any) -> int:
        return sum(block.values.size for block in _manager(thing).blocks if block.values.dtype == object)

    def size(self, state: _Frame) -> int:
        return sum(_size(block.values) for block in state.manager.blocks)

    def take(self, thing: Any) -> _Frame:
        manager = _manager(thing)
        if not all(_is_known(block.values) for block in manager.blocks):
            raise Uncopyable("can't be copied")
        held, begin, size = _attributes(thing), time.perf_counter(), self.cost(thing)
        copy = manager.copy(deep=True)
        self._budget.charge(size, (time.perf_counter() - begin) * (size > 1 << 20))
        rest = {name: value for name, value in dict.items(held) if name not in _CACHES}
        return _Frame(copy, list(manager.axes), _allows_duplicates(held), rest)

    def children(self, thing: Any, state: _Frame) -> Sequence[object]:
        cells = (block.values.ravel().tolist() for block in state.manager.blocks if _is_of_objects(block.values))
        return [*state.axes, *state.rest.values(), *(cell for block in cells for cell in block)]

    def same(self, thing: Any, state: _Frame) -> bool:
        manager, held = _manager(thing), _attributes(thing)
        rest = {name: value for name, value in dict.items(held) if name not in _CACHES}
        return (
            _allows_duplicates(held) == state.duplicates
            and rest.keys() == state.rest.keys()
            and all(rest[name] is value for name, value in state.rest.items())
            and len(manager.axes) == len(state.axes)
            and all(now is then or _same_index(now, then) for now, then in zip(manager.axes, state.axes, strict=True))
            and self._same_values(manager, state.manager)
        )

    def _same_values(self, now: Any, then: Any) -> bool:
        if len(now.blocks) == len(then.blocks) and all(
            one.mgr_locs.as_array.tolist() == other.mgr_locs.as_array.tolist()
            for one, other in zip(now.blocks, then.blocks, strict=True)
        ):
            return all(
                self._same_column(one.values, other.values) for one, other in zip(now.blocks, then.blocks, strict=True)
            )
        # The same columns may be held in other blocks: putting them together is no change.
        return all(
            self._same_column(now.iget_values(place), then.iget_values(place)) for place in range(len(now.items))
        )

    def _same_column(self, now: Any, then: Any) -> bool:
        if type(now) is not type(then) or now.dtype != then.dtype or now.shape != then.shape:
            return False
        if hasattr(now, "equals"):
            return bool(now.equals(then))
        if now.dtype == object:
            return same_objects(now.ravel().tolist(), then.ravel().tolist())
        return self._arrays.same_arrays(now, then)

    def check(self, thing: Any, state: _Frame) -> None:
        _manager(thing)

    def give_back(self, thing: Any, state: _Frame) -> None:
        held = _attributes(thing)
        for name in [name for name in dict.keys(held) if name not in state.rest and name not in _CACHES]:
            dict.__delitem__(held, name)
        dict.update(held, state.rest)
        state.manager.axes = list(state.axes)
        dict.__setitem__(held, "_mgr", state.manager)
        if dict.get(held, "_flags") is not None:
            held["_flags"]._allows_duplicate_labels = state.duplicates
        if "_item_cache" in held:
            dict.__setitem__(held, "_item_cache", {})

    def sample(self, thing: Any) -> object:
        manager = _manager(thing)
        values = [block.values for block in manager.blocks[:50]]
        return tuple(map(len, manager.axes)), tuple(
            (str(one.dtype), self._arrays.sample(one) if _is_plain(one) else None) for one in values
        )

    def mark(self, thing: Any, effort: Effort) -> object:
        manager, held = _manager(thing), _attributes(thing)
        rest = {name: value for name, value in dict.items(held) if name not in _CACHES}
        about = _allows_duplicates(held), tuple(rest), ids(list(rest.values()))
        return *about, *(self._mark_of_index(axis, effort) for axis in manager.axes), *self._columns(manager, effort)

    def parts(self, thing: Any) -> Sequence[object]:
        rest = [value for name, value in dict.items(_attributes(thing)) if name not in _CACHES]
        blocks = [block.values for block in _manager(thing).blocks]
        return [*rest, *(cell for block in blocks if _is_of_objects(block) for cell in block.ravel().tolist())]

    def _columns(self, manager: Any, effort: Effort) -> list[object]:
        # By columns, for these may be put together in other blocks, which is no change.
        if len(manager.axes) < 2:
            return [self._mark_of_column(block.values, effort) for block in manager.blocks]
        many = len(manager.items)
        if not effort.affords(_ITEMS_PER_COLUMN * many):
            places = range(0, many, max(1, many // _MOST_COLUMNS))
            return [self._mark_of_column(manager.iget_values(place), effort) for place in places]
        return [self._mark_of_column(manager.iget_values(place), effort) for place in range(many)]

    def _mark_of_column(self, column: Any, effort: Effort) -> object:
        about = str(column.dtype), len(column)
        return *about, self._arrays.digest(column, effort) if _is_plain(column) else _digest(column, effort)

    def _mark_of_index(self, index: Any, effort: Effort) -> object:
        about = type(index).__name__, len(index), ids(list(index.names))
        if index.nlevels > 1:
            levels = [self._mark_of_index(level, effort) for level in index.levels]
            return *about, *levels, *(self._arrays.digest(codes, effort) for codes in index.codes)
        if hasattr(index, "_range"):
            return *about, hash(index._range)
        return *about, self._mark_of_column(index._values, effort)


class Indexes(Kind):
    """Indexes, of which nothing changes but names."""

    _NAMES = ("_name", "_names", "_levels", "_codes")

    def take(self, thing: Any) -> dict[str, Any]:
        held = _attributes(thing)
        state = {name: held[name] for name in self._NAMES if name in held}
        return {name: list(value) if type(value) is list else value for name, value in state.items()}

    def same(self, thing: Any, state: dict[str, Any]) -> bool:
        now = self.take(thing)
        return now.keys() == state.keys() and all(
            same_objects(value, state[name]) if type(value) is list else value is state[name]
            for name, value in now.items()
        )

    def give_back(self, thing: Any, state: dict[str, Any]) -> None:
        held = _attributes(thing)
        for name, value in state.items():
            if type(value) is list and type(held.get(name)) is list:
                held[name][:] = value
            else:
                held[name] = value
        if type(held.get("_cache")) is dict:
            held["_cache"].pop("names", None)

    def mark(self, thing: Any, effort: Effort) -> object:
        state = self.take(thing)
        return tuple((name, ids(value) if type(value) is list else id(value)) for name, value in state.items())


class ExtensionArrays(Kind):
    """Columns of pandas' own types: categories, dates, numbers that may be missing."""

    def cost(self, thing: Any) -> int:
        return _size(thing)

    def size(self, state: Any) -> int:
        return _size(state)

    def take(self, thing: Any) -> Any:
        return thing.copy()

    def same(self, thing: Any, state: Any) -> bool:
        return bool(thing.dtype == state.dtype and thing.equals(state))

    def give_back(self, thing: Any, state: Any) -> None:
        thing[:] = state

    def mark(self, thing: Any, effort: Effort) -> object:
        return str(thing.dtype), len(thing), _digest(thing, effort)


class Clones(Kind):
    """Data frames and series of polars, whose values never change in place: a clone costs nothing.

    Args:
        name: Of the attribute that holds the values.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def take(self, thing: Any) -> Any:
        return getattr(thing, self._name).clone()

    def same(self, thing: Any, state: Any) -> bool:
        now = getattr(thing, self._name)
        if self._name == "_s":
            return bool(now.equals(state, check_dtypes=True, check_names=True, null_equal=True))
        return bool(
            now.columns() == state.columns() and now.dtypes() == state.dtypes() and now.equals(state, null_equal=True)
        )

    def give_back(self, thing: Any, state: Any) -> None:
        setattr(thing, self._name, state)

    def mark(self, thing: Any, effort: Effort) -> object:
        held = getattr(thing, self._name)
        if self._name == "_s":
            return held.name(), str(held.dtype()), held.len(), repr(held)
        columns = [held.to_series(place) for place in range(min(held.width(), _MOST_COLUMNS))]
        return tuple(held.columns()), held.height(), tuple(repr(column) for column in columns)


def _digest(column: Any, effort: Effort) -> int:
    """A number for the values of a column of pandas' own types, or for some of them."""
    if not effort.affords(_ITEMS_PER_VALUE * len(column)):
        column = column[:: max(1, len(column) // _MOST_VALUES)]
    return zlib.crc32(sys.modules["pandas"].util.hash_array(column))


def _attributes(thing: Any) -> Any:
    descriptor = dict_descriptor(type(thing))
    held = descriptor.__get__(thing) if descriptor is not None else None
    if type(held) is not dict:
        raise Uncopyable("can't be copied")
    return held


def _manager(thing: Any) -> Any:
    manager = _attributes(thing).get("_mgr")
    if package_of(type(manager)) != "pandas":
        raise Uncopyable("can't be copied")
    return manager


def _allows_duplicates(held: Any) -> bool:
    return bool(getattr(held.get("_flags"), "_allows_duplicate_labels", True))


def _is_plain(values: Any) -> bool:
    return package_of(type(values)) == "numpy"


def _is_of_objects(values: Any) -> bool:
    return _is_plain(values) and bool(values.dtype == object)


def _is_known(values: Any) -> bool:
    return package_of(type(values)) in ("numpy", "pandas")


def _size(values: Any) -> int:
    """How many bytes a copy of a column takes; what Arrow holds is shared."""
    return 0 if hasattr(values, "_pa_array") else int(values.nbytes)


def _same_index(now: Any, then: Any) -> bool:
    if type(now) is not type(then) or now.dtype != then.dtype or len(now) != len(then):
        return False
    if now.dtype == object and now.nlevels == 1:  # labels may be objects of anyone's
        return bool(now.name is then.name or now.name == then.name) and same_objects(now.tolist(), then.tolist())
    return bool(now.identical(then))
