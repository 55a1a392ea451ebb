"""Methods of objects that are led elsewhere for a while."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

_MISSING = object()


class Patches:
    """Attributes that have another value until ``undo``. What others have put over it meanwhile stays theirs."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, object, object]] = []

    def put(self, owner: object, name: str, value: object) -> None:
        """Gives an attribute of one object another value; of one that takes none, all stays as it is."""
        with suppress(AttributeError, TypeError):
            before = vars(owner).get(name, _MISSING)
            setattr(owner, name, value)
            self._made.append((owner, name, value, before))

    def undo(self) -> None:
        """Takes all of them back, the last one first."""
        while self._made:
            owner, name, value, before = self._made.pop()
            if vars(owner).get(name, _MISSING) is not value:
                continue
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
