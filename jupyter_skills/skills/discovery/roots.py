"""The folders in which skills are looked for, in order of precedence."""

from __future__ import annotations

import json
import os
import site
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, entry_points
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

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
        within: Links to folders outside of this one are followed to skills, but not searched; None for no such bound.
    """

    source: Source
    folder: Path
    within: Path | None = None


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
    return _by_path(real, start)


def project_folders(start: Path) -> list[Path]:
    """The folders from ``start`` up to the root of its project; without a project only ``start``."""
    folders = [start.resolve(), *start.resolve().parents]
    marked = (i for i, folder in enumerate(folders) if any((folder / mark).exists() for mark in _PROJECT_MARKS))
    # The home folder is the user's, not a project's: a repository there would make every notebook its part.
    return [folder for folder in folders[: next(marked, 0) + 1] if folder != Path.home().resolve()]


def _project(start: Path) -> Iterator[Root]:
    folders = project_folders(start)
    for folder in folders:
        for name in SKILL_FOLDERS:
            yield Root(Source("project"), folder / name, within=folders[-1])


def _user() -> Iterator[Root]:
    for name in SKILL_FOLDERS:
        yield Root(Source("user"), Path.home() / name)
    data = Path(jupyter_data_dir())
    if data.is_absolute():  # one that is not would be another one in each project
        yield Root(Source("user"), data / "skills")


def _environment() -> Iterator[Root]:
    for entry in filter(None, os.environ.get("JUPYTER_SKILLS_PATH", "").split(os.pathsep)):
        with suppress(RuntimeError):  # there is no such user
            folder = Path(entry).expanduser()
            if folder.is_absolute():  # one that is not would be another one in each project
                yield Root(Source("path"), folder)


def _packages(start: Path) -> Iterator[Root]:
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)):
        name = point.dist.name if point.dist else point.name
        for folder in _package_folders(point.value):
            installed = point.dist is not None and _is_installed(point.dist, folder)
            yield Root(Source("package", name) if installed else _by_path(folder, start), folder)


def _is_installed(package: Distribution, folder: Path) -> bool:
    """Whether an installer put a folder of a package there.

    Python finds packages in the notebook's folder and wherever else ``sys.path`` leads, and a project can put there
    whatever it likes, so both the package and the facts about it must lie where installers put them; or, if it is an
    editable installation, where its facts say.
    """
    sites = _site_folders()
    if not _lies_below(Path(str(package.locate_file(""))), sites):
        return False
    return _lies_below(folder, [*sites, *_editable_folder(package)])


def _site_folders() -> list[Path]:
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    return [Path(place) for place in (*places, site.getusersitepackages())]


def _editable_folder(package: Distribution) -> Iterator[Path]:
    """Where an editable installation lies (PEP 610)."""
    try:
        facts = json.loads(package.read_text("direct_url.json") or "{}")
        if facts["dir_info"]["editable"] is True:
            yield Path(url2pathname(urlsplit(facts["url"]).path))
    except (KeyError, TypeError, ValueError):
        return


def _lies_below(folder: Path, places: Iterable[Path]) -> bool:
    return any(folder.resolve().is_relative_to(place.resolve()) for place in places)


def _by_path(folder: Path, start: Path) -> Source:
    return Source("project") if _lies_below(folder, project_folders(start)[-1:]) else FOLDER


def _package_folders(package: str) -> Iterator[Path]:
    """Where a package lies. Only its topmost parent is looked up, for to look further would import that."""
    top, *inner = package.partition(":")[0].strip().split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # it is broken or gone; that is no reason to hide other skills
        return
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location, *inner)
