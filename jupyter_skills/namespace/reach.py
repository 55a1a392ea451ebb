"""Which names reach which objects, without keeping any of these alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jupyter_skills.namespace.walk import Node


def upwards(starts: Iterable[Node]) -> dict[int, tuple[Node, Node]]:
    """All that reaches some objects: by its id, the node and the one of the objects it reaches that was given first."""
    found: dict[int, tuple[Node, Node]] = {}
    for start in starts:
        if id(start) in found:
            continue
        found[id(start)] = start, start
        todo = [start]
        while todo:
            for parent in todo.pop().parents:
                if id(parent) not in found:
                    found[id(parent)] = parent, start
                    todo.append(parent)
    return found


@dataclass(frozen=True)
class Reach:
    """The ways from names to the objects that have changed, by number.

    Args:
        roots: Where each name's way begins.
        ways: Where each object leads, as far as that is on a way to one that has changed.
        closed: Objects that are not given back, with all that only they reach.
        places: The numbers of those that have changed, in the order in which these were given.
    """

    roots: Mapping[str, int]
    ways: Mapping[int, tuple[int, ...]]
    closed: frozenset[int]
    places: tuple[int, ...]

    @classmethod
    def of(cls, roots: Mapping[str, Node | None], changed: Iterable[Node], closed: Iterable[Node]) -> Reach:
        """The ways from these names to these objects."""
        changed = list(changed)
        above = upwards(changed)
        numbers = {key: number for number, key in enumerate(above)}
        ways: dict[int, list[int]] = {}
        for key, (node, _) in above.items():
            for parent in node.parents:
                ways.setdefault(numbers[id(parent)], []).append(numbers[key])
        return cls(
            {name: numbers[id(node)] for name, node in roots.items() if node is not None and id(node) in numbers},
            {number: tuple(those) for number, those in ways.items()},
            frozenset(numbers[id(node)] for node in closed if id(node) in numbers),
            tuple(numbers[id(node)] for node in changed),
        )

    def reached(self, names: Iterable[str], through_closed: bool = False) -> set[int]:
        """The numbers of all objects on the ways from some names."""
        todo = [self.roots[name] for name in names if name in self.roots]
        found: set[int] = set()
        while todo:
            number = todo.pop()
            if number in found or (number in self.closed and not through_closed):
                continue
            found.add(number)
            todo.extend(self.ways.get(number, ()))
        return found

    def groups(self) -> list[list[str]]:
        """The names, with those together that share an object on their ways."""
        names = list(self.roots)
        joined = list(range(len(names)))  # each name leads to another of its group, the last one to itself
        owner: dict[int, int] = {}
        for number, name in enumerate(names):
            todo = [self.roots[name]]
            while todo:
                place = todo.pop()
                if place not in owner:
                    owner[place] = number
                    todo.extend(self.ways.get(place, ()))
                elif owner[place] != number:
                    joined[_last(joined, owner[place])] = _last(joined, number)
        groups: dict[int, list[str]] = {}
        for number, name in enumerate(names):
            groups.setdefault(_last(joined, number), []).append(name)
        return list(groups.values())


def _last(joined: list[int], number: int) -> int:
    while joined[number] != number:
        joined[number] = number = joined[joined[number]]
    return number
