"""A namespace before code runs, kept so that what the code does can be told and taken back."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jupyter_skills.execution.result import Change
from jupyter_skills.namespace.budget import Budget
from jupyter_skills.namespace.delta import Binding, Delta
from jupyter_skills.namespace.described import described
from jupyter_skills.namespace.difference import after_of, is_same_value, weight_of
from jupyter_skills.namespace.kind import MISSING
from jupyter_skills.namespace.marks import Marking
from jupyter_skills.namespace.reach import Reach, upwards
from jupyter_skills.namespace.restoring import Kept
from jupyter_skills.namespace.uncovered import Uncovered, uncovered
from jupyter_skills.namespace.walk import Node, Walk, sampled


class Snapshot:
    """What some names of a namespace stand for, and copies of what they reach, as far as a budget allowed.

    Made by ``take``. No code of the classes of what it copies is run.

    Args:
        before: The names, with what they stood for.
        roots: The same, with where the way to all they reach begins; None where nothing changes.
        nodes: All that they reach.
        seconds: How long it took.
        allowed: How many seconds it might have taken, with comparing.
        size: How many bytes the copies take.
    """

    def __init__(
        self,
        before: dict[str, Any],
        roots: dict[str, Node | None],
        nodes: list[Node],
        seconds: float,
        allowed: float,
        size: int,
    ) -> None:
        self._before, self._roots, self._nodes = before, roots, nodes
        self._told = {name: described(before[name]) for name, root in roots.items() if root is not None}
        self._allowed = allowed
        self.uncovered: tuple[Uncovered, ...] = uncovered(roots, nodes)
        self.seconds = seconds
        self.size = size

    @classmethod
    def take(cls, namespace: Mapping[str, Any], names: Iterable[str], *, seconds: float, memory: int) -> Snapshot:
        """Copies what these names stand for and reach.

        Args:
            namespace: What holds the names.
            names: Those to watch; such as it doesn't hold are passed over.
            seconds: How many seconds this and ``compare`` may take together.
            memory: How many bytes the copies may take.
        """
        before = {name: namespace[name] for name in names if name in namespace}
        with _undisturbed():
            budget = Budget(seconds, memory)
            walk = Walk(namespace, budget)
            roots = {name: walk.root(thing) for name, thing in before.items()}
            walk.go()
            snapshot = cls(before, roots, list(walk.nodes.values()), 0.0, seconds, budget.spent)
            snapshot.seconds = budget.elapsed
        return snapshot

    def compare(self, namespace: Mapping[str, Any], names: Iterable[str]) -> Delta:
        """What has changed since, with what gives it back; the snapshot may be dropped then.

        Args:
            namespace: The same namespace, after the code ran.
            names: The names to watch now; those that were watched before are compared anyway.
        """
        begin = time.perf_counter()
        with _undisturbed():
            until = begin + max(self._allowed - self.seconds, self._allowed / 5)
            changed, unchecked = self._changed_nodes(until)
            until = max(until, time.perf_counter() + self._allowed / 20)
            known = {id(node.thing) for node in self._nodes} if self._nodes else set()
            marking = Marking(namespace, known, until)
            bindings = self._bindings(namespace, names, changed, marking)
            delta = self._delta(bindings, changed, unchecked, marking)
        delta.seconds = self.seconds + time.perf_counter() - begin
        return delta

    def _changed_nodes(self, until: float) -> tuple[list[Node], list[Node]]:
        """The objects that are not what they were, and those that there was no time to compare."""
        changed: list[Node] = []
        unchecked: list[Node] = []
        # What can be compared at once comes first, then arrays and frames by their size.
        nodes = [node for node in self._nodes if not node.layout.is_bulk]
        nodes += sorted((node for node in self._nodes if node.layout.is_bulk), key=_effort)
        over = False
        for number, node in enumerate(nodes):
            if number % 32 == 0 or node.layout.is_bulk:
                over = over or time.perf_counter() > until
            if over:
                if node.states is not None:
                    unchecked.append(node)
            elif _has_changed(node):
                changed.append(node)
        return changed, unchecked

    def _bindings(
        self, namespace: Mapping[str, Any], names: Iterable[str], changed: list[Node], marking: Marking
    ) -> list[Binding]:
        mutated = upwards(changed)
        at_once = {id(node): node for node in changed}
        found = []
        for name, thing in self._before.items():
            root = self._roots[name]
            now, is_mutated = namespace.get(name, MISSING), root is not None and id(root) in mutated
            told = self._told.get(name) or described(thing)
            if now is MISSING:
                change = Change(name, "deleted", told)
            elif now is not thing:
                if is_same_value(now, thing):
                    continue
                change = Change(name, "rebound", told, described(now))
            elif is_mutated:
                assert root is not None
                change = Change(name, "mutated", told, after_of(root, told, id(root) in at_once))
            else:
                continue
            mark = marking.of(now) if change.kind == "rebound" else None
            found.append(Binding(change, thing, now, mark, is_mutated=is_mutated))
        new = [name for name in names if name not in self._before and name in namespace]
        added = (Change(name, "added", "", described(namespace[name])) for name in new)
        for change in added:
            now = namespace[change.name]
            found.append(Binding(change, MISSING, now, marking.of(now)))
        return found

    def _delta(self, bindings: list[Binding], changed: list[Node], unchecked: list[Node], marking: Marking) -> Delta:
        kept = [node for node in (*changed, *unchecked) if node.states is not None]
        gaps = upwards(node for node in self._nodes if node.gap is not None)
        closed = [node for node, _ in gaps.values() if node.layout.is_whole]
        contents = [
            Kept.of(node.thing, node.kinds, node.states or (), node.layout.owner, marking.of(node.thing))
            for node in kept
        ]
        old = [one.change.name for one in bindings if one.change.kind in ("rebound", "deleted")]
        size = sum(one.size for one in contents) + sum(one.size for one in bindings)
        size += weight_of([self._roots[name] or self._before[name] for name in old], self._nodes)
        return Delta(
            [*bindings, *self._unseen(bindings, unchecked)],
            contents,
            Reach.of(self._roots, kept, closed),
            self.uncovered,
            size,
        )

    def _unseen(self, bindings: list[Binding], unchecked: list[Node]) -> list[Binding]:
        """The names of which it is not known whether they have changed."""
        waiting, seen = upwards(unchecked), {one.change.name for one in bindings}
        return [
            Binding(
                Change(name, "mutated", self._told[name]), self._before[name], self._before[name], None, is_seen=False
            )
            for name, root in self._roots.items()
            if root is not None and id(root) in waiting and name not in seen
        ]


def _has_changed(node: Node) -> bool:
    if node.states is None:
        return bool(node.samples) and sampled(node) != node.samples
    if type(node.thing) is not node.layout.owner:
        return True
    try:
        for kind, state in zip(node.layout.kinds, node.states, strict=True):
            if not kind.same(node.thing, state):
                return True
    except Exception:  # noqa: BLE001 -- an object that can't be looked at any more is not what it was
        return True
    return False


def _effort(node: Node) -> int:
    try:
        return sum(kind.weight(node.thing) for kind in node.kinds if kind.charges)
    except Exception:  # noqa: BLE001 -- what the code has left of it
        return 0


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the garbage collector, which would go through all that is made here again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
