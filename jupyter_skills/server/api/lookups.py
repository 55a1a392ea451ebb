"""Search, the strict report, and this interface's own description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.errors import InvalidArchive, UsageProblem
from jupyter_skills.server.handlers import SkillsHandler
from jupyter_skills.server.incoming.multipart import UploadedFile
from jupyter_skills.server.incoming.uploads import UploadHandler
from jupyter_skills.server.incoming.workers import off_loop
from jupyter_skills.skills.archive.uploaded import as_archive
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.validation import Report, validate_archive

_PLACEHOLDER = "  - url: /\n"


class SearchHandler(SkillsHandler):
    """``/jupyter-skills/api/search``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Gives the skills that words fit best."""
        words = self.get_query_argument("q", "")
        if not words.strip():
            raise UsageProblem("Nothing is looked for", "Give words, as in '?q=gif'")
        hits = await self.store.search(words, limit=self.page()[0])
        await self.reply_list(hits, lambda hit: {"skill": hit.skill.as_json(full=False), "score": hit.score})


class ValidateHandler(UploadHandler):
    """``/jupyter-skills/api/validate``."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Gives the strict report on what was uploaded; nothing of it is kept or run."""
        upload = await self.received()
        if not upload.files:
            raise UsageProblem("No file was sent", "Send the files of a skill's folder, or one zip of it")
        self.reply((await off_loop(report_on, upload.files)).as_json())


class SpecHandler(SkillsHandler):
    """``/jupyter-skills/api/spec.yaml``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Gives the OpenAPI document of this interface, as it is reached here."""
        here = f"  - url: {json.dumps(self.base_url)}\n"
        self.finish(_spec().replace(_PLACEHOLDER, here, 1), set_content_type="application/yaml")


def report_on(sent: Sequence[UploadedFile]) -> Report:
    """The strict report on an archive, or on the files of a folder."""
    name = sent[0].filename.partition("/")[0]
    try:
        return validate_archive(as_archive([(file.filename, file.content) for file in sent]), name)
    except InvalidArchive as error:  # a name that can't be in an archive
        return Report(name, "", (Problem("unusable", error.message, error.next_step),))


@cache
def _spec() -> str:
    return (files("jupyter_skills.server") / "openapi.yaml").read_text("utf-8")


ROUTES = [
    (r"/jupyter-skills/api/search", SearchHandler),
    (r"/jupyter-skills/api/spec\.yaml", SpecHandler),
    (r"/jupyter-skills/api/validate", ValidateHandler),
]
