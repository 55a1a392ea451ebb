# ruff: noqa: D102 -- kind.py says what the methods of a kind of state do
"""States of numpy's arrays, by their bytes: numbers that are none equal nothing, not even themselves."""

from __future__ import annotations

import mmap
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_skills.namespace.budget import Budget, OutOfTime
from jupyter_skills.namespace.kind import Effort, Kind, Uncopyable, same_objects, values

_PIECE = 1 << 20
"""Bytes that are compared at once: what comparing makes stays in the processor's cache."""

_PIECE_COPIED = 4 << 20
_SAMPLED = 64

_ROW = 4096
_CHEAPER = 4
_LEAST_BYTES = 4 << 20
_COST_OF_STEPS = 4
"""How many times longer it takes to read what does not lie together."""


@dataclass(frozen=True)
class _Array:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    writeable: bool
    before: Any = None  # an array of the same shape; None where the contents can't change
    owner: Any = None  # what has the bytes, if all of it is put back together
    copy: Any = None  # its bytes


class Arrays(Kind):
    """Arrays. Views of one array share one copy of it where that is smaller than copies of their own.

    Args:
        numpy: The module.
        budget: What copies may take; they are charged here.
    """

    charges = True

    def __init__(self, numpy: Any, budget: Budget) -> None:
        self._numpy, self._budget = numpy, budget
        self._base, self._flags = numpy.ndarray.__dict__["base"], numpy.ndarray.__dict__["flags"]
        self._seen: dict[int, int] = {}  # the owner of bytes: how many bytes of it were seen, in views or itself
        self._copies: dict[int, tuple[Any, Any]] = {}  # the same: itself, and a copy of its bytes

    def meet(self, thing: Any) -> None:
        owner, _ = self._owner(thing)
        self._seen[id(owner)] = self._seen.get(id(owner), 0) + int(self._plain(thing).nbytes)

    def cost(self, thing: Any) -> int:
        plain, (owner, _) = self._plain(thing), self._owner(thing)
        if self._is_fixed(thing) or id(owner) in self._copies:
            return 0
        return min(int(plain.nbytes), int(self._plain(owner).nbytes) or int(plain.nbytes))

    def weight(self, thing: Any) -> int:
        return int(self._plain(thing).nbytes)

    def items(self, thing: Any) -> int:
        plain = self._plain(thing)
        return int(plain.size) if plain.dtype == object else 0

    def size(self, state: _Array) -> int:
        return 0 if state.before is None else int(state.before.nbytes if state.copy is None else state.copy.nbytes)

    def finish(self) -> None:
        """Forgets the copies, so that each is freed with the states that need it."""
        self._seen.clear()
        self._copies.clear()

    def take(self, thing: Any) -> _Array:
        plain = self._plain(thing)
        about = plain.shape, plain.strides, plain.dtype, self._flags.__get__(thing).writeable
        if self._is_fixed(thing):
            return _Array(*about)
        owner, foreign = self._owner(thing)
        if type(foreign) is mmap.mmap or (plain.dtype.hasobject and plain.dtype.kind not in "OT"):
            raise Uncopyable("can't be copied")
        if plain.dtype.hasobject or not _has_plain_bytes(plain) or not plain.nbytes:
            self._budget.charge(int(plain.nbytes))
            return _Array(*about, plain.copy(order="K"))
        whole = self._plain(owner)
        if owner is not thing and not self._is_worth_it(owner, whole):
            return _Array(*about, self._alone(plain))
        if not _is_dense(whole) or whole.dtype.hasobject:
            return _Array(*about, self._alone(plain))
        if id(owner) not in self._copies:
            self._copies[id(owner)] = owner, self._bytes_of(whole)
        copy = self._copies[id(owner)][1]
        before = self._numpy.ndarray(plain.shape, plain.dtype, copy, _address(plain) - _address(whole), plain.strides)
        many = plain.nbytes > whole.nbytes  # broadcast: the same bytes many times over
        return _Array(*about, before, *((owner, copy) if many else ()))

    def children(self, thing: Any, state: _Array) -> Sequence[object]:
        items: list[object] = state.before.ravel().tolist() if state.dtype == object else []
        return items

    def same(self, thing: Any, state: _Array) -> bool:
        plain = self._plain(thing)
        if (plain.shape, plain.strides) != (state.shape, state.strides) or plain.dtype != state.dtype:
            return False
        if self._flags.__get__(thing).writeable != state.writeable:
            return False
        if state.before is None:
            return True
        if state.owner is not None:
            return self._same_bytes(_flat(self._plain(state.owner)), state.copy)
        if state.dtype == object:
            return same_objects(plain.ravel().tolist(), state.before.ravel().tolist())
        return self.same_arrays(plain, state.before)

    def check(self, thing: Any, state: _Array) -> None:
        if state.before is not None and not self._plain(thing).flags.writeable:
            self._unlock(thing)
            self._ndarray.setflags(thing, write=False)

    def give_back(self, thing: Any, state: _Array) -> None:
        plain = self._plain(thing)
        if (plain.shape, plain.strides, plain.dtype) != (state.shape, state.strides, state.dtype):
            self._reshape(thing, plain, state)
        if state.before is not None:
            if not self._flags.__get__(thing).writeable:
                self._unlock(thing)
            if state.owner is not None:
                self._numpy.copyto(_flat(self._plain(state.owner)), state.copy)
            else:
                self._numpy.copyto(self._plain(thing), state.before, casting="no")
        if self._flags.__get__(thing).writeable != state.writeable:
            self._ndarray.setflags(thing, write=state.writeable)

    def sample(self, thing: Any) -> object:
        plain = self._plain(thing)
        if plain.dtype.hasobject or not plain.nbytes or not _has_plain_bytes(plain):
            return plain.shape, plain.dtype
        steps = tuple(slice(None, None, max(1, length // _side(plain.ndim))) for length in plain.shape)
        return plain.shape, plain.dtype, plain[steps].tobytes()

    def mark(self, thing: Any, effort: Effort) -> object:
        plain = self._plain(thing)
        about = plain.shape, plain.strides, hash(plain.dtype), self._flags.__get__(thing).writeable
        return *about, self.digest(plain, effort)

    def parts(self, thing: Any) -> Sequence[object]:
        plain = self._plain(thing)
        return plain.ravel().tolist() if plain.dtype == object else ()

    def digest(self, plain: Any, effort: Effort) -> object:
        """A number for the contents of an array, or a sample of these where the effort is not enough for that."""
        if not plain.nbytes:
            return 0
        plain = plain[tuple(slice(None, None if step else 1) for step in plain.strides)]  # each repeated part once
        if plain.dtype == object:
            return values(plain.ravel().tolist()) if effort.affords(int(plain.size)) else 0
        if plain.dtype.hasobject or not _has_plain_bytes(plain):
            return zlib.crc32(repr(plain.ravel().tolist()).encode()) if effort.affords(10 * int(plain.size)) else 0
        size = int(plain.nbytes)
        if not _is_dense(plain):
            if effort.affords(size=_COST_OF_STEPS * size):
                return zlib.crc32(self._numpy.ascontiguousarray(plain).view("u1").ravel())
            return zlib.crc32(self.sample(plain)[2])  # type: ignore[index]
        flat = _flat(plain)
        if effort.affords(size=size):
            return zlib.crc32(flat)
        # A sum for each row of these bytes takes less; it doesn't see what changes places within the row.
        rows = flat[: size // _ROW * _ROW].view("u8").reshape(-1, _ROW // 8)
        if effort.affords(size=size // _CHEAPER):
            return zlib.crc32(rows.sum(axis=1)), zlib.crc32(flat[size // _ROW * _ROW :])
        some = rows[:: max(1, len(rows) // max(1, min(effort.size, _LEAST_BYTES) // _ROW))]
        return zlib.crc32(some.sum(axis=1)), zlib.crc32(flat[size // _ROW * _ROW :])

    @property
    def _ndarray(self) -> Any:
        return self._numpy.ndarray

    def same_arrays(self, now: Any, before: Any) -> bool:
        """Whether two arrays of the same shape and type have the same bytes."""
        if not now.nbytes:
            return True
        if not _has_plain_bytes(now):
            return bool((now == before).all())
        if now.strides == before.strides and _is_dense(now):
            return self._same_bytes(_flat(now), _flat(before))
        rows = max(1, _PIECE * len(now) // now.nbytes)
        return all(
            self._same_bytes(
                *(_flat(self._numpy.ascontiguousarray(one[first : first + rows])) for one in (now, before))
            )
            for first in range(0, len(now), rows)
        )

    def _same_bytes(self, these: Any, those: Any) -> bool:
        whole = len(these) // 8 * 8
        if not bool((these[whole:] == those[whole:]).all()):
            return False
        step = _PIECE // 8
        these, those = these[:whole].view("u8"), those[:whole].view("u8")
        return all(
            bool((these[first : first + step] == those[first : first + step]).all())
            for first in range(0, len(these), step)
        )

    def _alone(self, plain: Any) -> Any:
        if not _is_dense(plain):
            self._budget.charge(int(plain.nbytes))
            return plain.copy(order="K")
        copy = self._bytes_of(plain)
        return self._numpy.ndarray(plain.shape, plain.dtype, copy, 0, plain.strides)

    def _bytes_of(self, plain: Any) -> Any:
        flat, begin = _flat(plain), time.perf_counter()
        copy = self._numpy.empty(len(flat), "u1")
        for first in range(0, len(flat), _PIECE_COPIED):
            if first and self._budget.over:
                raise OutOfTime
            copy[first : first + _PIECE_COPIED] = flat[first : first + _PIECE_COPIED]
        self._budget.charge(len(flat), time.perf_counter() - begin)
        return copy

    def _plain(self, thing: Any) -> Any:
        return self._ndarray.view(thing, self._ndarray)

    def _owner(self, thing: Any) -> tuple[Any, Any]:
        """The array whose bytes these are, and what else has them, if something else has."""
        base = self._base.__get__(thing)
        while base is not None and issubclass(type(base), self._ndarray):
            thing, base = base, self._base.__get__(base)
        return thing, base

    def _is_fixed(self, thing: Any) -> bool:
        """Whether nothing can change the contents."""
        return type(self._owner(thing)[1]) is bytes

    def _is_worth_it(self, owner: Any, whole: Any) -> bool:
        if id(owner) in self._copies:
            return True
        return self._seen.get(id(owner), 0) >= whole.nbytes and self._budget.lacking(int(whole.nbytes)) is None

    def _unlock(self, thing: Any) -> None:
        try:
            self._ndarray.setflags(thing, write=True)
        except ValueError:
            raise Uncopyable("it is read-only now") from None

    def _reshape(self, thing: Any, plain: Any, state: _Array) -> None:
        size = state.dtype.itemsize
        for length in state.shape:
            size *= length
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if plain.nbytes != size:
                    self._ndarray.resize(thing, (size // (plain.dtype.itemsize or 1),), refcheck=False)
                if plain.dtype != state.dtype:
                    self._ndarray.__dict__["dtype"].__set__(thing, state.dtype)
                if plain.shape != state.shape:
                    self._ndarray.__dict__["shape"].__set__(thing, state.shape)
                if self._plain(thing).strides != state.strides:
                    self._ndarray.__dict__["strides"].__set__(thing, state.strides)
        except (ValueError, AttributeError, TypeError):
            raise Uncopyable("its shape can't be given back") from None


class RandomNumbers(Kind):
    """numpy's sources of random numbers, and Python's: where in their sequence they are."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read, self._write = read, write

    def cost(self, thing: Any) -> int:
        return 5_000

    def take(self, thing: Any) -> Any:
        return self._read(thing)

    def same(self, thing: Any, state: Any) -> bool:
        return bool(_comparable(self._read(thing)) == _comparable(state))

    def give_back(self, thing: Any, state: Any) -> None:
        self._write(thing, state)

    def mark(self, thing: Any, effort: Effort) -> object:
        return zlib.crc32(repr(_comparable(self._read(thing))).encode())


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _comparable(value) for name, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state


def _side(dimensions: int) -> int:
    return max(1, int(_SAMPLED ** (1 / max(1, dimensions))))


def _has_plain_bytes(plain: Any) -> bool:
    return plain.dtype.kind in "biufcmMSUV" and plain.dtype.itemsize > 0


def _is_dense(plain: Any) -> bool:
    return bool(plain.flags.c_contiguous or plain.flags.f_contiguous)


def _flat(plain: Any) -> Any:
    return plain.ravel(order="K").view("u1")


def _address(plain: Any) -> int:
    return int(plain.__array_interface__["data"][0])
