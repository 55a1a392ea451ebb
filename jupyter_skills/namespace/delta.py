"""What code changed in a namespace, and what gives it back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jupyter_skills.execution.result import Change
from jupyter_skills.namespace.described import described
from jupyter_skills.namespace.holding import Hold
from jupyter_skills.namespace.kind import MISSING
from jupyter_skills.namespace.marks import Mark
from jupyter_skills.namespace.reach import Reach
from jupyter_skills.namespace.restoring import Kept, give_back
from jupyter_skills.namespace.uncovered import Uncovered

_ELSEWHERE = "it has been assigned anew since"
_CHANGED = "it has been changed since"


class Left(NamedTuple):
    """A variable that was not given back, or not wholly.

    Args:
        name: Its name.
        reason: Why, as a clause.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class Undone:
    """What became of giving back.

    Args:
        given_back: The changes that were taken back, in the order in which they are listed in ``Delta.changes``.
        left: The variables that are not, or not wholly, what they were.
        again: Those of ``given_back`` that had been changed since the code ran, which is lost now: only if forced.
    """

    given_back: tuple[Change, ...]
    left: tuple[Left, ...]
    again: tuple[str, ...] = ()


class Binding:
    """What a name stood for before code ran, and after.

    Args:
        change: What became of the name.
        before: The object before; ``MISSING`` for none.
        after: Likewise after. It is not kept alive where that can be avoided.
        mark: How the code left the object after; None if that is not known.
        is_seen: Whether it is known to have changed.
        is_mutated: Whether what the name stood for is known to hold something else now.
    """

    def __init__(
        self,
        change: Change,
        before: Any,
        after: Any,
        mark: Mark | None,
        *,
        is_seen: bool = True,
        is_mutated: bool = False,
    ) -> None:
        self.change = change
        self.before = before
        self._after = None if after is before else Hold(after)
        self._mark = mark
        self.is_seen = is_seen
        self.is_mutated = is_mutated

    def is_as_left(self, now: Any) -> bool:
        """Whether the name stands for what the code left, or is what it was already."""
        return now is self.before or (self._after is not None and self._after.is_it(now))

    def has_changed(self, now: Any) -> bool:
        """Whether what the code left, and the name still stands for, has changed since."""
        if self._mark is None or now is self.before or self._after is None or not self._after.is_it(now):
            return False
        return not self._mark.holds(now)

    @property
    def size(self) -> int:
        """About how many bytes it keeps alive, other than of the object before."""
        return self._after.size if self._after is not None else 0


class Delta:
    """What code changed in a namespace, and all that it takes to give that back.

    Args:
        bindings: The names that changed, and those that may have.
        contents: The objects that changed, or may have, with what they held.
        reach: Which name reaches which of them.
        uncovered: The names whose contents could not be given back.
        size: How many bytes it keeps alive.
    """

    def __init__(
        self,
        bindings: Sequence[Binding],
        contents: Sequence[Kept],
        reach: Reach,
        uncovered: tuple[Uncovered, ...],
        size: int,
    ) -> None:
        self._bindings = {one.change.name: one for one in bindings}
        self._contents = dict(zip(reach.places, contents, strict=True))
        self._reach = reach
        self.changes: tuple[Change, ...] = tuple(one.change for one in bindings if one.is_seen)
        self.unchecked: tuple[str, ...] = tuple(one.change.name for one in bindings if not one.is_seen)
        """Names that there was no time to compare; they are given back all the same."""
        self.uncovered = uncovered
        self.seconds = 0.0
        self.size = size

    def undo(self, namespace: MutableMapping[str, Any], *, force: bool = False) -> Undone:
        """Gives back what can be given back; each name wholly or not at all.

        What was given back once is not given back again: a second call has to do with what the first one left.

        Args:
            namespace: The one that was compared.
            force: Whether also to overwrite what has been assigned or changed since, and to give back such parts as
                were copied of contents that were not copied wholly.
        """
        return _Undoing(self._bindings, self._contents, self._reach, self.uncovered, namespace, force).done()


class _Undoing:
    """One pass of giving back."""

    def __init__(
        self,
        bindings: dict[str, Binding],
        contents: dict[int, Kept],
        reach: Reach,
        uncovered: Iterable[Uncovered],
        namespace: MutableMapping[str, Any],
        force: bool,
    ) -> None:
        self._bindings, self._contents, self._reach = bindings, contents, reach
        self._places = frozenset(contents)
        self._gaps = {one.name: one for one in uncovered}
        self._namespace, self._force = namespace, force
        self._left: dict[str, str] = {}
        self._restored: set[str] = set()  # the names whose contents are given back
        self._again: set[str] = set()  # the names with what has changed since the code ran
        self._given_back: list[Change] = []
        self._told: dict[str, str] = {}

    def done(self) -> Undone:
        for name, binding in self._bindings.items():
            now = self._namespace.get(name, MISSING)
            if binding.has_changed(now):
                self._again.add(name)
            if not self._force and not binding.is_as_left(now):
                self._left[name] = _ELSEWHERE
            elif not self._force and name in self._again:
                self._left[name] = _CHANGED
        for group in self._reach.groups():
            self._give_back_contents(group)
        for name in list(self._bindings):
            self._give_back_name(name)
        order = [*(change.name for change in self._given_back), *self._left]
        left = tuple(Left(name, self._left[name]) for name in dict.fromkeys(order) if name in self._left)
        again = tuple(change.name for change in self._given_back if change.name in self._again)
        return Undone(tuple(self._given_back), left, again)

    def _give_back_contents(self, group: list[str]) -> None:
        """Gives back what names hold in common that are bound up with each other."""
        names = [name for name in group if name in self._bindings and name not in self._left and self._is_whole(name)]
        places = self._reach.reached(names)
        those = {place: kept for place, kept in self._contents.items() if place in places and kept.differs}
        again = {place for place, kept in those.items() if kept.has_changed_again}
        changed = [name for name in names if again and self._reach.reached([name]) & again]
        self._again.update(changed)
        if changed and not self._force:
            self._left.update(dict.fromkeys(changed, _CHANGED))
            names = [name for name in names if name not in self._left]
            places = self._reach.reached(names)
            those = {place: kept for place, kept in those.items() if place in places}
        self._told.update({name: described(self._bindings[name].before) for name in names})
        failure = give_back(those.values())
        if failure:
            self._left.update(dict.fromkeys(names, failure))
            return
        for name in names:
            # An object that is not among those may be as it was by now: an array, once a view of it was given back.
            mine = self._reach.reached([name]) & self._places
            if mine if self._bindings[name].is_seen else mine & those.keys():
                self._restored.add(name)
        for place in those:
            del self._contents[place]

    def _is_whole(self, name: str) -> bool:
        """Whether nothing of what a name reaches was too large to be copied, or came too late for it."""
        return self._force or name not in self._gaps or self._gaps[name].reason == "can't be copied"

    def _give_back_name(self, name: str) -> None:
        binding, now = self._bindings[name], self._namespace.get(name, MISSING)
        if name in self._left:
            return
        if binding.before is MISSING:
            if now is not MISSING:
                del self._namespace[name]
        elif now is not binding.before:
            self._namespace[name] = binding.before
        self._tell(name, binding, now is not binding.before)

    def _tell(self, name: str, binding: Binding, moved: bool) -> None:
        change, gap = binding.change, self._gaps.get(name)
        if not binding.is_seen:
            change = dataclasses.replace(change, after=self._told.get(name, ""))
        if change.kind == "mutated" and name not in self._restored and not moved:
            if binding.is_seen:
                self._left[name] = _why(gap)
            else:
                del self._bindings[name]
            return
        if moved or name in self._restored:
            self._given_back.append(change)
        if gap is not None and (binding.is_mutated or name in self._restored):
            self._left[name] = f"what could be copied of it is given back; {_why(gap)}"
        else:
            del self._bindings[name]


def _why(gap: Uncovered | None) -> str:
    if gap is None:
        return "it can't be given back"
    if gap.reason == "can't be copied":
        return f"{gap.what} can't be copied"
    return (
        f"{gap.what}: {'it was too large to be copied' if gap.reason == 'too large' else 'no time was left to copy it'}"
    )
