"""Giving objects back what they held: all of some, or nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_skills.namespace.described import type_name
from jupyter_skills.namespace.kind import Kind, Uncopyable
from jupyter_skills.namespace.marks import Mark


@dataclass(frozen=True)
class Kept:
    """An object, and what it held before code ran.

    Args:
        thing: The object.
        kinds: What its states are of.
        states: They, one for each.
        owner: Its class.
        mark: How the code left it; None if that is not known.
        size: About how many bytes the states take.
    """

    thing: Any
    kinds: Sequence[Kind]
    states: Sequence[Any]
    owner: type
    mark: Mark | None
    size: int

    @classmethod
    def of(cls, thing: Any, kinds: Sequence[Kind], states: Sequence[Any], owner: type, mark: Mark | None) -> Kept:
        """An object with its states."""
        size = sum(kind.size(state) for kind, state in zip(kinds, states, strict=True))
        return cls(thing, kinds, states, owner, mark, size)

    @property
    def differs(self) -> bool:
        """Whether it holds something else now."""
        if type(self.thing) is not self.owner:
            return True
        try:
            return not all(kind.same(self.thing, state) for kind, state in zip(self.kinds, self.states, strict=True))
        except Exception:  # noqa: BLE001 -- what can't be looked at any more is not what it was
            return True

    @property
    def has_changed_again(self) -> bool:
        """Whether it has changed since the code ran, as far as can be told."""
        return self.mark is not None and not self.mark.holds(self.thing)


def give_back(those: Iterable[Kept]) -> str:
    """Puts back what these objects held, or leaves all of them as they are.

    Returns:
        Why it could not be done; empty if it was.
    """
    those = list(those)
    # Once they are checked, arrays and frames can't fail; to be able to take them back would need one more copy.
    parts = sorted(
        (
            (kind.charges, number, kind, one.thing, state)
            for number, one in enumerate(those)
            for kind, state in zip(one.kinds, one.states, strict=True)
        ),
        key=lambda part: part[:2],
    )
    taken_back: list[tuple[Kind, Any, Any]] = []
    classes: list[tuple[Any, type]] = []
    try:
        for one in those:
            if type(one.thing) is not one.owner:
                before = type(one.thing)
                _set_class(one.thing, one.owner)
                classes.append((one.thing, before))
        for _, _, kind, thing, state in parts:
            kind.check(thing, state)
        for is_sure, _, kind, thing, state in parts:
            if not is_sure:
                taken_back.append((kind, thing, kind.take(thing)))
            kind.give_back(thing, state)
    except BaseException as error:
        for kind, thing, state in reversed(taken_back):
            with contextlib.suppress(Exception):
                kind.give_back(thing, state)
        for thing, owner in reversed(classes):
            with contextlib.suppress(Exception):
                _set_class(thing, owner)
        if not isinstance(error, Exception):
            raise
        return str(error) if isinstance(error, Uncopyable) else f"giving it back raised {type_name(type(error))}"
    return ""


def _set_class(thing: Any, owner: type) -> None:
    try:
        object.__dict__["__class__"].__set__(thing, owner)
    except TypeError:
        raise Uncopyable("it is of another class now, which can't be given back") from None
