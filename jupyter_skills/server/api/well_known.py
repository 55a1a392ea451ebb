"""Discovery: the index of public skills that agents elsewhere look for, and the archives it names.

Agent Skills Discovery 0.2.0: https://github.com/cloudflare/agent-skills-discovery-rfc
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.utils import url_path_join
from tornado import web

from jupyter_skills.errors import SkillNotFound
from jupyter_skills.server.archives import ArchiveHandler
from jupyter_skills.server.handlers import SkillsHandler

if TYPE_CHECKING:
    from jupyter_skills.store.records import StoredSkill
    from jupyter_skills.store.store import SkillStore

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
FOLDER = "/jupyter-skills/.well-known/agent-skills"

_MOST_REMEMBERED = 100_000
# The digests of versions, by skill and number: no number is given twice, and nothing of a version ever changes.
_digests: dict[tuple[str, str], str] = {}


class IndexHandler(SkillsHandler):
    """``/jupyter-skills/.well-known/agent-skills/index.json``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lists all public skills, each in its default version."""
        _check_on(self)
        store, owner = self.store, self.owner
        entries: dict[str, dict[str, Any]] = {}
        async for skill in store.every(public=True):
            # A name stands for one skill here as it does in the store: one's own, else the first that was shared.
            if skill.default_version is not None and (skill.name not in entries or skill.owner == owner):
                entries[skill.name] = await self._entry(store, skill, skill.default_version)
        await self.reply_list(entries.values(), dict, key="skills", **{"$schema": SCHEMA})

    async def _entry(self, store: SkillStore, skill: StoredSkill, number: str) -> dict[str, Any]:
        key = skill.id, number
        if key not in _digests:
            if len(_digests) >= _MOST_REMEMBERED:
                _digests.clear()
            _digests[key] = (await store.version(*key)).archive_digest
        return {
            "name": skill.name,
            "type": "archive",
            "description": skill.description,
            "url": url_path_join(self.base_url, FOLDER, skill.id, f"{number}.zip"),
            "digest": _digests[key],
        }


class PublicArchive(ArchiveHandler):
    """``/jupyter-skills/.well-known/agent-skills/{id}/{version}.zip``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, number: str) -> None:
        """Gives the files of a version of a public skill as a zip."""
        await self._send(skill_id, number)

    @web.authenticated
    @authorized
    async def head(self, skill_id: str, number: str) -> None:
        """Gives what ``get`` says of the zip."""
        await self._send(skill_id, number)

    async def _send(self, skill_id: str, number: str) -> None:
        _check_on(self)
        if not await self._is_public(skill_id):
            raise SkillNotFound(f"The index has no skill '{skill_id}'", "See its 'index.json'")
        await self.send_archive(await self.store.version(skill_id, number))

    async def _is_public(self, skill_id: str) -> bool:
        with suppress(SkillNotFound):
            return (await self.store.get(skill_id)).visibility == "public"
        return False


def _check_on(handler: SkillsHandler) -> None:
    if not handler.settings["jupyter_skills_well_known"]:
        raise web.HTTPError(404, "Discovery is off: 'SkillsExtension.well_known' turns it on")


ROUTES = [
    (rf"{FOLDER}/index\.json".replace(".well", r"\.well"), IndexHandler),
    (rf"{FOLDER}/([^/]+)/([^/]+)\.zip".replace(".well", r"\.well"), PublicArchive),
]
