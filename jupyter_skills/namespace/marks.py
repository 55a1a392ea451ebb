"""What tells whether an object is still as code left it, without keeping any of it alive."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_skills.namespace.budget import Budget
from jupyter_skills.namespace.kind import Effort
from jupyter_skills.namespace.layouts import Layouts

_ITEMS_PER_SECOND = 3e6
_BYTES_PER_SECOND = 1e9

_LEAST = 25
"""How many items it takes to look at an object that has none."""


@dataclass(frozen=True)
class Mark:
    """How an object was, with all that only it leads to.

    Args:
        layouts: What objects are made of.
        items: How many items were to be looked at. Looking again has to end where the first look did.
        size: Likewise how many bytes.
        edge: The ids of what was not followed.
        digest: A number for what was seen.
    """

    layouts: Layouts
    items: int
    size: int
    edge: frozenset[int]
    digest: int

    def holds(self, thing: Any) -> bool:
        """Whether an object is still so, as far as can be told."""
        try:
            return _seen(self.layouts, thing, self.edge, Effort(self.items, self.size))[0] == self.digest
        except Exception:  # noqa: BLE001 -- what can't be looked at any more is not what it was
            return False


class Marking:
    """Marks objects as long as there is time.

    Args:
        namespace: What holds them.
        known: The ids of objects that are not followed: they stay, whatever becomes of what leads to them.
        until: When it has to end, by ``time.perf_counter``.
    """

    def __init__(self, namespace: Mapping[str, Any], known: Container[int], until: float) -> None:
        # Code may have imported libraries that the layouts of the snapshot don't know.
        self._layouts = Layouts(namespace, Budget(0.0, 0))
        self._known, self._until = known, until

    def of(self, thing: Any) -> Mark | None:
        """How an object is now; None if there is no time left to look, or nothing that could change."""
        # Half of what is left, so that a large object does not cost the others theirs.
        seconds = (self._until - time.perf_counter()) / 2
        if seconds <= 0:
            return None
        items, size = int(seconds / 2 * _ITEMS_PER_SECOND), int(seconds / 2 * _BYTES_PER_SECOND)
        try:
            digest, edge = _seen(self._layouts, thing, self._known, Effort(items, size))
        except Exception:  # noqa: BLE001 -- a library of another version, or an object half made
            return None
        return Mark(self._layouts, items, size, edge, digest)


def _seen(layouts: Layouts, root: Any, known: Container[int], effort: Effort) -> tuple[int, frozenset[int]]:
    """A number for what an object leads to, and the ids of what is known among that."""
    digest, edge, met, todo = 0, set(), set(), [root]
    while todo and effort.items > 0:
        part = todo.pop()
        if id(part) in met:
            continue
        if part is not root and id(part) in known:
            edge.add(id(part))
            continue
        met.add(id(part))
        layout = layouts.of(type(part))
        if layout.is_fixed or layout.reason or (layout.accepts and not layout.accepts(part)):
            digest = hash((digest, id(type(part)) if part is root else 0))
            continue
        effort.items -= _LEAST
        digest = hash((digest, id(type(part)), id(part)))
        for kind in layout.kinds:
            with contextlib.suppress(Exception):
                leads = kind.parts(part) if kind.items(part) <= effort.items else ()
                digest = hash((digest, kind.mark(part, effort)))
                todo.extend(leads)
    return digest, frozenset(edge)
