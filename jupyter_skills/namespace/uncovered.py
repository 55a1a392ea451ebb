"""The variables whose contents could not be given back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jupyter_skills.namespace.budget import Reason
from jupyter_skills.namespace.described import described
from jupyter_skills.namespace.reach import upwards
from jupyter_skills.namespace.walk import Node


class Uncovered(NamedTuple):
    """A variable whose contents could not be given back.

    Args:
        name: The variable's name.
        what: What it is that was not copied, such as ``ndarray, 8,000,000 x 16 float64, 1.0 GB``, itself or within the
            variable.
        reason: Why it was not.
    """

    name: str
    what: str
    reason: Reason


def uncovered(roots: Mapping[str, Node | None], nodes: Iterable[Node]) -> tuple[Uncovered, ...]:
    """All such variables, in the order of the names, each with the gravest reason.

    Args:
        roots: The names, with what they stand for.
        nodes: All objects that these reach, as far as they are known.
    """
    gaps = [node for node in nodes if node.gap is not None and not node.layout.is_silent]
    # What can't be copied is left out, and the rest given back; half of what would not fit would be worth nothing.
    gaps.sort(key=lambda node: node.gap == "can't be copied")
    found = upwards(gaps)
    listed = []
    for name, root in roots.items():
        if root is None or id(root) not in found:
            continue
        gap = found[id(root)][1]
        assert gap.gap is not None
        what = described(root.thing) if gap is root else f"{described(root.thing)}, with {described(gap.thing)}"
        listed.append(Uncovered(name, what, gap.gap))
    return tuple(listed)
