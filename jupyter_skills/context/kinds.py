"""Knowing what a value is without importing the library it comes from."""

from __future__ import annotations

import reprlib
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from jupyter_skills import words
from jupyter_skills.execution.output import bounded

Redact = Callable[[str], str]
"""Takes the secrets out of a text."""

_CONTAINERS = (list, tuple, set, frozenset, dict, deque)
_LONGEST_SECRET = 20_000
_WHOLE = 200_000

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


def scalar(value: object, redact: Redact = str) -> str | None:
    """A number, a truth value or None as text; None for everything else."""
    if value is None or type(value) in (bool, float, complex):
        return repr(value)
    if type(value) is int:
        return repr(value) if value.bit_length() < 4_000 else f"an integer of {value.bit_length():,} bits"
    if is_a(value, "numpy", "generic") and not isinstance(value, str | bytes | memoryview):
        return redact(str(value))[:TEXT_LIMIT]
    return str(value)[:TEXT_LIMIT] if type(value) in (Decimal, Fraction) else None


def size(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1_000:
            return f"{count:,} bytes" if unit == "bytes" else f"{amount:,.1f} {unit}"
        amount /= 1_000
    return f"{amount:,.1f} GB"


def cleaned(text: str, most: int, redact: Redact) -> tuple[str, int]:
    """The beginning of a text without its secrets, and how many characters were not looked at.

    What is returned is the whole text, or so much more than is kept of it that no secret can end up cut in two.

    Args:
        text: The text.
        most: How many characters will be kept.
        redact: Takes secrets out.
    """
    window = most + 2 * _LONGEST_SECRET
    while True:
        clean = redact(text[:window])
        if window >= len(text) or len(clean) >= most + _LONGEST_SECRET:
            return clean, max(0, len(text) - window)
        window *= 2  # what took the places of secrets is so much shorter


def shortened(text: str, limit: int, redact: Redact) -> str:
    """At most ``limit`` characters of a text without its secrets, with a gap in its middle marked."""
    if len(text) <= _WHOLE:
        return bounded(redact(text), limit)
    head, unseen = cleaned(text, limit, redact)
    start = len(text) - unseen
    if not unseen:
        return bounded(head, limit)
    window = limit + 2 * _LONGEST_SECRET
    while True:
        first = max(start, len(text) - window)
        tail = redact(text[first:])
        if first == start or len(tail) >= limit + _LONGEST_SECRET:
            return bounded(head + tail, limit, first - start) if first > start else bounded(redact(text), limit)
        window *= 2


class _Short(reprlib.Repr):
    """Writes containers without all of their items, from which secrets are taken before they are cut."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = self.maxdeque = 20
        self.maxstring = self.maxother = 500
        self._redact = redact

    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(cleaned(x, self.maxstring, self._redact)[0], level)

    def repr_instance(self, x: object, level: int) -> str:
        try:
            text = repr(x)
        except Exception as error:  # noqa: BLE001 -- an object's own code may raise anything
            return f"<{type(x).__name__}: its repr raises {type(error).__name__}>"
        text = cleaned(text, self.maxother, self._redact)[0]
        return words.shortened(text, self.maxother)


def brief(value: object, most: int, redact: Redact = str) -> str:
    """A value in one line, cut to a number of characters, without secrets; for one whose repr raises, that it does."""
    try:
        text = scalar(value, redact)
        if text is None:
            if isinstance(value, str):
                text = str.__str__(value)
            else:
                text = _Short(redact).repr(value) if type(value) in _CONTAINERS else repr(value)
    except Exception as error:  # noqa: BLE001 -- an object's own code may raise anything
        text = f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
    text = cleaned(text, most, redact)[0]
    cut = text if len(text) <= most + 1 else text[: most + 1]
    line = cut.replace("\\", "\\\\") if "\n" in cut and "\\" in cut else cut
    line = line.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
    return words.shortened(line, most)
