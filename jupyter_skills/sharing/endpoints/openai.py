"""OpenAI's skills endpoint, and whatever speaks its API: versions are numbers, one of which is the default."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from jupyter_skills.sharing.endpoints.endpoint import RemoteSkill
from jupyter_skills.sharing.endpoints.requests import MOST_PAGES, AnsweredEndpoint, path_of, rows, text, zip_part

_PAGE = 100
_FILES = "files"  # a single zip; many files would be files[]


class OpenAIEndpoint(AnsweredEndpoint):
    """Implements ``Endpoint``."""

    keeps_versions = True

    async def list(self) -> AsyncIterator[RemoteSkill]:
        """See ``Endpoint``."""
        after = ""
        for _ in range(MOST_PAGES):
            asked = {"limit": _PAGE, "order": "desc", **({"after": after} if after else {})}
            told = await self._requests.json("GET", "/skills", params=asked)
            found = rows(told)
            for item in found:
                yield _skill(item)
            before, after = after, text(told, "last_id") or (text(found[-1], "id") if found else "")
            if told.get("has_more") is not True or after in ("", before):
                return

    async def get(self, skill_id: str) -> RemoteSkill:
        """See ``Endpoint``."""
        return _skill(await self._requests.json("GET", f"/skills{path_of(skill_id)}"))

    async def find(self, name: str, title: str) -> RemoteSkill | None:
        """See ``Endpoint``; titles are not kept."""
        async for skill in self.list():
            if skill.name == name:
                return skill
        return None

    async def content(self, skill_id: str, version: str | None = None) -> bytes:
        """See ``Endpoint``."""
        parts = (skill_id, "versions", version, "content") if version else (skill_id, "content")
        return await self._requests.bytes(f"/skills{path_of(*parts)}", headers={"Accept": "application/binary"})

    async def create(self, archive: bytes, name: str, title: str) -> RemoteSkill:
        """See ``Endpoint``; the title is not kept."""
        return _skill(await self._requests.json("POST", "/skills", files=zip_part(_FILES, archive, name)))

    async def create_version(self, skill_id: str, archive: bytes, name: str) -> RemoteSkill:
        """See ``Endpoint``."""
        path = f"/skills{path_of(skill_id, 'versions')}"
        files = zip_part(_FILES, archive, name)
        told = await self._requests.json("POST", path, data={"default": "true"}, files=files)
        return RemoteSkill(skill_id, text(told, "name"), text(told, "name"), text(told, "version"))


def _skill(told: dict[str, Any]) -> RemoteSkill:
    name = text(told, "name")
    return RemoteSkill(text(told, "id"), name, name, text(told, "default_version", "latest_version"))
