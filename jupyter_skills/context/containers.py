"""Lists, dicts, sets and records as bounded text, without the values of secrets."""

from __future__ import annotations

import dataclasses
import types
from collections import UserDict, UserList, deque
from collections.abc import Iterable
from itertools import islice
from typing import Any

from jupyter_skills.context import arrays, tables
from jupyter_skills.context.kinds import Redact, brief, cleaned, is_a, is_class, scalar
from jupyter_skills.context.names import looks_secret

_WIDTH = 100
_MOST_ITEMS = 100
_NESTED_ITEMS = 30
_MOST_LEAVES = 1_500
_DEEPEST = 6
_TEXT = 1_000
_SHORT = 24
_REPR = 200
_SORTED = 1_000

_BRACKETS: list[tuple[type, str, str]] = [
    (list, "[", "]"),
    (tuple, "(", ")"),
    (frozenset, "frozenset({", "})"),
    (set, "{", "}"),
    (deque, "deque([", "])"),
    (UserList, "[", "]"),
    (type({}.keys()), "dict_keys([", "])"),
    (type({}.values()), "dict_values([", "])"),
    (type({}.items()), "dict_items([", "])"),
]


def container(value: Any, redact: Redact = str) -> str | None:
    """A container or record as text, with what is left out counted; None for anything else."""
    return _Printer(redact).container(value, 0)


class _Printer:
    """Writes one value, and keeps count of how much it has written."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._leaves = _MOST_LEAVES
        self._within: set[int] = set()

    def container(self, value: Any, depth: int) -> str | None:
        writer = self._writer(value)
        if writer is None:
            return None
        if id(value) in self._within:
            return "<itself>"
        if depth > _DEEPEST or self._leaves <= 0:
            return "…"
        self._within.add(id(value))
        try:
            return str(writer(value, depth))
        finally:
            self._within.discard(id(value))

    def _writer(self, value: Any) -> Any:
        if is_class(value):
            return None
        if _fields(value) is not None:
            return self._record
        if isinstance(value, dict | UserDict | types.MappingProxyType) or is_a(value, "os", "_Environ"):
            return self._mapping
        return self._items if any(isinstance(value, kind) for kind, _, _ in _BRACKETS) else None

    def _value(self, value: Any, depth: int) -> str:
        self._leaves -= 1
        if isinstance(value, str):
            text, unseen = cleaned(str.__str__(value), _TEXT, self._redact)
            more = len(text) + unseen - _TEXT
            return repr(text) if more <= 0 else f"{text[:_TEXT]!r}… ({more:,} more characters)"
        if isinstance(value, bytes | bytearray):
            return self._redact(repr(bytes(value))) if len(value) <= 40 else f"<{len(value):,} bytes>"
        told = scalar(value, self._redact) or tables.outline(value) or arrays.outline(value, self._redact)
        told = told or self.container(value, depth)
        return told if told is not None else brief(value, _REPR, self._redact)

    def _items(self, value: Any, depth: int) -> str:
        opening, closing = next((a, b) for kind, a, b in _BRACKETS if isinstance(value, kind))
        count = len(value)
        items: Iterable[Any] = value
        if isinstance(value, set | frozenset) and count <= _SORTED:
            items = sorted(value, key=lambda item: (type(item).__name__, brief(item, _REPR)))
            if all(type(item) in (int, float) for item in items):
                items = sorted(value)
        if isinstance(value, set) and not count:
            return "set()"
        shown = [self._value(item, depth + 1) for item in islice(items, self._most(depth))]
        if isinstance(value, tuple) and count == 1:
            return f"({shown[0]},)"
        return _joined(opening, shown, count, closing)

    def _mapping(self, value: Any, depth: int) -> str:
        count = len(value)
        shown = []
        for key, item in islice(list(value.items()) if count < _SORTED else value.items(), self._most(depth)):
            secret = isinstance(key, str) and looks_secret(key)
            told = repr(f"[redacted: {key}]") if secret and item is not None else self._value(item, depth + 1)
            shown.append(f"{self._value(key, depth + 1)}: {told}")
        kind = type(value).__name__
        opening, closing = ("{", "}") if type(value) is dict else (f"{kind}({{", "})")
        return _joined(opening, shown, count, closing)

    def _record(self, value: Any, depth: int) -> str:
        fields = _fields(value) or []
        shown = []
        for name in islice(fields, self._most(depth)):
            try:
                item = getattr(value, name)
            except AttributeError:
                continue  # a field that has not been set yet
            secret = looks_secret(name) and item is not None and not hasattr(type(item), "get_secret_value")
            shown.append(f"{name}={f'[redacted: {name}]' if secret else self._value(item, depth + 1)}")
        return _joined(f"{type(value).__name__}(", shown, len(fields), ")")

    def _most(self, depth: int) -> int:
        return max(0, min(_MOST_ITEMS if depth == 0 else _NESTED_ITEMS, self._leaves))


def _fields(value: Any) -> list[str] | None:
    """The names of a record's fields; None for what is no record."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.repr]
    if isinstance(value, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return list(kind._fields)
    if isinstance(value, types.SimpleNamespace) or is_a(value, "argparse", "Namespace"):
        return list(vars(value))
    if is_a(value, "pydantic", "BaseModel"):
        return list(kind.model_fields)
    attributes = getattr(kind, "__attrs_attrs__", None)
    return [attribute.name for attribute in attributes if attribute.repr] if isinstance(attributes, tuple) else None


def _joined(opening: str, shown: list[str], count: int, closing: str) -> str:
    if count > len(shown):
        shown = [*shown, f"… and {count - len(shown):,} more"]
    line = f"{opening}{', '.join(shown)}{closing}"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    lines: list[str] = []
    together = all(len(item) <= _SHORT and "\n" not in item for item in shown)
    for item in shown:
        if (
            together and lines and len(lines[-1]) + len(item) < _WIDTH
        ):  # numbers one below the other would be many lines
            lines[-1] += f" {item},"
        else:
            lines.append(f"  {_indented(item)},")
    return "\n".join([opening, *lines, closing])


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
