"""A variable's type and size in a few words; never what a text says, for it may be a secret."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from typing import Any

from jupyter_skills import words
from jupyter_skills.namespace import classes
from jupyter_skills.namespace.classes import any_in, is_one_of, library

_LONGEST_NAME = 40
_MOST_NAMES = 3
_WORTH_TELLING = 1_000_000
_MOST_DIGITS = 15

_SIZES: dict[type, tuple[Callable[[Any], int], str]] = {
    str: (str.__len__, "character"),
    bytes: (bytes.__len__, "byte"),
    bytearray: (bytearray.__len__, "byte"),
    list: (list.__len__, "item"),
    tuple: (tuple.__len__, "item"),
    dict: (dict.__len__, "item"),
    set: (set.__len__, "item"),
    frozenset: (frozenset.__len__, "item"),
    deque: (deque.__len__, "item"),
}


def described(thing: Any) -> str:
    """Such as ``list, 3 items``, ``DataFrame, 100 x 3`` or ``int 3``."""
    try:
        return _described(thing)
    except Exception:  # noqa: BLE001 -- a library of another version, or an object half made
        return type_name(type(thing))


def type_name(kind: type) -> str:
    """A class's name as it may be shown, for it may be a stranger's."""
    return short(classes.name_of(kind))


def short(name: str) -> str:
    """A name in one short line in which nothing acts."""
    line = words.plain(name[: _LONGEST_NAME + 1]).replace("\n", " ").replace("\t", " ")
    return words.shortened(line, _LONGEST_NAME)


def _described(thing: Any) -> str:
    kind = type(thing)
    if thing is None:
        return "None"
    if kind is bool or kind is float:
        return f"{kind.__name__} {thing!r}"
    if kind is int:
        return f"int {thing}" if abs(thing) < 10**_MOST_DIGITS else f"int, {thing.bit_length():,} bits"
    ids = classes.ids_of_bases(kind)
    if any_in(ids, type):
        return "class"
    if is_one_of(kind, types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        return "function"
    if any_in(ids, types.ModuleType):
        return "module"
    name = type_name(kind)
    for base, (length, noun) in _SIZES.items():
        if any_in(ids, base):
            return f"{name}, {words.count(length(thing), noun)}" + _memory(length(thing) if noun != "item" else 0)
    if any_in(ids, *library("numpy", "ndarray")):
        return _array(name, thing)
    if any_in(ids, *library("numpy", "number", "bool_")) and is_one_of(kind, *library("numpy", name)):
        return f"{name} {thing.item()!r}"
    if any_in(ids, *library("pandas", "DataFrame", "Series")):
        return _frame(name, thing)
    if is_one_of(kind, *library("polars", "DataFrame")):
        return f"{name}, {thing.height:,} x {thing.width:,}"
    if is_one_of(kind, *library("polars", "Series")):
        return f"{name}, {words.count(thing.len(), 'value')}"
    return name


def _array(name: str, thing: Any) -> str:
    ndarray = library("numpy", "ndarray")[0]
    plain = ndarray.view(thing, ndarray)  # type: ignore[attr-defined]
    shape = " x ".join(f"{length:,}" for length in plain.shape) or "1"
    return f"{name}, {shape} {short(str(plain.dtype))}{_memory(int(plain.nbytes))}"


def _frame(name: str, thing: Any) -> str:
    descriptor = classes.dict_descriptor(type(thing))
    manager = descriptor.__get__(thing)["_mgr"]  # type: ignore[union-attr]
    lengths = [len(axis) for axis in manager.axes]
    size = " x ".join(f"{length:,}" for length in reversed(lengths))
    if len(lengths) == 1:
        size = words.count(lengths[0], "value")
    return f"{name}, {size}{_memory(sum(int(block.values.nbytes) for block in manager.blocks))}"


def _memory(size: int) -> str:
    return f", {amount(size)}" if size > _WORTH_TELLING else ""


def amount(size: int) -> str:
    """A number of bytes for people."""
    for unit, bytes_each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_each:
            return f"{size / bytes_each:,.1f} {unit}"
    return words.count(size, "byte")


def names_added_and_removed(before: list[Any], after: list[Any]) -> str:
    """Which names one list has and the other lacks, such as ``added: total``; empty if none, or too many to tell.

    Args:
        before: Labels of any kind; only texts are told.
        after: Likewise.
    """
    if max(len(before), len(after)) > 10_000:
        return ""
    old = {name for name in before if type(name) is str}
    new = {name for name in after if type(name) is str}
    parts = []
    for word, names in (
        ("added", [name for name in after if type(name) is str and name not in old]),
        ("removed", [name for name in before if type(name) is str and name not in new]),
    ):
        if names:
            parts.append(f"{word}: {words.first_names(list(map(short, names)), _MOST_NAMES)}")
    return "; ".join(parts)
