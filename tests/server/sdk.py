"""What the tests of other makers' clients share: one server for a module, empty for each test, and skills to send."""

from __future__ import annotations

import inspect
import io
import os
import zipfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.store import SkillStore
from tests.server.jupyter import TOKEN, jupyter

USER = "ada"
UPLOAD_LIMIT = 2 << 20

# Names and contents that a form could damage: other alphabets, spaces, line ends, no text at all, nothing at all.
FILES = {
    "SKILL.md": b"---\nname: pie-charts\ndescription: Draws pies.\n---\nTake a knife.\n",
    "references/deep/er/notes.md": "Größe, 大きさ\r\n".encode(),
    "references/Über uns.txt": b"\r\n--boundary\r\n",
    "assets/every.bin": bytes(range(256)),
    "assets/empty": b"",
    "scripts/slice.py": b"print('slice')\n",
}


@dataclass(frozen=True)
class Served:
    """A running server.

    Args:
        url: Its address, with its base URL.
        store: The server's store, as its user sees it.
    """

    url: str
    store: SkillStore

    async def skill_of(self, user: str, name: str = "theirs") -> str:
        """The id of a skill that somebody else has made and shared."""
        skill = Skill.from_text(f"---\nname: {name}\ndescription: Is {user}'s.\n---\nRead it.\n")
        return (await self.store.for_user(user).create(skill, visibility="shared")).id


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that the tests of a module share."""
    home = tmp_path_factory.mktemp("server")
    url = f"sqlite:///{home / 'skills.sqlite'}"
    ours = {"JUPYTER_SKILLS_DB": url, "JUPYTER_SKILLS_USER": USER, "HOME": str(home)}
    folders = {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--ServerApp.base_url=/hub/ada/", f"--SkillsExtension.upload_limit={UPLOAD_LIMIT}"]
    with jupyter("server", home, {**os.environ, **ours, **folders}, *options) as address:
        yield Served(f"{address}/hub/ada", SkillStore(url, USER))


@pytest.fixture
async def served(running: Served) -> AsyncIterator[Served]:
    """The module's server, with nothing in its store."""
    yield running
    for user in (USER, "grace"):
        store = running.store.for_user(user)
        for skill in (await store.list(limit=1000, mine=True)).items:
            await store.delete(skill.id)
        await store.purge(0)
    await running.store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill with files of many kinds."""
    for name, content in FILES.items():
        path = tmp_path / "pie-charts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "pie-charts"


def parts(files: dict[str, bytes] | None = None, folder: str = "pie-charts") -> list[tuple[str, bytes]]:
    """A skill's files as the clients take them: each with its path below one folder."""
    return [(f"{folder}/{name}", content) for name, content in (files or FILES).items()]


def minimal(name: str, description: str = "Does a thing.") -> list[tuple[str, bytes]]:
    """A skill of one file, as the clients take it."""
    return parts({"SKILL.md": f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n".encode()}, name)


def zipped(files: dict[str, bytes] | None = None, folder: str = "pie-charts/") -> bytes:
    """A zip as somebody else's tool makes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files or FILES).items():
            archive.writestr(f"{folder}{name}", content)
    return buffer.getvalue()


def unzipped(archive: bytes, folder: str = "pie-charts/") -> dict[str, bytes]:
    """The files in a zip that has one folder at its top."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name.removeprefix(folder): opened.read(name) for name in opened.namelist() if not name.endswith("/")}


async def outcome(answer: Any) -> Any:
    """What a client's method returns, whether it is to be awaited or not."""
    return await answer if inspect.isawaitable(answer) else answer


async def everything(pages: Any) -> list[Any]:
    """All items of a list, page after page as the client itself turns them."""
    return [item async for item in pages] if hasattr(pages, "__aiter__") else list(pages)


__all__ = [
    "FILES",
    "TOKEN",
    "UPLOAD_LIMIT",
    "USER",
    "Served",
    "everything",
    "folder",
    "minimal",
    "outcome",
    "parts",
    "running",
    "served",
    "unzipped",
    "zipped",
]
