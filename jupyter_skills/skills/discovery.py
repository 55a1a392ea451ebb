"""Finding a skill by its name.

Folders are searched in this order, and the first skill of a name wins: the project's (from the working
folder up to the one that holds ``.git``), the user's, those of ``JUPYTER_SKILLS_PATH``, and those that
installed packages ship under the entry point group ``jupyter_skills.skills``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from jupyter_skills.errors import SkillNotFound, SkillProblem
from jupyter_skills.skills.skill import MANIFEST, Skill

ENTRY_POINT_GROUP = "jupyter_skills.skills"
_SKILL_FOLDERS = (".agents/skills", "_agents/skills", ".claude/skills", ".jupyter/skills")


@dataclass(frozen=True)
class Found:
    """One folder that holds a SKILL.md.

    Args:
        name: The skill's name; its folder's name where the skill can't be read.
        source: Where it was found: ``project``, ``user``, ``path`` or the name of a package.
        skill: The skill, or None where it can't be read.
        problem: Why it can't be read, or why another of the same name is used instead; empty when all is well.
    """

    name: str
    source: str
    skill: Skill | None
    problem: str = ""


def discover(start: Path | None = None) -> list[Found]:
    """All skills that can be loaded by name, in order of precedence, with the broken and the shadowed ones.

    Args:
        start: The folder to begin at; the working folder if not given.
    """
    found: list[Found] = []
    taken: dict[str, str] = {}
    for source, root in _roots(start or Path.cwd()):
        for folder in _skill_folders(root):
            try:
                skill = Skill.from_path(folder)
            except SkillProblem as error:
                found.append(Found(folder.name, source, None, str(error)))
                continue
            shadow = f"shadowed by the one in {taken[skill.name]}" if skill.name in taken else ""
            taken.setdefault(skill.name, str(folder))
            found.append(Found(skill.name, source, skill, shadow))
    return found


def resolve(reference: str, start: Path | None = None) -> Skill:
    """The skill that a user means by a word: a path, or the name of a skill that can be discovered.

    Raises:
        SkillNotFound: Nothing is called so.
        InvalidSkill: There is something, but it is no usable skill.
    """
    looks_like_path = any(mark in reference for mark in ("/", os.sep)) or reference.startswith(("~", "."))
    if looks_like_path or reference == MANIFEST or _is_skill_folder(Path(reference)):
        return Skill.from_path(reference)
    available = discover(start)
    for entry in available:
        if entry.name == reference and entry.skill is not None and not entry.problem:
            return entry.skill
    broken = next((entry for entry in available if entry.name == reference), None)
    if broken is not None:
        raise SkillNotFound(f"The skill '{reference}' can't be loaded: {broken.problem}", "Mend it, or load another")
    names = [entry.name for entry in available if entry.skill is not None]
    close = get_close_matches(reference, names, n=1)
    hint = f"Did you mean '{close[0]}'" if close else "See '%skill list --available', or give the path of its folder"
    raise SkillNotFound(f"There is no skill '{reference}'", hint)


def _roots(start: Path) -> Iterator[tuple[str, Path]]:
    for folder in _up_to_project_root(start.resolve()):
        for name in _SKILL_FOLDERS:
            yield "project", folder / name
    for name in _SKILL_FOLDERS:
        yield "user", Path.home() / name
    yield "user", Path(jupyter_data_dir()) / "skills"
    for entry in filter(None, os.environ.get("JUPYTER_SKILLS_PATH", "").split(os.pathsep)):
        yield "path", Path(entry).expanduser()
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        try:
            spec = find_spec(point.value)
        except ImportError:  # the package above it is broken or gone; that is no reason to hide other skills
            continue
        for location in (spec.submodule_search_locations or ()) if spec else ():
            yield (point.dist.name if point.dist else point.name), Path(location)


def _up_to_project_root(start: Path) -> list[Path]:
    folders = [start, *start.parents]
    root = next((i for i, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    # The home folder is the user's, not a project's: a repository there would make every notebook its part.
    return [folder for folder in folders[: root + 1] if folder != Path.home()]


def _skill_folders(root: Path) -> list[Path]:
    try:
        return sorted(folder for folder in root.iterdir() if _is_skill_folder(folder))
    except OSError:
        return []


def _is_skill_folder(folder: Path) -> bool:
    try:
        return any((folder / name).is_file() for name in (MANIFEST, MANIFEST.lower()))
    except OSError:
        return False
