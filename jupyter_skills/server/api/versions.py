"""Versions of a stored skill, and their content."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.server.archives import ArchiveHandler
from jupyter_skills.server.handlers import SkillsHandler, as_flag
from jupyter_skills.server.incoming.sent import skill_in
from jupyter_skills.server.incoming.uploads import UploadHandler


class VersionsCollection(UploadHandler):
    """``/jupyter-skills/api/skills/{id}/versions``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Lists the versions, newest first unless asked otherwise."""
        limit, after = self.page()
        page = await self.store.versions(skill_id, limit=limit, after=after, order=self.order())
        await self.reply_page(page, lambda version: version.as_json())

    @web.authenticated
    @authorized
    async def post(self, skill_id: str) -> None:
        """Stores what was uploaded as a new version."""
        upload = await self.received()
        default = as_flag("default", upload.fields.get("default", "true"))
        sent = await skill_in(upload)
        version = await self.store.create_version(
            skill_id, sent.skill, default=default, file_name=sent.file_name, file_type=sent.file_type
        )
        self.tell("create_version", skill_id=skill_id, version=version.version)
        self.reply(version.as_json(), 201)


class OneVersion(SkillsHandler):
    """``/jupyter-skills/api/skills/{id}/versions/{version}``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, version: str) -> None:
        """Gives a version."""
        self.reply((await self.store.version(skill_id, version)).as_json())

    @web.authenticated
    @authorized
    async def delete(self, skill_id: str, version: str) -> None:
        """Deletes a version for good."""
        gone = await self.store.delete_version(skill_id, version)
        self.tell("delete_version", skill_id=skill_id, version=gone.version)
        self.reply(gone.as_json())


class Content(ArchiveHandler):
    """``/jupyter-skills/api/skills/{id}/content``, or of one version."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, version: str | None = None) -> None:
        """Gives the files as a zip."""
        await self.send_archive(await self.store.version(skill_id, version))

    @web.authenticated
    @authorized
    async def head(self, skill_id: str, version: str | None = None) -> None:
        """Gives what ``get`` says of the zip."""
        await self.send_archive(await self.store.version(skill_id, version))


ROUTES = [
    (r"/jupyter-skills/api/skills/([^/]+)/content", Content),
    (r"/jupyter-skills/api/skills/([^/]+)/versions", VersionsCollection),
    (r"/jupyter-skills/api/skills/([^/]+)/versions/([^/]+)", OneVersion),
    (r"/jupyter-skills/api/skills/([^/]+)/versions/([^/]+)/content", Content),
]
