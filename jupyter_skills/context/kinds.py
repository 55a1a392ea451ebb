"""Knowing what a value is without importing the library it comes from."""

from __future__ import annotations

import reprlib
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

_CONTAINERS = (list, tuple, set, frozenset, dict, deque)
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = _SHORT.maxdict = _SHORT.maxdeque = 20
_SHORT.maxstring = _SHORT.maxother = 500

TEXT_LIMIT = 8_000
"""How many characters of a value are put before a model; of a text all are."""


def is_a(value: object, library: str, *names: str) -> bool:
    """Whether a value's class, or one it inherits from, is a library's class of one of these names."""
    for kind in type(value).__mro__:
        module = getattr(kind, "__module__", None)  # those written in C have it of their metaclass
        if isinstance(module, str) and module.partition(".")[0] == library and kind.__name__ in names:
            return True
    return False


def is_class(value: object) -> bool:
    """Whether it is a class; a proxy that only says so is none."""
    return issubclass(type(value), type)


def own_method(value: object, name: str) -> Callable[..., object] | None:
    """A method that an object's class defines; a class has none, and what an object makes up doesn't count."""
    return None if is_class(value) or not hasattr(type(value), name) else getattr(value, name, None)


def scalar(value: object) -> str | None:
    """A number, a truth value or None as text; None for everything else."""
    if value is None or type(value) in (bool, float, complex):
        return repr(value)
    if type(value) is int:
        return repr(value) if value.bit_length() < 4_000 else f"an integer of {value.bit_length():,} bits"
    if is_a(value, "numpy", "generic") and not isinstance(value, str | bytes | memoryview):
        return str(value)[:TEXT_LIMIT]
    return str(value)[:TEXT_LIMIT] if type(value) in (Decimal, Fraction) else None


def size(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1_000:
            return f"{count:,} bytes" if unit == "bytes" else f"{amount:,.1f} {unit}"
        amount /= 1_000
    return f"{amount:,.1f} GB"


def brief(value: object, most: int) -> str:
    """A value in one line, cut to a number of characters; for one whose repr raises, that it does."""
    try:
        text = scalar(value)
        if text is None:
            if isinstance(value, str):
                text = str.__str__(value)
            else:
                text = _SHORT.repr(value) if type(value) in _CONTAINERS else repr(value)
    except Exception as error:  # noqa: BLE001 -- an object's own code may raise anything
        text = f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
    cut = text if len(text) <= most + 1 else text[: most + 1]
    line = cut.replace("\\", "\\\\") if "\n" in cut and "\\" in cut else cut
    line = line.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= most else f"{line[: most - 1]}…"
