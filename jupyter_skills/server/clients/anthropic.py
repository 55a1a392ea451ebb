"""``/jupyter-skills/anthropic``: the skills endpoints of Anthropic's API, for its SDKs as they are.

Give the client ``…/jupyter-skills/anthropic`` as its base URL. The API has two forms. Clients of the first, which send
the beta header of 2025, know versions by number and a skill's source as a word; in the second versions have ids. What
does not contradict is in every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.errors import SkillsError, StoreConflict, UsageProblem
from jupyter_skills.server.archives import ArchiveHandler
from jupyter_skills.server.clients.client import ClientHandler, one_to_delete
from jupyter_skills.server.handlers import Item
from jupyter_skills.server.incoming.sent import skill_in
from jupyter_skills.server.incoming.uploads import UploadHandler
from jupyter_skills.store.records import SkillVersion, StoredSkill, version_id

FIRST_FORM: Final = "skills-2025-10-02"

_CUSTOM = "custom"
_SOURCES = (_CUSTOM, "anthropic", "anthropic_example", "plugin")

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
}


class AnthropicHandler(ClientHandler):
    """What the handlers of this API share."""

    REQUEST_ID = "request-id"

    async def prepare(self) -> None:  # type: ignore[override]
        """Called before any verb: a key in this API's own header is checked as if it came in the usual one."""
        headers = self.request.headers
        if "Authorization" not in headers and "X-Api-Key" in headers:
            headers["Authorization"] = f"Bearer {headers['X-Api-Key']}"
        await super().prepare()

    @property
    def is_first_form(self) -> bool:
        """Whether the client asks for the API's first form."""
        names = ",".join(self.request.headers.get_list("anthropic-beta")).split(",")
        return FIRST_FORM in (name.strip() for name in names)

    def page(self) -> tuple[int, str | None]:
        """How many items are asked for, and the cursor of the page."""
        limit, _ = super().page()
        return limit, self.get_query_argument("page", "") or None

    def problem(self, status: int, error: SkillsError) -> dict[str, Any]:
        """The JSON that tells of an error."""
        kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
        told = {"type": kind, "message": self.words_for(status, error)}
        return {"type": "error", "error": told, "request_id": self.request_id}

    def skill(self, skill: StoredSkill) -> dict[str, Any]:
        """A skill as this API tells it."""
        facts = skill.as_json(full=False)
        source = _source_of(skill)
        latest = skill.latest_version
        return {
            "id": skill.id,
            "type": "skill",
            "display_name": skill.title,
            "display_title": skill.title,
            "source": source if self.is_first_form else {"type": source},
            "latest_version": latest,
            "latest_version_id": "" if latest is None else version_id(skill.id, latest),
            "created_at": facts["created_at"],
            "updated_at": facts["updated_at"],
        }

    def version(self, version: SkillVersion) -> dict[str, Any]:
        """A version as this API tells it."""
        return {
            "id": version.id,
            "type": "skill_version",
            "skill_id": version.skill_id,
            "version": version.version,
            "name": version.name,
            "directory": version.name,
            "description": version.description,
            "created_at": version.as_json()["created_at"],
        }

    async def reply_part(self, items: Iterable[Item], told: Callable[[Item], object], cursor: str | None) -> None:
        """Answers with one page of a list; see ``reply_list``."""
        await self.reply_list(items, told, has_more=cursor is not None, next_page=cursor)


class SkillsRoute(AnthropicHandler, UploadHandler):
    """``/v1/skills``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lists the skills, newest first."""
        limit, after = self.page()
        source = self.get_query_argument("source", "") or None
        if source is not None and source not in _SOURCES:
            raise UsageProblem(f"'source' can't be '{source}'", f"Give one of {', '.join(_SOURCES)}, or none")
        # The store knows more words for a source than this API, which takes them for its 'custom'.
        asked = None if source == _CUSTOM else source
        found: list[StoredSkill] = []
        while not found:
            page = await self.store.list(limit=limit, after=after, source=asked)
            found = [skill for skill in page.items if source in (None, _source_of(skill))]
            after = page.cursor
            if after is None:
                break
        await self.reply_part(found, self.skill, after)

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Takes in a skill: the files of its folder, or a zip."""
        upload = await self.received()
        title = (upload.fields.get("display_name") or upload.fields.get("display_title") or "").strip() or None
        sent = await skill_in(upload)
        stored = await self.store.create(sent.skill, title=title, file_name=sent.file_name, file_type=sent.file_type)
        self.tell("create", skill_id=stored.id, version=stored.latest_version)
        self.reply(self.skill(stored))


class SkillRoute(AnthropicHandler):
    """``/v1/skills/{skill_id}``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Describes a skill."""
        self.reply(self.skill(await self.store.get(skill_id)))

    @web.authenticated
    @authorized
    async def delete(self, skill_id: str) -> None:
        """Deletes a skill with its versions; our own API can undo that."""
        stored = await self.store.delete(skill_id)
        self.tell("delete", skill_id=stored.id)
        self.reply({"id": stored.id, "type": "skill_deleted"})


class VersionsRoute(AnthropicHandler, UploadHandler):
    """``/v1/skills/{skill_id}/versions``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Lists the versions of a skill, newest first."""
        limit, after = self.page()
        page = await self.store.versions(skill_id, limit=limit, after=after)
        await self.reply_part(page.items, self.version, page.cursor)

    @web.authenticated
    @authorized
    async def post(self, skill_id: str) -> None:
        """Takes in a new version, which becomes the default one too: this API knows the newest only."""
        sent = await skill_in(await self.received())
        version = await self.store.create_version(
            skill_id, sent.skill, file_name=sent.file_name, file_type=sent.file_type
        )
        self.tell("create_version", skill_id=skill_id, version=version.version)
        self.reply(self.version(version))


class VersionRoute(AnthropicHandler):
    """``/v1/skills/{skill_id}/versions/{version}``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, version: str) -> None:
        """Describes a version."""
        self.reply(self.version(await self.store.version(skill_id, version)))

    @web.authenticated
    @authorized
    async def delete(self, skill_id: str, version: str) -> None:
        """Deletes a version.

        In this API a skill has at least one. In its first form it had not: there the versions had to go before it.
        """
        number = one_to_delete(version)
        if not self.is_first_form:
            found = await self.store.version(skill_id, number)
            left = await self.store.versions(skill_id, limit=2)
            if len(left.items) == 1:
                raise StoreConflict(f"{version} is the only version of '{found.name}'", "Delete the skill instead")
        gone = await self.store.delete_version(skill_id, number)
        self.tell("delete_version", skill_id=skill_id, version=gone.version)
        self.reply({"id": gone.version if self.is_first_form else gone.id, "type": "skill_version_deleted"})


class ContentRoute(AnthropicHandler, ArchiveHandler):
    """``/v1/skills/{skill_id}/versions/{version}/content``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str, version: str) -> None:
        """Gives a version as a zip."""
        await self.send_archive(await self.store.version(skill_id, version))


def _source_of(skill: StoredSkill) -> str:
    return skill.source if skill.source in _SOURCES else _CUSTOM


_SKILLS = r"/jupyter-skills/anthropic/v1/skills"

ROUTES = [
    (_SKILLS, SkillsRoute),
    (rf"{_SKILLS}/([^/]+)", SkillRoute),
    (rf"{_SKILLS}/([^/]+)/versions", VersionsRoute),
    (rf"{_SKILLS}/([^/]+)/versions/([^/]+)", VersionRoute),
    (rf"{_SKILLS}/([^/]+)/versions/([^/]+)/content", ContentRoute),
]
