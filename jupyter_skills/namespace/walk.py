"""From the names of a namespace to all that they reach, and what of it could be copied in time."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jupyter_skills.namespace.budget import Budget, OutOfTime, Reason
from jupyter_skills.namespace.kind import Kind
from jupyter_skills.namespace.layouts import Layout, Layouts

_SMALL = 64 << 10
"""What takes more bytes waits until all that takes less is copied."""

_NODE = 250
"""About how many bytes it takes to know of one object."""

_TURN = 256
_SHORT = 16
_MOST_SAMPLES = 1_000


class Node:
    """One object that some name reaches, with its state before the code ran.

    Args:
        thing: The object.
        layout: What it is made of.
    """

    __slots__ = ("begun", "gap", "layout", "others", "parent", "samples", "states", "thing")

    def __init__(self, thing: Any, layout: Layout) -> None:
        self.thing = thing
        self.layout = layout
        self.states: list[Any] | None = None
        self.begun = False
        self.parent: Node | None = None
        self.others: list[Node] = []
        self.gap: Reason | None = None
        self.samples: list[object] = []

    @property
    def kinds(self) -> Sequence[Kind]:
        """What its states are of."""
        return self.layout.kinds

    @property
    def parents(self) -> Iterable[Node]:
        """The objects that refer to it."""
        return [self.parent, *self.others] if self.parent is not None else self.others

    def is_reached_from(self, parent: Node | None) -> None:
        """Notes one more object that refers to it."""
        if parent is None or parent is self.parent:
            return
        if self.parent is None:
            self.parent = parent
        elif not self.others or self.others[-1] is not parent:
            self.others.append(parent)


class Walk:
    """Copies what names reach: what is small first, and each name in its turn, so that a large one holds up no other.

    It doesn't follow objects by recursion, so that no depth is too much, and each object only once.

    Args:
        namespace: What holds the names; it is not followed itself.
        budget: What may be spent.
    """

    def __init__(self, namespace: Mapping[str, Any], budget: Budget) -> None:
        self._namespace = namespace
        self._budget = budget
        self._layouts = Layouts(namespace, budget)
        self._aside: list[tuple[int, int, Node]] = []
        self._number = itertools.count()
        self._sampled = 0
        # Each way is a stack of objects that are still to be met, with what refers to them.
        self._ways: deque[list[tuple[list[Any], Node | None]]] = deque()
        self.nodes: dict[int, Node] = {}

    def root(self, thing: Any) -> Node | None:
        """The beginning of a way to go, at what a name stands for; None if that never changes."""
        node = self._met(thing, None)
        if node is not None and not node.begun:
            self._ways.append([([thing], None)])
        return node

    def go(self) -> None:
        """Goes all ways as far as the budget allows."""
        while self._ways or self._aside:
            if self._budget.over or self._budget.full:
                break
            if self._ways:
                way = self._ways.popleft()
                self._go_on(way)
                if way:
                    self._ways.append(way)
            else:
                self._copy_next()
        self._give_up()
        self._layouts.finish()

    def _go_on(self, way: list[tuple[list[Any], Node | None]]) -> None:
        work = 0
        while way and work < _TURN:
            things, parent = way[-1]
            if not things:
                way.pop()
                continue
            node = self._met(things.pop(), parent)
            work += 1
            if node is not None and not node.begun:
                node.begun = True
                work += self._begin(node, way)
            if work % 32 == 0 and self._budget.over:
                return

    def _met(self, thing: Any, parent: Node | None) -> Node | None:
        """The node of an object; None if it never changes."""
        node = self.nodes.get(id(thing))
        if node is None:
            layout = self._layouts.of(type(thing))
            if layout.is_fixed or thing is self._namespace or (layout.accepts and not layout.accepts(thing)):
                return None
            if (
                layout.owner is tuple
                and len(thing) <= _SHORT
                and self._layouts.fixed.issuperset(map(id, map(type, thing)))
            ):
                return None
            node = self.nodes[id(thing)] = Node(thing, layout)
        node.is_reached_from(parent)
        return node

    def _begin(self, node: Node, way: list[tuple[list[Any], Node | None]]) -> int:
        """Copies an object's state, or puts it aside; returns how much work that was, in objects."""
        if node.layout.reason:
            node.gap = "can't be copied"
            return 0
        try:
            if node.layout.is_bulk:
                for kind in node.kinds:
                    kind.meet(node.thing)
            cost, items = self._size(node)
        except Exception:  # noqa: BLE001 -- a library of another version, or an object half made
            node.gap = "can't be copied"
            return 0
        if cost > _SMALL or items > _SMALL // 8:
            heapq.heappush(self._aside, (max(cost, 8 * items), next(self._number), node))
            return 0
        if self._budget.has_room(cost + _NODE):
            self._copy(node, 0 if node.layout.is_bulk else cost, way)
        else:
            self._leave(node, "too large")
        return items // 16

    def _size(self, node: Node) -> tuple[int, int]:
        cost = items = 0
        for kind in node.layout.kinds:
            cost += kind.cost(node.thing)
            items += kind.items(node.thing)
        return cost, items

    def _copy_next(self) -> None:
        """Copies the smallest of what was put aside."""
        _, _, node = heapq.heappop(self._aside)
        cost, items = self._size(node)
        reason = self._budget.lacking(cost, items)
        if reason is not None:
            if reason == "no time left":
                self._budget.reserve(cost)
            self._leave(node, reason)
            return
        way: list[tuple[list[Any], Node | None]] = []
        self._copy(node, 0 if node.layout.is_bulk else cost, way)
        if way:
            self._ways.append(way)

    def _copy(self, node: Node, cost: int, way: list[tuple[list[Any], Node | None]]) -> None:
        states = []
        try:
            for kind in node.kinds:
                state = kind.take(node.thing)
                states.append(state)
                things = self._leading(kind.children(node.thing, state))
                if things:
                    way.append((things, node))
        except OutOfTime:
            self._budget.reserve(sum(kind.cost(node.thing) for kind in node.kinds))
            self._leave(node, "no time left")
        except Exception:  # noqa: BLE001 -- likewise
            node.gap = "can't be copied"
        else:
            node.states = states
            self._budget.charge(cost + _NODE)

    def _leading(self, things: Sequence[object]) -> list[Any]:
        """Those of these objects that may change, or lead to what may; in a list that nothing else has."""
        types = set(map(id, map(type, things)))
        types -= self._layouts.fixed
        return [thing for thing in things if id(type(thing)) in types] if types else []

    def _leave(self, node: Node, reason: Reason) -> None:
        node.gap = reason
        if self._sampled < _MOST_SAMPLES:
            self._sampled += 1
            node.samples = sampled(node)

    def _give_up(self) -> None:
        full = self._budget.full
        for _, _, node in sorted(self._aside, key=lambda one: one[:2]):
            try:
                cost, items = self._size(node)
            except Exception:  # noqa: BLE001 -- as above
                cost = items = 0
            reason = "too large" if full else self._budget.lacking(cost, items) or "no time left"
            if reason == "no time left":
                self._budget.reserve(cost)
            self._leave(node, reason)
        for way in self._ways:
            for things, parent in way:
                left = (parent or self.nodes[id(things[0])]) if things else None
                if left is not None and left.gap is None:
                    self._leave(left, "too large" if full else "no time left")


def sampled(node: Node) -> list[object]:
    """A small part of an object's state; what can't be had is left out."""
    samples: list[object] = []
    for kind in node.kinds:
        try:
            samples.append(kind.sample(node.thing))
        except Exception:  # noqa: BLE001 -- nothing is lost without it
            samples.append(None)
    return samples
