"""Skills of the store, in our own shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.errors import UsageProblem
from jupyter_skills.server.handlers import SkillsHandler
from jupyter_skills.server.incoming.json_object import object_in
from jupyter_skills.server.incoming.sent import skill_in
from jupyter_skills.server.incoming.uploads import UploadHandler

_TEXTS = ("title", "visibility", "default_version")
_CHANGEABLE = (*_TEXTS, "metadata")


class SkillsCollection(UploadHandler):
    """``/jupyter-skills/api/skills``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lists skills, newest first unless asked otherwise."""
        limit, after = self.page()
        page = await self.store.list(
            limit=limit,
            after=after,
            order=self.order(),
            mine=self.flag("mine"),
            deleted=self.flag("deleted"),
            public=self.flag("public"),
        )
        await self.reply_page(page, lambda skill: skill.as_json(full=False))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Stores an uploaded skill."""
        upload = await self.received()
        wishes = _wishes_in(upload.fields)
        sent = await skill_in(upload)
        skill = await self.store.create(sent.skill, file_name=sent.file_name, file_type=sent.file_type, **wishes)
        self.tell("create", skill_id=skill.id, version=skill.latest_version)
        self.reply(skill.as_json(), 201)


class OneSkill(SkillsHandler):
    """``/jupyter-skills/api/skills/{id}``."""

    @web.authenticated
    @authorized
    async def get(self, skill_id: str) -> None:
        """Gives a skill, with its instructions."""
        self.reply((await self.store.get(skill_id)).as_json())

    @web.authenticated
    @authorized
    async def patch(self, skill_id: str) -> None:
        """Changes what is given, and nothing else."""
        wishes = self.json_body()
        if "display_title" in wishes:
            wishes["title"] = wishes.pop("display_title")
        for key, value in wishes.items():
            if key not in _CHANGEABLE:
                raise UsageProblem(f"'{key}' can't be changed", f"Give some of {', '.join(_CHANGEABLE)}")
            if not isinstance(value, str if key in _TEXTS else dict):
                raise UsageProblem(f"'{key}' can't be that", f"Give {'text' if key in _TEXTS else 'an object'}")
        skill = await self.store.update(skill_id, **wishes)
        self.tell("update", skill_id=skill.id)
        self.reply(skill.as_json())

    @web.authenticated
    @authorized
    async def delete(self, skill_id: str) -> None:
        """Deletes a skill; it can be restored."""
        skill = await self.store.delete(skill_id)
        self.tell("delete", skill_id=skill.id)
        self.reply(skill.as_json())


class RestoredSkill(SkillsHandler):
    """``/jupyter-skills/api/skills/{id}/restore``."""

    @web.authenticated
    @authorized
    async def post(self, skill_id: str) -> None:
        """Brings a deleted skill back."""
        skill = await self.store.restore(skill_id)
        self.tell("restore", skill_id=skill.id)
        self.reply(skill.as_json())


def _wishes_in(fields: Mapping[str, str]) -> dict[str, Any]:
    wishes: dict[str, Any] = {name: fields[name] for name in ("title", "visibility") if name in fields}
    if "display_title" in fields:
        wishes["title"] = fields["display_title"]
    if "metadata" in fields:
        wishes["metadata"] = object_in(fields["metadata"], "The field 'metadata'")
    return wishes


ROUTES = [
    (r"/jupyter-skills/api/skills", SkillsCollection),
    (r"/jupyter-skills/api/skills/([^/]+)", OneSkill),
    (r"/jupyter-skills/api/skills/([^/]+)/restore", RestoredSkill),
]
