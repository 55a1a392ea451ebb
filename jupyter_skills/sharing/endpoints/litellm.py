"""The skills of a LiteLLM proxy's own database: one version of each, told apart by titles.

Their archives can be had only where the proxy publishes all of its skills (``litellm_settings.public_skills_index``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from jupyter_skills.errors import RemoteRefused
from jupyter_skills.sharing.endpoints.endpoint import RemoteSkill
from jupyter_skills.sharing.endpoints.requests import AnsweredEndpoint, Refusal, path_of, rows, text, zip_part

_MOST_LISTED = 1000  # there are no further pages: the proxy begins anew each time
_ITS_OWN = {"custom_llm_provider": "litellm_proxy"}  # else it passes the request on to Anthropic
_ONE_VERSION = "LiteLLM keeps one version of a skill only"


class LiteLLMEndpoint(AnsweredEndpoint):
    """Implements ``Endpoint``."""

    keeps_versions = False

    async def list(self) -> AsyncIterator[RemoteSkill]:
        """See ``Endpoint``."""
        told = await self._requests.json("GET", "/skills", params={"limit": _MOST_LISTED, **_ITS_OWN})
        for item in rows(told):
            yield _skill(item)

    async def get(self, skill_id: str) -> RemoteSkill:
        """See ``Endpoint``."""
        return _skill(await self._requests.json("GET", f"/skills{path_of(skill_id)}", params=_ITS_OWN))

    async def find(self, name: str, title: str) -> RemoteSkill | None:
        """See ``Endpoint``; names are not kept."""
        async for skill in self.list():
            if skill.title in (title, name):
                return skill
        return None

    async def content(self, skill_id: str, version: str | None = None) -> bytes:
        """See ``Endpoint``."""
        if version:
            raise RemoteRefused(_ONE_VERSION, "Pull it without naming a version")
        try:
            return await self._requests.bytes(f"/skills{path_of(skill_id, 'archive')}")
        except Refusal as error:
            if error.status != 404:
                raise
            raise RemoteRefused(
                f"'{self.place}' hands out no archive of '{skill_id}': LiteLLM does for skills that it publishes only",
                "Set public_skills_index in its litellm_settings, or push the skill from where it was made",
            ) from None

    async def create(self, archive: bytes, name: str, title: str) -> RemoteSkill:
        """See ``Endpoint``."""
        fields = {"display_title": title, **_ITS_OWN}
        files = zip_part("files[]", archive, name)
        return _skill(await self._requests.json("POST", "/skills", params=_ITS_OWN, data=fields, files=files))

    async def create_version(self, skill_id: str, archive: bytes, name: str) -> RemoteSkill:
        """See ``Endpoint``; there are no versions."""
        raise RemoteRefused(
            f"{_ONE_VERSION}, and '{name}' is there already, as '{skill_id}'",
            "Delete it there first, or push under another title with --title",
        )


def _skill(told: dict[str, Any]) -> RemoteSkill:
    return RemoteSkill(text(told, "id"), text(told, "display_title", "display_name"))
