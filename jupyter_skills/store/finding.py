"""Finding skills by a word: in folders first, and then in the store. No store is made by looking for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_skills.errors import SkillNotFound, StoreProblem
from jupyter_skills.skills import discovery
from jupyter_skills.skills.discovery import STORED, Found, discover, may_be_name
from jupyter_skills.skills.files import MemoryFiles
from jupyter_skills.skills.rules import normalized
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source
from jupyter_skills.store.location import has_store

if TYPE_CHECKING:  # SQLAlchemy is imported when there is a store to ask
    from sqlalchemy.engine import Connection, RowMapping

    from jupyter_skills.store.records import StoredSkill
    from jupyter_skills.store.store import SkillStore

_ID = "skill_"
_PAGE = 1000
_MOST_HITS = 50
_REMEMBERED = 5.0  # seconds


def resolve(reference: str, start: Path | None = None, store: SkillStore | None = None) -> Skill:
    """The skill that a user means by a word: see ``discovery.resolve``, and what the store has besides.

    Args:
        reference: A path, an archive, a name, ``store:ID[@VERSION]`` or ``store:NAME[@VERSION]``.
        start: The notebook's folder; the working folder if not given.
        store: Which store, and whose view of it; the environment's and the user's own if not given.

    Raises:
        SkillNotFound: Nothing is called so.
        InvalidArchive: It is an archive that can't be taken.
        InvalidSkill: There is something, but it is no usable skill.
        StoreProblem: The store is asked for, and can't be used.
    """
    if reference.startswith(STORED):
        return stored(reference, store)
    try:
        return discovery.resolve(reference, start)
    except SkillNotFound as error:
        if not may_be_name(reference):
            raise
        return _in_the_store(reference, error, store)


def named(name: str, start: Path | None = None, store: SkillStore | None = None) -> Skill:
    """The skill that a name stands for, or that ``store:…`` does, but never one that a path leads to; see ``resolve``.

    Raises:
        SkillProblem: See ``resolve``.
        StoreProblem: See ``resolve``.
    """
    if name.startswith(STORED):
        return stored(name, store)
    try:
        return discovery.named(name, start)
    except SkillNotFound as error:
        return _in_the_store(name, error, store)


def stored(reference: str, store: SkillStore | None = None) -> Skill:
    """A stored skill by ``store:ID[@VERSION]`` or ``store:NAME[@VERSION]``.

    Args:
        reference: Which one; its default version if none is named, ``latest`` for the newest.
        store: See ``resolve``.

    Raises:
        SkillNotFound: The user sees no such skill, or it has no such version.
        StoreProblem: The store can't be used.
    """
    word, _, version = reference.removeprefix(STORED).partition("@")
    if store is None and not has_store():
        raise SkillNotFound(
            f"There is no store yet to get '{reference}' from", "Give a skill's name, folder or archive"
        )
    from jupyter_skills.store import blobs, rows
    from jupyter_skills.store.store import opened

    if not word.isprintable():  # no database could be asked for it
        raise SkillNotFound(f"The store has no skill '{word}'", "See the list of skills for those it has")
    store = store or _own_store()
    user = store.user

    def read(connection: Connection) -> tuple[RowMapping, bytes | None]:
        row = (rows.skill_row if word.startswith(_ID) else rows.named)(connection, user, word)
        found = rows.version_row(connection, row, version or None)
        return found, blobs.content(connection, found["archive"])

    row, content = store.database.read(read)
    assert content is not None, "a foreign key keeps the archives of versions"
    return opened(content, rows.skill_version(row))


def available(start: Path | None = None, store: SkillStore | None = None) -> list[Found]:
    """All skills that can be loaded by name: those of folders, then the user's stored ones, then shared ones of others.

    Broken and shadowed ones are among them, and, where the store can't be used, one that says why. Of stored skills
    this tells name, description and source only; ``resolve`` gives the whole.

    Args:
        start: See ``resolve``.
        store: See ``resolve``.
    """
    found = discover(start)
    if store is None and not has_store():
        return found
    taken = {entry.name: f"the one in {entry.folder}" for entry in reversed(found) if entry.usable}
    try:
        store = store or _own_store()
        for record in _listed(store):
            problem = f"shadowed by {taken[record.name]}" if record.name in taken else ""
            whose = "your own" if record.owner == store.user else f"the one of {record.owner}"
            taken.setdefault(record.name, f"{whose}, {STORED}{record.id}")
            source = Source("store", f"{record.id}@{record.default_version}")
            found.append(Found(record.name, source, "", _outline(record, source), problem))
    except StoreProblem as error:
        found.append(Found("store", Source("store"), "", None, error.message, error.next_step))
    return found


def candidates(
    words: str, start: Path | None = None, store: SkillStore | None = None
) -> tuple[list[Skill], StoreProblem | None]:
    """The skills to look through for words: all that lie in folders, and the stored ones that fit best.

    What is wrong with the store, if it can't be used, is told beside those of the folders.

    Args:
        words: What is looked for.
        start: See ``resolve``.
        store: See ``resolve``.
    """
    skills = {found.name: found.skill for found in discover(start) if found.skill and found.usable}
    if store is not None or has_store():
        try:
            for skill in _fitting(words, store or _own_store()):
                skills.setdefault(skill.name, skill)
        except StoreProblem as error:
            return list(skills.values()), error
    return list(skills.values()), None


class Remembered:
    """The names of stored skills for Tab completion, which must not wait for a database that does not answer.

    Args:
        ask: Called on a thread of its own for the names.
        patience: How long to wait for an answer, in seconds.
    """

    def __init__(self, ask: Callable[[], Iterable[str]], patience: float) -> None:
        self._ask = ask
        self._patience = patience
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._good_until = 0.0
        self._asking: threading.Event | None = None

    def get(self) -> list[str]:
        """The names as they were a few seconds ago at most; without an answer, as they were last known."""
        with self._lock:
            if time.monotonic() < self._good_until:
                return self._names
            answered = self._asking
            if answered is None:
                answered = self._asking = threading.Event()
                threading.Thread(target=self._fill, args=(answered,), daemon=True).start()
        answered.wait(self._patience)
        return self._names

    def _fill(self, answered: threading.Event) -> None:
        try:
            self._names = list(self._ask())
        except StoreProblem:
            self._names = []
        finally:
            with self._lock:
                self._good_until, self._asking = time.monotonic() + _REMEMBERED, None
            answered.set()


def stored_names() -> list[str]:
    """The names of all stored skills that the user sees.

    Raises:
        StoreProblem: The store can't be used.
    """
    return list(dict.fromkeys(record.name for record in _listed(_own_store()))) if has_store() else []


def _own_store() -> SkillStore:
    from jupyter_skills.store.store import SkillStore

    return SkillStore()


def _in_the_store(name: str, not_in_folders: SkillNotFound, store: SkillStore | None) -> Skill:
    if store is None and not has_store():
        raise not_in_folders
    for word in dict.fromkeys((name, normalized(name))):
        try:
            return stored(f"{STORED}{word}", store)
        except SkillNotFound:
            continue
        except StoreProblem as error:
            raise SkillNotFound(
                f"{not_in_folders.message} in a folder, and the store can't be asked: {error.message}", error.next_step
            ) from None
    if not not_in_folders.next_step.startswith("Did you mean"):
        names = [record.name for record in _listed(store or _own_store())]
        if close := get_close_matches(name, names, n=1):
            raise SkillNotFound(not_in_folders.message, f"Did you mean '{close[0]}'?") from None
    raise not_in_folders


def _listed(store: SkillStore) -> list[StoredSkill]:
    """All that the user sees and that can be loaded: own ones first, then others in the order they were shared."""
    from jupyter_skills.store import rows

    def read(connection: Connection) -> list[StoredSkill]:
        records: list[StoredSkill] = []
        after: str | None = None
        while True:
            page = rows.skill_page(connection, store.user, limit=_PAGE, after=after, order="asc")
            records += page.items
            after = page.cursor
            if after is None:
                return records

    records = [record for record in store.database.read(read) if record.default_version is not None]
    return sorted(records, key=lambda record: record.owner != store.user)


def _fitting(words: str, store: SkillStore) -> list[Skill]:
    from jupyter_skills.store import rows

    def read(connection: Connection) -> list[StoredSkill]:
        hits = rows.search(connection, store.user, words, _MOST_HITS)
        return [rows.stored_skill(rows.skill_row(connection, store.user, hit.skill.id)) for hit in hits]

    records = [record for record in store.database.read(read) if record.default_version is not None]
    records.sort(key=lambda record: record.owner != store.user)
    return [_outline(record, Source("store", f"{record.id}@{record.default_version}")) for record in records]


def _outline(record: StoredSkill, source: Source) -> Skill:
    """What the store's list says of a skill, without its files."""
    return Skill(record.name, record.description, record.instructions or "", MemoryFiles({}), source)
