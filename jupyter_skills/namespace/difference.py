"""What to say about a change, and what it costs to be able to take it back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jupyter_skills.namespace.classes import is_one_of
from jupyter_skills.namespace.containers import CONTAINERS, Buffers
from jupyter_skills.namespace.described import described, names_added_and_removed
from jupyter_skills.namespace.frames import Frames
from jupyter_skills.namespace.objects import Attributes, Classes, Functions, Slots
from jupyter_skills.namespace.walk import Node

_OF_ITEMS = {type(kind) for kind in CONTAINERS.values() if not isinstance(kind, Buffers)}
_VALUES = (int, float, bool, complex, str, bytes, type(None))


def is_same_value(now: Any, then: Any) -> bool:
    """Whether two numbers or texts can't be told apart."""
    kind = type(now)
    if kind is not type(then) or not is_one_of(kind, *_VALUES):
        return False
    return repr(now) == repr(then) if is_one_of(kind, float, complex) else bool(now == then)


def after_of(root: Node, before: str, is_itself: bool) -> str:
    """A changed object's type and size, with a word on what is other if these don't tell.

    Args:
        root: The object.
        before: What was said of it before.
        is_itself: Whether it has changed, and not only what it refers to.
    """
    after = described(root.thing)
    columns = _columns(root) if is_itself else ""
    if columns:
        return f"{after}, {columns}"
    if after != before:
        return after
    kind = root.kinds[0] if root.kinds else None
    if not is_itself or isinstance(kind, Attributes | Slots | Functions | Classes):
        return f"{after}, other contents"
    return f"{after}, other {'items' if type(kind) in _OF_ITEMS else 'values'}"


def _columns(root: Node) -> str:
    """Which columns a data frame has got or lost."""
    if root.states is None or not root.kinds or not isinstance(root.kinds[0], Frames):
        return ""
    try:
        now, then = root.kinds[0].labels(root.thing, root.states[0])
    except Exception:  # noqa: BLE001 -- a library of another version
        return ""
    return names_added_and_removed(then, now)


def weight_of(things: Iterable[Any], nodes: Iterable[Node]) -> int:
    """How many bytes are held by objects, with all that they reach.

    Args:
        things: Nodes, or other objects.
        nodes: All objects that are known.
    """
    total = 0
    todo: list[Node] = []
    for thing in things:
        if isinstance(thing, Node):
            todo.append(thing)
        elif is_one_of(type(thing), str, bytes):
            total += len(thing)
    if not todo:
        return total
    ways: dict[int, list[Node]] = {}
    for node in nodes:
        for parent in node.parents:
            ways.setdefault(id(parent), []).append(node)
    met: set[int] = set()
    while todo:
        node = todo.pop()
        if id(node) not in met:
            met.add(id(node))
            total += _weight(node)
            todo.extend(ways.get(id(node), ()))
    return total


def _weight(node: Node) -> int:
    try:
        return sum(kind.weight(node.thing) for kind in node.kinds)
    except Exception:  # noqa: BLE001 -- likewise
        return 0
