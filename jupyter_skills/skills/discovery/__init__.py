"""Finding a skill by its name: the first of a name wins, in the order of ``roots``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from jupyter_skills.errors import InvalidSkill, SkillNotFound
from jupyter_skills.skills.discovery.index import MOST_FOLDERS, SkillIndex
from jupyter_skills.skills.discovery.roots import roots, source_of
from jupyter_skills.skills.files import ARCHIVE_SUFFIXES
from jupyter_skills.skills.manifest import MANIFEST, located, manifest_of
from jupyter_skills.skills.places import expanded, working_folder
from jupyter_skills.skills.rules import normalized
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source

STORED = "store:"
"""What a reference to a skill of the store begins with; see ``store/finding.py``, which looks there too."""

_index = SkillIndex()


@dataclass(frozen=True)
class Found:
    """One folder that holds a SKILL.md, or one stored skill.

    Args:
        name: The skill's name; its folder's name where the skill can't be read.
        source: Where it was found.
        folder: The folder; empty for a stored skill.
        skill: The skill, or None where it can't be read.
        problem: Why it can't be read, or why another of the same name is used instead; empty when all is well.
        remedy: What to do about it, if anything.
    """

    name: str
    source: Source
    folder: str
    skill: Skill | None
    problem: str = ""
    remedy: str = ""

    @property
    def usable(self) -> bool:
        """Whether its name stands for it."""
        return self.skill is not None and not self.problem

    def as_json(self) -> dict[str, str]:
        """What there is to list of it, for ``json.dumps``."""
        return {
            "name": self.name,
            "description": self.skill.description if self.skill else "",
            "source": str(self.source),
            "folder": self.folder,
            "problem": self.problem,
        }


def discover(start: Path | None = None, index: SkillIndex | None = None) -> list[Found]:
    """All skills that can be loaded by name, in order of precedence, with the broken and the shadowed ones.

    Args:
        start: The notebook's folder; the working folder if not given.
        index: Remembers what was read; one for the whole process if not given.
    """
    index = index or _index
    found: list[Found] = []
    taken: dict[str, str] = {}
    met: set[str] = set()
    for root in roots(start or working_folder()):
        seen, complete = index.look(root)
        for entry in seen:
            if entry.real in met:  # another name for a folder that is listed already
                continue
            met.add(entry.real)
            if entry.error is not None:
                name, error = os.path.basename(entry.folder), entry.error
                found.append(Found(name, root.source, entry.folder, None, error.message, error.next_step))
            if entry.skill is None:
                continue
            name = entry.skill.name
            problem = f"shadowed by the one in {taken[name]}" if name in taken else ""
            taken.setdefault(name, entry.folder)
            found.append(Found(name, root.source, entry.folder, entry.skill, problem))
        if not complete:
            problem = f"of more than {MOST_FOLDERS:,} folders only that many were looked at"
            found.append(Found(root.folder.name, root.source, str(root.folder), None, problem))
    return found


def resolve(reference: str, start: Path | None = None) -> Skill:
    """The skill that a user means by a word: a path to a folder or an archive, or a name that can be discovered.

    Raises:
        SkillNotFound: Nothing is called so.
        InvalidArchive: It is an archive that can't be taken.
        InvalidSkill: There is something, but it is no usable skill.
    """
    start = start or working_folder()
    if reference.startswith(STORED):
        raise SkillNotFound(f"There is no store to get '{reference}' from", "Give a skill's name, folder or archive")
    if reference.lower().endswith(ARCHIVE_SUFFIXES) and not expanded(reference).is_dir():
        return Skill.from_zip(reference)
    if not may_be_name(reference) or _is_skill_folder(Path(reference)):
        return Skill.from_path(reference, source_of(located(reference), start))
    return named(reference, start)


def may_be_name(reference: str) -> bool:
    """Whether a word can be a skill's name; otherwise it is a path, or says which skill of the store is meant."""
    looks_like_path = any(mark in reference for mark in ("/", os.sep)) or reference.startswith(("~", "."))
    return not (looks_like_path or reference == MANIFEST or reference.startswith(STORED))


def named(name: str, start: Path | None = None) -> Skill:
    """The skill that a name stands for, or else that of a folder of that name.

    Raises:
        SkillNotFound: None is called so.
        InvalidSkill: There is one, but it is not usable.
    """
    available = discover(start)
    wanted = {name, normalized(name)}
    # A skill's own name comes first; but one whose name is unlike its folder's is often called by the latter.
    matching = [entry for entry in available if entry.name in wanted]
    matching += [entry for entry in available if entry.skill and os.path.basename(entry.folder) in wanted]
    for entry in matching:
        if entry.skill is not None:
            return entry.skill
    if matching:
        problem = matching[0]
        raise InvalidSkill(f"The skill '{name}' can't be loaded: {problem.problem}", problem.remedy)
    names = [entry.name for entry in available if entry.skill is not None]
    close = get_close_matches(name, names, n=1)
    hint = f"Did you mean '{close[0]}'?" if close else "See '%skill list --available', or give the path of its folder"
    raise SkillNotFound(f"There is no skill '{name}'", hint)


def _is_skill_folder(folder: Path) -> bool:
    try:
        return folder.is_dir() and manifest_of(folder) is not None
    except (OSError, SkillNotFound):
        return False
