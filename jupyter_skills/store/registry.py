"""The skills in force in one kernel: in memory, and in the store's rows where there is a store and a kernel id."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from jupyter_skills.errors import SkillNotFound, SkillProblem, StoreBroken, StoreProblem, StoreUnreachable
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import BrokenSkill, Kernel, LoadedSkill
from jupyter_skills.store.location import has_store

if TYPE_CHECKING:
    from jupyter_skills.store.entries import Entries, Entry


class Registry:
    """The skills in force in one kernel, in the order they were loaded.

    In memory when it is made without a kernel. With one, every change is written to the store's rows of that kernel,
    and every look reads them first, so that the server and the command line see and change the same list. Where the
    store fails, all goes on in memory, and what was changed meanwhile is written when it is back.

    Args:
        kernel: Whose skills.
        tell: Called with one line, once, if the store can't be used.
        pause: How long a store that failed is left alone, in seconds.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        tell: Callable[[str], None] | None = None,
        pause: float = 30.0,
    ) -> None:
        self._kernel = kernel
        self._tell = tell
        self._pause = pause
        self._lock = threading.RLock()  # Tab completion looks from a thread
        self._loaded: dict[str, LoadedSkill] = {}
        self._broken: dict[str, BrokenSkill] = {}
        self._rows: dict[str, Entry] = {}
        self._entries: Entries | None = None
        self._unwritten: dict[str, LoadedSkill | None] = {}
        self._unwritable: set[str] = set()
        self._again_at = 0.0
        self._restored: list[str] | None = None

    def __iter__(self) -> Iterator[LoadedSkill]:
        self.pull()
        return iter(tuple(self._loaded.values()))

    def __len__(self) -> int:
        self.pull()
        return len(self._loaded)

    def __contains__(self, name: object) -> bool:
        self.pull()
        return name in self._loaded

    @property
    def names(self) -> list[str]:
        """The names as they were last seen, the broken ones too; asks no database."""
        return [*self._loaded, *self._broken]

    @property
    def broken(self) -> list[BrokenSkill]:
        """Those that are in force by name only: their folder is gone, or the store has them no more."""
        self.pull()
        return list(self._broken.values())

    def restored(self) -> list[str]:
        """The names that were in force before this process looked for the first time; told once, then empty."""
        self.pull()
        names, self._restored = self._restored or [], [] if self._restored is not None else None
        return [name for name in names if name in self._loaded]

    def load(self, skill: Skill, *, pinned: bool = False, run: str = "") -> LoadedSkill:
        """Puts a skill in force; one of the same name is replaced, and keeps its place in the order."""
        with self._lock:
            self.pull()
            entry = LoadedSkill(skill, pinned, run)
            self._loaded = {**self._loaded, skill.name: entry}
            self._broken.pop(skill.name, None)
            self._write({skill.name: entry})
        return entry

    def refreshed(self, names: Iterable[str] | None = None) -> tuple[list[LoadedSkill], list[SkillProblem]]:
        """Reads skills again, so that what was changed in their folders since is seen.

        Args:
            names: Which ones; all if not given.

        Returns:
            The skills as they are now; and what is wrong with those that can't be read any more, which stay in
            force as they were, but are not among the former.

        Raises:
            SkillNotFound: No skill of one of the names is in force.
        """
        fresh: list[LoadedSkill] = []
        problems: list[SkillProblem] = []
        with self._lock:
            self.pull()
            for name in list(self.names if names is None else names):
                try:
                    if name in self._broken:
                        raise self._broken[name].problem
                    entry = self._known(name)
                    entry = replace(entry, skill=entry.skill.refreshed())
                except SkillProblem as error:
                    if name not in self.names:
                        raise
                    step = f"Mend it, or take it out of force: '%skill unload {name}'"
                    problems.append(type(error)(f"The skill '{name}' is left out: {error.message}", step))
                else:
                    self._loaded = {**self._loaded, name: entry}
                    fresh.append(entry)
        return fresh, problems

    def get(self, name: str) -> LoadedSkill:
        """A skill in force.

        Raises:
            SkillNotFound: No skill of that name is in force.
        """
        self.pull()
        return self._known(name)

    def unload(self, name: str) -> None:
        """Takes a skill out of force.

        Raises:
            SkillNotFound: No skill of that name is in force.
        """
        with self._lock:
            self.pull()
            if name not in self._broken:
                self._known(name)
            self._forget([name])

    def clear(self) -> None:
        """Takes all skills out of force."""
        with self._lock:
            self.pull()
            self._forget(self.names)

    def pull(self) -> None:
        """Sees what others have changed: called before every look, and cheap."""
        self._sync(make=False)

    def _sync(self, *, make: bool) -> None:
        """Writes and reads. A store that isn't there is made only when something is to be written now."""
        if self._kernel is None:
            return
        with self._lock:
            if time.monotonic() < self._again_at:
                return
            try:
                try:
                    self._exchange(make)
                except StoreBroken as error:  # it may have been put aside; then the next use makes another
                    self._lost(error)
                    self._exchange(make)
            except StoreProblem as error:
                self._again_at = time.monotonic() + self._pause
                self._say(error)

    def _known(self, name: str) -> LoadedSkill:
        if name not in self._loaded:
            close = get_close_matches(name, self.names, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else "See '%skill list' for those that are"
            raise SkillNotFound(f"No skill '{name}' is loaded", hint)
        return self._loaded[name]

    def _forget(self, names: list[str]) -> None:
        self._loaded = {name: entry for name, entry in self._loaded.items() if name not in names}
        self._broken = {name: entry for name, entry in self._broken.items() if name not in names}
        self._write(dict.fromkeys(names))

    def _write(self, changes: dict[str, LoadedSkill | None]) -> None:
        self._unwritable -= changes.keys()
        if self._kernel is not None and changes:
            self._unwritten |= changes
            self._sync(make=True)

    def _exchange(self, make: bool) -> None:
        assert self._kernel is not None
        if self._entries is not None and self._entries.replaced():
            self._lost(StoreUnreachable("The store's file was taken away", "The next '%skill load' makes another"))
        if self._entries is None:
            if not (make or has_store()):
                return
            from jupyter_skills.store.kernels import entries_of  # with SQLAlchemy

            self._entries = entries_of(self._kernel)
        self._adopt(self._entries.exchange(self._changes()))
        self._unwritten.clear()

    def _changes(self) -> dict[str, Entry | None]:
        """What is to be written; what can't be is set aside, and stays in memory."""
        from jupyter_skills.store.entries import Entry

        changes: dict[str, Entry | None] = {}
        for name in sorted(self._unwritten, key=list(self._loaded | self._unwritten).index):
            entry = self._unwritten[name]
            try:
                changes[name] = Entry.of(name, entry) if entry else None
            except SkillProblem:  # no archive of it could be unpacked everywhere
                self._unwritable.add(name)
                changes[name] = None
        return changes

    def _adopt(self, rows: list[Entry]) -> None:
        assert self._entries is not None
        loaded: dict[str, LoadedSkill] = {}
        broken: dict[str, BrokenSkill] = {}
        fresh = [row.name for row in rows if row.name not in self._loaded]
        for row in rows:
            name, there = row.name, self._loaded.get(row.name)
            own = there is not None and (name in self._unwritten or row.same_place(self._rows.get(name)))
            try:
                skill = there.skill if there is not None and own else self._entries.opened(row)
                loaded[name] = LoadedSkill(skill, row.pinned, row.run)
            except SkillProblem as error:
                broken[name] = BrokenSkill(name, error, row.pinned, row.run, row.place)
        loaded |= {name: entry for name, entry in self._loaded.items() if name in self._unwritable}
        self._loaded, self._broken = loaded, broken
        self._rows = {row.name: row for row in rows}
        if self._restored is None:
            self._restored = fresh

    def _lost(self, error: StoreProblem) -> None:
        """Begins anew with another store, which gets all that is in force here."""
        self._say(error)
        if self._entries is not None:
            self._entries.close()
        self._entries, self._rows = None, {}
        self._unwritten = {**self._loaded, **self._unwritten}

    def _say(self, error: StoreProblem) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(f"This kernel keeps its list of skills to itself for now. {error}")
