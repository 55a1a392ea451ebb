"""Scripted skills endpoints of each shape, which take what the real ones take and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jupyter_skills.skills.skill import Skill
from tests.sharing.site import Answer, Request, Site

KEY = "sk-for-the-tests"


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Shelf:
    """What the shapes share: skills by id, each with its versions' archives; and a route for every path."""

    def __init__(self, site: Site) -> None:
        self.skills: dict[str, dict[str, Any]] = {}
        self.uploads: list[Request] = []
        self.downloads = True
        site.routes = _Everything(self._answer)

    def _answer(self, request: Request) -> Answer:
        try:
            self.check(request)
            told = self.handle(request, request.path.removeprefix("/v1").strip("/").split("/")[1:])
        except Refused as refused:
            return Answer(json.dumps(self.error(refused)).encode(), refused.status)
        return Answer(told) if isinstance(told, bytes) else Answer(json.dumps(told).encode())

    def check(self, request: Request) -> None:
        raise NotImplementedError

    def handle(self, request: Request, rest: list[str]) -> Any:
        raise NotImplementedError

    def error(self, refused: Refused) -> Any:
        return {"error": {"message": str(refused), "type": "x"}}

    def skill(self, skill_id: str) -> dict[str, Any]:
        if skill_id not in self.skills:
            raise Refused(404, f"No skill {skill_id}")
        return self.skills[skill_id]

    def uploaded(self, request: Request, field: str) -> tuple[str, bytes]:
        """The name in the zip that was sent, and the zip."""
        self.uploads.append(request)
        files = request.files.get(field, [])
        if len(files) != 1 or files[0].content_type != "application/zip":
            raise Refused(400, f"{field} must be one zip")
        skill = Skill.from_zip(files[0].body)
        if files[0].filename != f"{skill.name}.zip":
            raise Refused(400, "odd file name")
        return skill.name, files[0].body

    def added(self, name: str, archive: bytes, title: str = "") -> dict[str, Any]:
        number = len(self.skills) + 1
        made = {"id": f"skill_{number:02}", "name": name, "title": title or name, "archives": [archive]}
        self.skills[made["id"]] = made
        return made


class _Everything(dict[str, Any]):
    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        super().__init__()
        self._all = answer

    def get(self, key: str, default: Any = None) -> Any:
        return self._all


def _version_of(skill: dict[str, Any], number: str) -> bytes:
    if not (number.isdigit() and 1 <= int(number) <= len(skill["archives"])):
        raise Refused(404, f"No version {number}")
    archive: bytes = skill["archives"][int(number) - 1]
    return archive


class Anthropic(Shelf):
    """Pages of two, names in versions only, version ids."""

    def check(self, request: Request) -> None:
        if request.headers.get("x-api-key") != KEY or "authorization" in request.headers:
            raise Refused(401, f"invalid x-api-key: {request.headers.get('x-api-key')}")
        if request.headers.get("anthropic-version") != "2023-06-01":
            raise Refused(400, "anthropic-version is missing")

    def error(self, refused: Refused) -> Any:
        return {"type": "error", "error": {"type": "x", "message": str(refused)}, "request_id": "r"}

    def handle(self, request: Request, rest: list[str]) -> Any:
        match request.method, *rest:
            case ("GET",):
                assert request.query["source"] == "custom"
                start = int(request.query.get("page", "0"))
                listed = list(self.skills.values())
                more = str(start + 2) if start + 2 < len(listed) else None
                return {
                    "data": [self._told(one) for one in listed[start : start + 2]],
                    "has_more": bool(more),
                    "next_page": more,
                }
            case ("POST",):
                name, archive = self.uploaded(request, "files[]")
                return self._told(self.added(name, archive, request.fields["display_name"]))
            case "GET", skill_id:
                return self._told(self.skill(skill_id))
            case "POST", skill_id, "versions":
                name, archive = self.uploaded(request, "files[]")
                skill = self.skill(skill_id)
                if name != skill["name"]:
                    raise Refused(400, "the name of a skill never changes")
                skill["archives"].append(archive)
                return self._version(skill, len(skill["archives"]))
            case "GET", skill_id, "versions", version:
                skill = self.skill(skill_id)
                _version_of(skill, version.removeprefix("skillver_"))
                return self._version(skill, int(version.removeprefix("skillver_")))
            case "GET", skill_id, "versions", version, "content":
                if not self.downloads or request.query.get("beta") != "true":
                    raise Refused(404, "not found")
                return _version_of(self.skill(skill_id), version.removeprefix("skillver_"))
        raise Refused(405, "no such verb")

    def _told(self, skill: dict[str, Any]) -> Any:
        latest = f"skillver_{len(skill['archives'])}"
        return {"type": "skill", "id": skill["id"], "display_name": skill["title"], "latest_version_id": latest}

    def _version(self, skill: dict[str, Any], number: int) -> Any:
        return {"type": "skill_version", "id": f"skillver_{number}", "skill_id": skill["id"], "name": skill["name"]}


class OpenAI(Shelf):
    """Pages of two after an id, numbered versions, a default one."""

    def check(self, request: Request) -> None:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise Refused(401, "Incorrect API key provided")

    def handle(self, request: Request, rest: list[str]) -> Any:
        match request.method, *rest:
            case ("GET",):
                ids = list(self.skills)
                start = ids.index(request.query["after"]) + 1 if "after" in request.query else 0
                page = [self._told(self.skills[one]) for one in ids[start : start + 2]]
                last = page[-1]["id"] if page else None
                return {"object": "list", "data": page, "has_more": start + 2 < len(ids), "last_id": last}
            case ("POST",):
                return self._told(self.added(*self.uploaded(request, "files")))
            case "GET", skill_id:
                return self._told(self.skill(skill_id))
            case "GET", skill_id, "content":
                skill = self.skill(skill_id)
                return _version_of(skill, skill.get("default", "1"))
            case "POST", skill_id, "versions":
                name, archive = self.uploaded(request, "files")
                skill = self.skill(skill_id)
                skill["archives"].append(archive)
                number = str(len(skill["archives"]))
                if request.fields.get("default") == "true":
                    skill["default"] = number
                return {"object": "skill.version", "id": f"v_{number}", "name": name, "version": number}
            case "GET", skill_id, "versions", version, "content":
                return _version_of(self.skill(skill_id), version)
        raise Refused(405, "no such verb")

    def _told(self, skill: dict[str, Any]) -> Any:
        default = skill.get("default", "1")
        return {"object": "skill", "id": skill["id"], "name": skill["name"], "default_version": default}


class LiteLLM(Shelf):
    """One version of each, no further pages, titles only; archives of published skills without a key."""

    published = False

    def check(self, request: Request) -> None:
        if request.path.endswith("/archive"):
            return
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise Refused(401, "Authentication Error")
        provider = request.fields.get("custom_llm_provider") or request.query.get("custom_llm_provider")
        assert provider == "litellm_proxy", "else it would go to Anthropic"

    def handle(self, request: Request, rest: list[str]) -> Any:
        match request.method, *rest:
            case ("GET",):
                listed = list(self.skills.values())[: int(request.query.get("limit", "10"))]
                return {"data": [self._told(one) for one in listed], "has_more": False, "next_page": None}
            case ("POST",):
                name, archive = self.uploaded(request, "files[]")
                return self._told(self.added(name, archive, request.fields["display_title"]))
            case "GET", skill_id:
                return self._told(self.skill(skill_id))
            case "GET", skill_id, "archive":
                if not self.published:
                    raise Refused(404, "Not Found")
                archive: bytes = self.skill(skill_id)["archives"][0]
                return archive
        raise Refused(405, "Method Not Allowed")

    def error(self, refused: Refused) -> Any:
        return {"detail": str(refused)}

    def _told(self, skill: dict[str, Any]) -> Any:
        return {"type": "skill", "id": skill["id"], "display_title": skill["title"], "latest_version": None}
