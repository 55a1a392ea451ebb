"""The folders in which skills are looked for, in order of precedence."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from jupyter_skills.skills.source import FOLDER, Source

ENTRY_POINT_GROUP = "jupyter_skills.skills"
SKILL_FOLDERS = (".agents/skills", "_agents/skills", ".claude/skills", ".jupyter/skills")
_PROJECT_MARKS = (".git", ".hg", ".jj")


@dataclass(frozen=True)
class Root:
    """A folder whose subfolders may be skills.

    Args:
        source: What a skill found there is said to come from.
        folder: The folder, which need not exist.
    """

    source: Source
    folder: Path


def roots(start: Path) -> list[Root]:
    """The project's folders from ``start`` upwards, the user's, those of ``JUPYTER_SKILLS_PATH``, those of packages.

    Args:
        start: The notebook's folder.
    """
    return [*_project(start), *_user(), *_environment(), *_packages(start)]


def source_of(folder: Path, start: Path) -> Source:
    """What a skill that is loaded by its path comes from; a folder in the project is the project's wherever it is."""
    real = folder.resolve()
    for root in roots(start):
        if real.is_relative_to(root.folder.resolve()):
            return root.source
    inside = any(real.is_relative_to(top) for top in project_folders(start)[-1:])
    return Source("project") if inside else FOLDER


def project_folders(start: Path) -> list[Path]:
    """The folders from ``start`` up to the root of its project; without a project only ``start``."""
    folders = [start.resolve(), *start.resolve().parents]
    marked = (i for i, folder in enumerate(folders) if any((folder / mark).exists() for mark in _PROJECT_MARKS))
    # The home folder is the user's, not a project's: a repository there would make every notebook its part.
    return [folder for folder in folders[: next(marked, 0) + 1] if folder != Path.home()]


def _project(start: Path) -> Iterator[Root]:
    for folder in project_folders(start):
        for name in SKILL_FOLDERS:
            yield Root(Source("project"), folder / name)


def _user() -> Iterator[Root]:
    for name in SKILL_FOLDERS:
        yield Root(Source("user"), Path.home() / name)
    yield Root(Source("user"), Path(jupyter_data_dir()) / "skills")


def _environment() -> Iterator[Root]:
    for entry in filter(None, os.environ.get("JUPYTER_SKILLS_PATH", "").split(os.pathsep)):
        yield Root(Source("path"), Path(entry).expanduser())


def _packages(start: Path) -> Iterator[Root]:
    project = project_folders(start)[-1:]
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)):
        name = point.dist.name if point.dist else point.name
        for folder in _package_folders(point.value):
            # Python looks for packages in the notebook's folder too, where a project can put whatever it likes.
            inside = any(folder.resolve().is_relative_to(top) for top in project) and not _is_installed(folder)
            yield Root(Source("project") if inside else Source("package", name), folder)


def _is_installed(folder: Path) -> bool:
    places = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")} | {site.getusersitepackages()}
    return any(folder.resolve().is_relative_to(Path(place).resolve()) for place in places)


def _package_folders(package: str) -> Iterator[Path]:
    """Where a package lies. Only its topmost parent is looked up, for to look further would import that."""
    top, *inner = package.partition(":")[0].strip().split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # it is broken or gone; that is no reason to hide other skills
        return
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location, *inner)
