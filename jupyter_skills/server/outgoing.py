"""JSON as it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

Item = TypeVar("Item")


def in_json(value: object) -> bytes:
    """A value as JSON; half a character, which UTF-8 has no bytes for, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def list_in_json(
    items: Iterable[Item], told: Callable[[Item], object], key: str, around: Mapping[str, object]
) -> bytes:
    """A JSON object that holds a list and other things.

    Python's encoder lets no other thread run until it is done, so each item is encoded by itself.

    Args:
        items: What is on the list.
        told: What ``json.dumps`` takes in place of an item.
        key: The list's key.
        around: What else is in the object.
    """
    data = b", ".join([in_json(told(item)) for item in items])
    more = [in_json(name) + b": " + in_json(value) for name, value in around.items()]
    return b"{" + b", ".join([in_json(key) + b": [" + data + b"]", *more]) + b"}"
