"""What crosses between the user's kernel and the isolated one as JSON: Python's own values.

A JSON document stays what it is. What JSON has no word for becomes an object with one key, such as
``{"~tuple": [1, 2]}``; a dict that looks like one is written as ``{"~dict": [[key, value], …]}``. Values of other
kinds within a container are ``{"~value": [kind, Base64]}``; how those are written and read is the caller's to say.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from jupyter_skills.sandbox.inside.bounds import Pack, Refused, Room, cannot, check_size, is_a

_DEEPEST = 100  # containers within containers, on the way out
_DEEPEST_JSON = 4 * _DEEPEST  # a tagged container takes up to three levels of JSON
_LONGEST_DIGITS = 400  # Python turns digits into a number in quadratic time; larger numbers cross in base 16
_MOST_ALIKE = 100  # keys of one hash; strangers can choose numbers that all share one
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))


def as_utf8(text: str) -> bytes:
    """Text as bytes; half of a surrogate pair is a legal character of a Python string."""
    return str.encode(text, "utf-8", "surrogatepass")


def as_bytes(value: Any, limit: int) -> bytes:
    """The bytes in something that has them, if they are within the limit."""
    view = memoryview(value)
    check_size(view.nbytes, limit)
    return view.tobytes()


class Writer:
    """Writes one value as JSON.

    Args:
        limit: The most bytes it may take; far larger values are refused before they are written.
        pack: Writes what JSON can't hold.
    """

    def __init__(self, limit: int, pack: Pack) -> None:
        self._limit = limit
        self._pack = pack
        self._size = 0
        self._above: list[int] = []

    def document(self, value: object) -> bytes:
        """The value as JSON in UTF-8.

        Raises:
            TypeError: It is nothing that can cross.
            ValueError: It is too large.
        """
        return as_utf8(_dumped(self._plain(value)))

    def _plain(self, value: Any) -> Any:
        self._count(1)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, str) and not is_a(value, "numpy", "generic"):
            self._count(str.__len__(value))
            return str.__str__(value)
        if is_a(value, "numpy", "generic") and not is_a(value, "numpy", "datetime64", "timedelta64"):
            item = value.item()
            if type(item) in (bool, int, float, complex, str, bytes):
                return self._plain(item)
        found = self._pack(value)
        if found is not None:
            return self._bytes("~value", found[1], found[0])
        if issubclass(kind, (dict, list, tuple, set, frozenset)):
            return self._container(value, kind)
        return self._scalar(value, kind)

    def _scalar(self, value: Any, kind: type) -> Any:
        if issubclass(kind, int):
            number = int.__int__(value)
            return number if number.bit_length() < 3 * _LONGEST_DIGITS else {"~int": hex(number)}
        if issubclass(kind, float):
            real = float.__float__(value)
            return real if math.isfinite(real) else {"~float": repr(real)}
        if issubclass(kind, complex):
            return {"~complex": [self._plain(value.real), self._plain(value.imag)]}
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return self._bytes("~bytes", as_bytes(value, self._limit))
        if issubclass(kind, Decimal):
            return {"~decimal": Decimal.__str__(value)}
        if issubclass(kind, timedelta):
            return {"~timedelta": [value.days, value.seconds, value.microseconds]}
        if issubclass(kind, datetime) and value == value:  # pandas' NaT is a datetime, and unlike itself
            return {"~datetime": datetime.isoformat(value)}
        if issubclass(kind, date) and not issubclass(kind, datetime):
            return {"~date": date.isoformat(value)}
        if issubclass(kind, time):
            return {"~time": time.isoformat(value)}
        raise cannot(f"a value of type {_name(value)}")

    def _container(self, value: Any, kind: type) -> Any:
        if id(value) in self._above:
            raise cannot(f"a {_name(value)} that contains itself")
        if len(self._above) >= _DEEPEST:
            raise cannot(f"a {_name(value)} nested more than {_DEEPEST} deep")
        self._above.append(id(value))
        written: Any
        if issubclass(kind, dict):
            written = self._dict(value)
        elif issubclass(kind, list):
            written = [self._plain(item) for item in list.__iter__(value)]
        elif issubclass(kind, tuple):
            written = {"~tuple": [self._plain(item) for item in tuple.__iter__(value)]}
        else:
            base = set if issubclass(kind, set) else frozenset
            # Sets have no order; the same bytes must come of the same set.
            written = {f"~{base.__name__}": sorted(map(self._plain, base.__iter__(value)), key=_dumped)}
        self._above.pop()
        return written

    def _dict(self, value: dict[Any, Any]) -> dict[str, Any]:
        pairs = [(self._plain(key), self._plain(content)) for key, content in dict.items(value)]
        plain = {key: content for key, content in pairs if isinstance(key, str)}
        tagged = len(plain) == 1 and next(iter(plain)) in _TAGS
        return plain if len(plain) == len(pairs) and not tagged else {"~dict": pairs}

    def _bytes(self, tag: str, data: bytes, *kind: str) -> dict[str, Any]:
        self._count(len(data) // 3 * 4)
        text = base64.b64encode(data).decode()
        return {tag: [*kind, text] if kind else text}

    def _count(self, size: int) -> None:
        self._size += size
        check_size(self._size, self._limit, "at least ")


def _name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _dumped(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_json(data: bytes, room: Room) -> Any:
    """The value that a ``Writer`` made this of; it may come from anyone, and raises all sorts if there is none."""
    _check_depth(data)

    def revive(found: dict[str, Any]) -> Any:
        if len(found) != 1:
            return found
        ((tag, content),) = found.items()
        if tag == "~value":
            kind, text = content
            return room.read(kind, base64.b64decode(text, validate=True))
        if tag not in _TAGS:
            return found
        expected, make = _TAGS[tag]
        if type(content) is not expected:
            raise Refused(f"the value has an entry {tag} that holds no {expected.__name__}")
        return make(content)

    return json.loads(data.decode("utf-8", "surrogatepass"), object_hook=revive, parse_int=_number)


def _check_depth(data: bytes) -> None:
    """Refuses JSON nested so deeply that a parser which calls itself would run out of stack."""
    # In text, a quote or a backslash stands behind a backslash; every other piece between quotes is no text.
    pieces = data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    steps = map(_STEPS.__getitem__, b"".join(pieces).translate(None, _NO_BRACKETS))
    if max(itertools.accumulate(steps), default=0) > _DEEPEST_JSON:
        raise Refused(f"the value is nested more than {_DEEPEST_JSON} deep")


def _number(digits: str) -> int:
    if len(digits) > _LONGEST_DIGITS:
        raise Refused(f"the value has a number of {len(digits):,} digits")
    return int(digits)


def _hashed(make: Callable[[Iterable[Any]], Any], items: list[Any], keys: list[Any]) -> Any:
    """A set or dict, unless so many keys share a hash that building it would take hours."""
    longest = max((len(list(run)) for _, run in itertools.groupby(sorted(map(hash, keys)))), default=0)
    if longest > _MOST_ALIKE:
        raise Refused(f"the value has {longest:,} keys with the same hash")
    return make(items)


_TAGS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "~value": (list, list),  # revived where the memory left is known
    "~int": (str, lambda text: int(text, 16)),
    "~float": (str, {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__),
    "~complex": (list, lambda parts: complex(*map(float.__float__, parts))),
    "~bytes": (str, lambda text: base64.b64decode(text, validate=True)),
    "~decimal": (str, Decimal),
    "~timedelta": (list, lambda parts: timedelta(*map(int.__int__, parts))),
    "~datetime": (str, datetime.fromisoformat),
    "~date": (str, date.fromisoformat),
    "~time": (str, time.fromisoformat),
    "~tuple": (list, tuple),
    "~set": (list, lambda items: _hashed(set, items, items)),
    "~frozenset": (list, lambda items: _hashed(frozenset, items, items)),
    "~dict": (list, lambda pairs: _hashed(dict, pairs, [key for key, _ in pairs])),
}
