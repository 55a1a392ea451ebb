"""``/jupyter-skills/openai``: the skills endpoints of OpenAI's API, for its SDKs as they are.

Give the client ``…/jupyter-skills/openai/v1`` as its base URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.errors import SkillsError, UsageProblem
from jupyter_skills.server.archives import ArchiveHandler
from jupyter_skills.server.clients.client import ClientHandler, one_to_delete
from jupyter_skills.server.handlers import Item, as_flag
from jupyter_skills.server.incoming.sent import skill_in
from jupyter_skills.server.incoming.uploads import UploadHandler
from jupyter_skills.store.records import Page, SkillVersion, StoredSkill

# So it is with 2.54 of the Python client, whatever the file is: bytes, a path, a tuple or an open file.
_NOT_IN_A_LIST = "OpenAI's client leaves out a single file: give it a list, as in 'files=[file]'."


class OpenAIHandler(ClientHandler):
    """What the handlers of this API share."""

    REQUEST_ID = "x-request-id"

    def problem(self, status: int, error: SkillsError) -> dict[str, Any]:
        """The JSON that tells of an error."""
        code = "invalid_api_key" if status == 401 else _code_of(error)
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": self.words_for(status, error), "type": kind, "param": None, "code": code}}

    def words_for(self, status: int, error: SkillsError) -> str:
        """An error as one line, with what OpenAI's client has done to the request."""
        words = super().words_for(status, error)
        is_json = self.request.headers.get("Content-Type", "").startswith("application/json")
        return f"{words} {_NOT_IN_A_LIST}" if status == 400 and is_json and isinstance(self, UploadHandler) else words

    async def reply_page(self, page: Page[Item], told: Callable[[Item], object]) -> None:
        """Answers with one page of a list; see ``reply_list``."""
        ids = [getattr(item, "id", None) for item in page.items] or [None]
        first, last = ids[0], ids[-1]
        await self.reply_list(page.items, told, object="list", has_more=page.has_more, first_id=first, last_id=last)


class SkillsRoute(OpenAIHandler, UploadHandler):
    """``/v1/skills``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lists the skills."""
        limit, after = self.page()
        page = await self.store.list(limit=limit, after=after, order=self.order())
        await self.reply_page(page, _skill)

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Takes in a skill: the files of its folder, or a zip."""
        sent = await skill_in(await self.received())
        stored = await self.store.create(sent.skill, file_name=sent.file_name, file_type=sent.file_type)
        self.tell("create", skill_id=stored.id, version=stored.latest_version)
        self.reply(_skill(stored))


class SkillRoute(OpenAIHandler):
    """``/v1/skills/{skill_id}``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Describes a skill."""
        self.reply(_skill(await self.store.get(skill_id)))

    @web.authenticated
    @authorized
    async def post(self, skill_id: str) -> None:
        """Makes another version the default one."""
        version = self.json_body().get("default_version")
        if not isinstance(version, str) or not version:
            raise UsageProblem("No 'default_version' was given", "Give the number of a version, as a string")
        stored = await self.store.update(skill_id, default_version=version)
        self.tell("update", skill_id=stored.id)
        self.reply(_skill(stored))

    @web.authenticated
    @authorized
    async def delete(self, skill_id: str) -> None:
        """Deletes a skill with its versions; our own API can undo that."""
        stored = await self.store.delete(skill_id)
        self.tell("delete", skill_id=stored.id)
        self.reply({"id": stored.id, "object": "skill.deleted", "deleted": True})


class SkillContentRoute(OpenAIHandler, ArchiveHandler):
    """``/v1/skills/{skill_id}/content``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Gives the default version as a zip."""
        await self.send_archive(await self.store.version(skill_id))


class VersionsRoute(OpenAIHandler, UploadHandler):
    """``/v1/skills/{skill_id}/versions``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Lists the versions of a skill."""
        limit, after = self.page()
        page = await self.store.versions(skill_id, limit=limit, after=after, order=self.order())
        await self.reply_page(page, _version)

    @web.authenticated
    @authorized
    async def post(self, skill_id: str) -> None:
        """Takes in a new version, which becomes the default one if that is asked for."""
        upload = await self.received()
        default = as_flag("default", upload.fields.get("default", "false"))
        sent = await skill_in(upload)
        version = await self.store.create_version(
            skill_id, sent.skill, default=default, file_name=sent.file_name, file_type=sent.file_type
        )
        self.tell("create_version", skill_id=skill_id, version=version.version)
        self.reply(_version(version))


class VersionRoute(OpenAIHandler):
    """``/v1/skills/{skill_id}/versions/{version}``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, version: str) -> None:
        """Describes a version."""
        self.reply(_version(await self.store.version(skill_id, version)))

    @web.authenticated
    @authorized
    async def delete(self, skill_id: str, version: str) -> None:
        """Deletes a version.

        In this API the default version stays while there are others, and the skill goes with the last one.
        """
        number = one_to_delete(version)
        skill = await self.store.get(skill_id)
        gone = await self.store.version(skill_id, number)
        if skill.owner != self.owner or gone.version != skill.default_version:
            await self.store.delete_version(skill_id, number)
            self.tell("delete_version", skill_id=skill_id, version=gone.version)
        elif len((await self.store.versions(skill_id, limit=2)).items) > 1:
            raise UsageProblem(f"{version} is the default version of '{gone.name}'", "Make another the default first")
        else:
            await self.store.delete(skill_id)
            self.tell("delete", skill_id=skill_id)
        deleted = {"id": gone.id, "object": "skill.version.deleted", "deleted": True, "version": gone.version}
        self.reply(deleted)


class VersionContentRoute(OpenAIHandler, ArchiveHandler):
    """``/v1/skills/{skill_id}/versions/{version}/content``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, version: str) -> None:
        """Gives a version as a zip."""
        await self.send_archive(await self.store.version(skill_id, version))


def _skill(skill: StoredSkill) -> dict[str, Any]:
    return {
        "id": skill.id,
        "object": "skill",
        "name": skill.name,
        "description": skill.description,
        "default_version": skill.default_version or "",
        "latest_version": skill.latest_version or "",
        "created_at": _seconds(skill.created_at),
    }


def _version(version: SkillVersion) -> dict[str, Any]:
    return {
        "id": version.id,
        "object": "skill.version",
        "skill_id": version.skill_id,
        "version": version.version,
        "name": version.name,
        "description": version.description,
        "created_at": _seconds(version.created_at),
    }


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _code_of(error: SkillsError) -> str | None:
    name = type(error).__name__
    return None if type(error) is SkillsError else re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


_SKILLS = r"/jupyter-skills/openai/v1/skills"

ROUTES = [
    (_SKILLS, SkillsRoute),
    (rf"{_SKILLS}/([^/]+)", SkillRoute),
    (rf"{_SKILLS}/([^/]+)/content", SkillContentRoute),
    (rf"{_SKILLS}/([^/]+)/versions", VersionsRoute),
    (rf"{_SKILLS}/([^/]+)/versions/([^/]+)", VersionRoute),
    (rf"{_SKILLS}/([^/]+)/versions/([^/]+)/content", VersionContentRoute),
]
