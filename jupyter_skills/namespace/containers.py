# ruff: noqa: D102 -- kind.py says what the methods of a kind of state do
"""States of Python's own containers, and of what is built upon them.

Everything goes through methods of the containers themselves, never through those a class has put in their place.
"""

from __future__ import annotations

import array
import itertools
import zlib
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from jupyter_skills.namespace.kind import Effort, Kind, Uncopyable, ids, same_objects, values

_POINTER = 8
_SAMPLED = 64
_MARKED = 1_000
_ALL = slice(None)
_PLAIN_KEYS = frozenset(map(id, (str, int, float, bool, bytes, type(None))))


class Items(Kind):
    """Lists and deques."""

    def __init__(
        self, read: Callable[[Any], list[Any]], length: Callable[[Any], int], write: Callable[[Any, list[Any]], None]
    ) -> None:
        self._read, self._length, self._write = read, length, write

    def cost(self, thing: Any) -> int:
        return _POINTER * self._length(thing)

    def items(self, thing: Any) -> int:
        return self._length(thing)

    def take(self, thing: Any) -> list[Any]:
        return self._read(thing)

    def size(self, state: list[Any]) -> int:
        return _POINTER * len(state)

    def children(self, thing: Any, state: list[Any]) -> Sequence[object]:
        return state

    def same(self, thing: Any, state: list[Any]) -> bool:
        return self._length(thing) == len(state) and same_objects(self._read(thing), state)

    def give_back(self, thing: Any, state: list[Any]) -> None:
        self._write(thing, state)

    def sample(self, thing: Any) -> object:
        return self._length(thing)

    def mark(self, thing: Any, effort: Effort) -> object:
        length = self._length(thing)
        return length, values(self._read(thing)) if effort.affords(length) else self.sample(thing)


class Lists(Items):
    """Lists, which can be looked at without a copy."""

    def __init__(self) -> None:
        super().__init__(list.copy, list.__len__, _fill_list)

    def same(self, thing: Any, state: list[Any]) -> bool:
        return list.__len__(thing) == len(state) and all(map(is_, list.__iter__(thing), state))

    def sample(self, thing: Any) -> object:
        length = list.__len__(thing)
        picked = list.__getitem__(thing, slice(None, None, max(1, length // _SAMPLED)))
        return length, ids(picked)


class Dicts(Kind):
    """Dicts, with the order of their items."""

    def cost(self, thing: Any) -> int:
        return 2 * _POINTER * dict.__len__(thing)

    def items(self, thing: Any) -> int:
        return 2 * dict.__len__(thing)

    def take(self, thing: Any) -> Any:
        # A copy as a dict would compare keys of equal hashes, by methods of their own.
        return list(dict.keys(thing)), list(dict.values(thing))

    def size(self, state: Any) -> int:
        return 2 * _POINTER * len(state[0])

    def children(self, thing: Any, state: Any) -> Sequence[object]:
        return [*state[1], *state[0]]

    def same(self, thing: Any, state: Any) -> bool:
        keys, values = state[:2]
        return (
            dict.__len__(thing) == len(keys)
            and all(map(is_, dict.values(thing), values))
            and all(map(is_, dict.keys(thing), keys))
        )

    def check(self, thing: Any, state: Any) -> None:
        if not _PLAIN_KEYS.issuperset(map(id, map(type, state[0]))):
            dict(zip(*state[:2], strict=True))  # raises what their methods do

    def give_back(self, thing: Any, state: Any) -> None:
        held = dict(zip(*state[:2], strict=True))
        dict.clear(thing)
        dict.update(thing, held)  # takes over the hashes

    def sample(self, thing: Any) -> object:
        return dict.__len__(thing)

    def mark(self, thing: Any, effort: Effort) -> object:
        if effort.affords(2 * dict.__len__(thing)):
            return ids(list(dict.keys(thing))), values(list(dict.values(thing)))
        some = [ids(list(itertools.islice(those, _MARKED))) for those in (dict.values(thing), dict.keys(thing))]
        last = [
            ids(list(itertools.islice(reversed(those), _MARKED))) for those in (dict.values(thing), dict.keys(thing))
        ]
        return dict.__len__(thing), *some, *last


class OrderedDicts(Dicts):
    """Dicts that keep an order of their own."""

    def take(self, thing: Any) -> Any:
        keys, values = super().take(thing)
        # It finds its way from key to key by their hashes.
        if not _PLAIN_KEYS.issuperset(map(id, map(type, keys))):
            raise Uncopyable("can't be copied")
        return keys, values, list(OrderedDict.__iter__(thing))

    def same(self, thing: Any, state: Any) -> bool:
        # With other keys, the order may not be asked for: see above.
        return super().same(thing, state) and all(map(is_, OrderedDict.__iter__(thing), state[2]))

    def give_back(self, thing: Any, state: Any) -> None:
        keys, values, order = state
        held = dict(zip(keys, values, strict=True))
        OrderedDict.clear(thing)
        for key in order:
            OrderedDict.__setitem__(thing, key, held[key])

    def mark(self, thing: Any, effort: Effort) -> object:
        if not effort.affords(4 * dict.__len__(thing)):
            return super().mark(thing, effort)
        # With keys of other kinds, the order may not be asked for.
        plain = _PLAIN_KEYS.issuperset(map(id, map(type, dict.keys(thing))))
        return super().mark(thing, effort), ids(list(OrderedDict.__iter__(thing))) if plain else 0

    def parts(self, thing: Any) -> Sequence[object]:
        return [*dict.values(thing), *dict.keys(thing)]


class DefaultDicts(Dicts):
    """Dicts that make what they lack."""

    def take(self, thing: Any) -> Any:
        return *super().take(thing), _factory.__get__(thing)

    def same(self, thing: Any, state: Any) -> bool:
        return _factory.__get__(thing) is state[2] and super().same(thing, state)

    def give_back(self, thing: Any, state: Any) -> None:
        _factory.__set__(thing, state[2])
        super().give_back(thing, state)

    def mark(self, thing: Any, effort: Effort) -> object:
        return id(_factory.__get__(thing)), super().mark(thing, effort)


class Sets(Kind):
    """Sets; a copy of one takes over its hashes, and compares nothing."""

    def cost(self, thing: Any) -> int:
        return 4 * _POINTER * set.__len__(thing)

    def items(self, thing: Any) -> int:
        return set.__len__(thing)

    def take(self, thing: Any) -> frozenset[Any]:
        return frozenset(thing)

    def size(self, state: frozenset[Any]) -> int:
        return 4 * _POINTER * len(state)

    def children(self, thing: Any, state: frozenset[Any]) -> Sequence[object]:
        return list(state)

    def same(self, thing: Any, state: frozenset[Any]) -> bool:
        return set.__len__(thing) == len(state) and set(map(id, set.__iter__(thing))) == set(map(id, state))

    def give_back(self, thing: Any, state: frozenset[Any]) -> None:
        set.clear(thing)
        set.update(thing, state)

    def sample(self, thing: Any) -> object:
        return set.__len__(thing)

    def mark(self, thing: Any, effort: Effort) -> object:
        length = set.__len__(thing)
        return length, sum(map(hash, map(id, set.__iter__(thing)))) if effort.affords(length) else 0


class Fixed(Kind):
    """Tuples and frozensets, which never change, but lead to what may."""

    def __init__(self, read: Callable[[Any], Any], length: Callable[[Any], int]) -> None:
        self._read, self._length = read, length

    def items(self, thing: Any) -> int:
        return self._length(thing)

    def take(self, thing: Any) -> None:
        return None

    def children(self, thing: Any, state: None) -> Sequence[object]:
        return list(self._read(thing))

    def same(self, thing: Any, state: None) -> bool:
        return True

    def give_back(self, thing: Any, state: None) -> None:
        pass


class Buffers(Kind):
    """``bytearray`` and ``array.array``, by their bytes: numbers that are none equal nothing."""

    def __init__(self, base: Any, size: Callable[[Any], int], read: Callable[[Any], Any]) -> None:
        self._base, self._size, self._read = base, size, read

    def cost(self, thing: Any) -> int:
        return self._size(thing)

    def size(self, state: Any) -> int:
        return self._size(state)

    def take(self, thing: Any) -> Any:
        return self._base.__getitem__(thing, _ALL)

    def same(self, thing: Any, state: Any) -> bool:
        return self._size(thing) == self._size(state) and bool(self._read(thing) == self._read(state))

    def give_back(self, thing: Any, state: Any) -> None:
        self._base.__setitem__(thing, _ALL, state)

    def sample(self, thing: Any) -> object:
        step = max(1, self._base.__len__(thing) // _SAMPLED)
        return self._size(thing), bytes(self._read(self._base.__getitem__(thing, slice(None, None, step))))

    def mark(self, thing: Any, effort: Effort) -> object:
        size = self._size(thing)
        return size, zlib.crc32(self._read(thing)) if effort.affords(size=2 * size) else self.sample(thing)


_factory = defaultdict.__dict__["default_factory"]
_width = array.array.__dict__["itemsize"]


def _array_size(thing: Any) -> int:
    return int(array.array.__len__(thing) * _width.__get__(thing))


def _whole(thing: bytearray) -> bytearray:
    return bytearray.__getitem__(thing, _ALL)


def _fill_list(thing: list[Any], state: list[Any]) -> None:
    list.__setitem__(thing, _ALL, state)


def _fill_deque(thing: deque[Any], state: list[Any]) -> None:
    deque.clear(thing)
    deque.extend(thing, state)


def _read_deque(thing: deque[Any]) -> list[Any]:
    return list(deque.__iter__(thing))


CONTAINERS: dict[type, Kind] = {
    list: Lists(),
    OrderedDict: OrderedDicts(),
    defaultdict: DefaultDicts(),
    dict: Dicts(),
    set: Sets(),
    deque: Items(_read_deque, deque.__len__, _fill_deque),
    tuple: Fixed(tuple.__iter__, tuple.__len__),
    frozenset: Fixed(frozenset.__iter__, frozenset.__len__),
    bytearray: Buffers(bytearray, bytearray.__len__, _whole),
    array.array: Buffers(array.array, _array_size, array.array.tobytes),
}
"""What holds others, each before what it is built upon."""
