"""Nothing of a class's own is run to find out what its objects hold, whatever the class pretends."""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jupyter_skills.namespace.snapshot import Snapshot
from tests.namespace.space import PLENTY, kinds

RUN: list[str] = []

ALL = """
    getattribute getattr setattr delattr dir hash eq ne lt le gt ge len length_hint iter next reversed contains bool int
    index float complex repr str bytes format sizeof reduce reduce_ex getstate setstate getnewargs copy deepcopy getitem
    setitem delitem missing call enter exit get set delete array array_interface array_struct array_finalize array_wrap
    array_ufunc array_function fspath instancecheck subclasscheck prepare mro_entries
""".split()  # noqa: SIM905


def trap(name: str) -> Any:
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        RUN.append(name)
        raise RuntimeError(f"{name} was run")

    return method


TRAPS: dict[str, Any] = {f"__{name}__": trap(name) for name in ALL}
LIES: dict[str, Any] = {
    **TRAPS,
    **{
        name: property(trap(name)) for name in ("__class__", "__dict__", "__module__", "_mgr", "base", "shape", "dtype")
    },
    **{
        name: trap(name) for name in ("copy", "keys", "values", "items", "view", "equals", "nbytes", "tolist", "append")
    },
}


EARLY = ("__class__", "__dict__")  # a class can have these only from its beginning


OF_METACLASS = (
    "__hash__",
    "__eq__",
    "__getattribute__",
    "__instancecheck__",
    "__subclasscheck__",
    "__len__",
    "__repr__",
)

BASES = [
    object, list, dict, set, frozenset, tuple, str, bytes, int, float, bytearray, deque, OrderedDict, defaultdict,
    Counter, array, SimpleNamespace, Decimal, Exception, np.ndarray, np.float64, pd.DataFrame, pd.Series, pd.Index,
]  # fmt: skip
MADE_FROM: dict[type, tuple[Any, ...]] = {
    array: ("d", [1.0]),
    np.ndarray: ((2,), "f8", np.arange(2.0)),
    list: ([1],),
    dict: ({"a": [1]},),
}


def made(base: type, home: Any, meta: bool) -> tuple[Any, type]:
    """An object of a class built upon another, which begins to lie once the object is there."""
    above = type("Meta", (type,), {})
    honest = type("Honest", (base,), {})  # has the real ``__dict__``
    kind = (above if meta else type)("Trap", (honest,), {name: LIES[name] for name in EARLY})
    thing: Any
    if base in (pd.DataFrame, pd.Series):
        thing = object.__new__(kind)
        held(thing).update(vars(base({"a": [1, 2]})))
    elif base is pd.Index:
        thing = object.__new__(kind)
    else:
        thing = base.__new__(kind, *MADE_FROM.get(base, ()))
        if base in (list, dict):
            base.__init__(thing, *MADE_FROM[base])
    for name, lie in {**LIES, "__module__": home}.items():
        if name not in EARLY:
            type.__setattr__(kind, name, lie)
    for name in OF_METACLASS:
        setattr(above, name, trap(f"metaclass {name}"))
    return thing, kind


def held(thing: Any) -> dict[str, Any]:
    """The real ``__dict__``, behind the properties in front of it."""
    from jupyter_skills.namespace.classes import dict_descriptor

    found: dict[str, Any] = dict_descriptor(type(thing)).__get__(thing)  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize("home", ["__main__", "somewhere.else", "pandas", 5])
@pytest.mark.parametrize(
    ("base", "meta"),
    # Python makes no class of np.float64's with a metaclass of one's own.
    [(base, meta) for base in BASES for meta in (False, True) if not (meta and base is np.float64)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_nothing_of_a_class_is_run(base: type, meta: bool, home: Any) -> None:
    thing, kind = made(base, home, meta)
    names = {"__name__": "__main__", "x": thing, "held": [thing, {"k": (thing,)}], "kind": kind}
    RUN.clear()
    snapshot = Snapshot.take(names, ["x", "held", "kind"], seconds=PLENTY, memory=1 << 30)
    names["held"].append(thing)
    names["y"] = thing
    delta = snapshot.compare(names, [*names][1:])
    undone = delta.undo(names)
    assert RUN == []
    assert snapshot.uncovered == ()
    assert kinds(delta) == {"held": "mutated", "y": "added"}
    assert [change.name for change in undone.given_back] == ["held", "y"]
    assert len(names["held"]) == 2


@pytest.mark.parametrize("member", ["__buffer__", "__dict__"])
def test_what_a_class_keeps_out_of_reach_is_not_copied(member: str) -> None:
    kind = type("Trap", (bytearray,), {member: LIES.get(member, trap(member))})
    [one] = Snapshot.take({"x": kind()}, ["x"], seconds=PLENTY, memory=1 << 20).uncovered
    assert one.reason == "can't be copied"


def test_keys_and_items_with_methods_of_their_own_are_not_asked() -> None:
    asked = []

    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def __hash__(self) -> int:
            asked.append("hash")
            return 1

        def __eq__(self, other: object) -> bool:
            asked.append("eq")
            return self is other

    names: dict[str, Any] = {"d": {Key(number): number for number in range(4)}, "s": {Key(1), Key(2)}}
    names["d"].pop(next(iter(names["d"])))
    asked.clear()
    snapshot = Snapshot.take(names, ["d", "s"], seconds=PLENTY, memory=1 << 20)
    assert snapshot.compare(names, ["d", "s"]).changes == ()
    assert asked == []
    names["d"].clear()
    names["s"].clear()
    delta = snapshot.compare(names, ["d", "s"])
    assert delta.undo(names).left == ()
    assert [key.number for key in names["d"]] == [1, 2, 3]
    assert len(names["s"]) == 2


def test_an_ordered_dict_whose_order_only_its_keys_could_tell_is_not_copied() -> None:
    class Key:
        def __hash__(self) -> int:
            return 1

    names: dict[str, Any] = {"d": OrderedDict([(Key(), 1)])}
    [one] = Snapshot.take(names, ["d"], seconds=PLENTY, memory=1 << 20).uncovered
    assert one.reason == "can't be copied"


def test_half_made_objects_of_libraries_raise_nothing() -> None:
    class Bare:
        __slots__ = ("never_set",)

    names = {
        "a": object.__new__(pd.DataFrame),
        "b": object.__new__(pd.Series),
        "c": Bare(),
        "d": object.__new__(pd.Index),
    }
    snapshot = Snapshot.take(names, list(names), seconds=PLENTY, memory=1 << 20)
    names["c"].never_set = 1  # type: ignore[attr-defined]
    delta = snapshot.compare(names, list(names))
    assert kinds(delta) == {"c": "mutated"}
    assert delta.undo(names).left == ()
    assert not hasattr(names["c"], "never_set")
