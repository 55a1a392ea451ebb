"""The rooms of the house and which way imports may run (docs/architecture.md)."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import jupyter_skills

PACKAGE = Path(jupyter_skills.__file__).parent

PLAN = Path(__file__).parents[1] / "docs" / "architecture.md"
ROW = re.compile(r"^\| `(\w+)(?:/|\.py)` \| .* \| ([\w, ]+) \|$", re.MULTILINE)

# Each room with all it may import from; what stands further down rests on what stands further up.
ROOMS = {room: set(names.split(", ")) - {"nothing"} for room, names in ROW.findall(PLAN.read_text(encoding="utf-8"))}
ONLY_IN = {
    "litellm": {"models/", "litellm_hook/"},
    "docker": {"sandbox/docker/engine.py"},
    "sqlalchemy": {"store/"},
    "alembic": {"store/"},
    "httpx": {"sharing/"},
    "tornado": {"server/", "sandbox/remote/channels.py"},
    "IPython": {"notebook/", "sandbox/inside/"},
}


def modules() -> list[Path]:
    return sorted(
        path
        for path in PACKAGE.rglob("*.py")
        if "gif-maker" not in path.parts and path.name != "ipython_kernel_config.py"
    )


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_the_plan_shows_every_room_and_no_other_and_none_rests_on_one_below_it() -> None:
    there = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith("_")}
    assert there - {"py.typed"} == set(ROOMS)
    names = list(ROOMS)
    assert all(names.index(other) < names.index(room) for room, others in ROOMS.items() for other in others)


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_run_downwards_only(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("jupyter_skills.")}
    assert ours - {room, "__version__"} <= ROOMS[room]


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_foreign_library_is_touched_in_its_own_place_only(library: str) -> None:
    touching = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if any(name.split(".")[0] == library for name in imports(path)) and path.name != "__init__.py"
    }
    allowed = ONLY_IN[library]
    assert all(any(path.startswith(place) for place in allowed) for path in touching), touching


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400, "ask what the second concept is"


@pytest.mark.parametrize("path", sorted((PACKAGE / "store").glob("*.py")), ids=lambda path: path.name)
def test_the_whole_of_sqlalchemy_is_imported_before_its_parts(path: Path) -> None:
    """Two threads may be the first to need the store. One that begins with a part would meet the whole half made."""
    for node in ast.parse(path.read_text()).body:
        name = {ast.Import: lambda n: n.names[0].name, ast.ImportFrom: lambda n: n.module}.get(type(node))
        if name is not None and str(name(node)).partition(".")[0] == "sqlalchemy":
            assert name(node) == "sqlalchemy"
            break


INSIDE = [*sorted((PACKAGE / "sandbox/inside").glob("*.py")), PACKAGE / "runtime.py"]


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: path.name)
def test_what_runs_inside_needs_nothing_but_what_every_image_has(path: Path) -> None:
    at_once = ast.Module(
        [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
    )
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in at_once.body}
    foreign = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    assert all(name == "zmq" or name.startswith("jupyter_skills.sandbox.inside") for name in foreign)
