"""Anthropic's skills endpoint, and whatever speaks its API: versions have ids, and names are told of versions only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from jupyter_skills.sharing.endpoints.endpoint import RemoteSkill
from jupyter_skills.sharing.endpoints.requests import (
    MOST_PAGES,
    AnsweredEndpoint,
    Refusal,
    path_of,
    rows,
    text,
    zip_part,
)

_PAGE = 100
_FILES = "files[]"


class AnthropicEndpoint(AnsweredEndpoint):
    """Implements ``Endpoint``."""

    keeps_versions = True

    async def list(self) -> AsyncIterator[RemoteSkill]:
        """See ``Endpoint``."""
        page = ""
        for _ in range(MOST_PAGES):
            asked = {"limit": _PAGE, "source": "custom", **({"page": page} if page else {})}
            told = await self._requests.json("GET", "/skills", params=asked)
            for item in rows(told):
                yield _skill(item)
            before, page = page, text(told, "next_page")
            if page in ("", before):
                return

    async def get(self, skill_id: str) -> RemoteSkill:
        """See ``Endpoint``."""
        return _skill(await self._requests.json("GET", f"/skills{path_of(skill_id)}"))

    async def find(self, name: str, title: str) -> RemoteSkill | None:
        """See ``Endpoint``."""
        there = [skill async for skill in self.list()]
        # Titles may be anything and names are told by versions, one request each: the likely ones first.
        for skill in sorted(there, key=lambda skill: skill.title not in (title, name)):
            if skill.version and await self._name(skill) == name:
                return skill
        return None

    async def content(self, skill_id: str, version: str | None = None) -> bytes:
        """See ``Endpoint``."""
        chosen = version or (await self.get(skill_id)).version
        path = f"/skills{path_of(skill_id, 'versions', chosen, 'content')}"
        return await self._requests.bytes(path, params={"beta": "true"}, headers={"Accept": "application/binary"})

    async def create(self, archive: bytes, name: str, title: str) -> RemoteSkill:
        """See ``Endpoint``."""
        files = zip_part(_FILES, archive, name)
        return _skill(await self._requests.json("POST", "/skills", data={"display_name": title}, files=files))

    async def create_version(self, skill_id: str, archive: bytes, name: str) -> RemoteSkill:
        """See ``Endpoint``."""
        path = f"/skills{path_of(skill_id, 'versions')}"
        told = await self._requests.json("POST", path, files=zip_part(_FILES, archive, name))
        return RemoteSkill(skill_id, "", text(told, "name"), text(told, "id", "version"))

    async def _name(self, skill: RemoteSkill) -> str:
        try:
            told = await self._requests.json("GET", f"/skills{path_of(skill.id, 'versions', skill.version)}")
        except Refusal as error:
            if error.status != 404:
                raise
            return ""  # deleted since the list was made
        return text(told, "name")


def _skill(told: dict[str, Any]) -> RemoteSkill:
    return RemoteSkill(
        text(told, "id"),
        text(told, "display_name", "display_title"),
        version=text(told, "latest_version_id", "latest_version"),
    )
