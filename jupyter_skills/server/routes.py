"""The routes, and what each does."""

from __future__ import annotations

import asyncio
import json

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.server.handlers import SkillsHandler


class SandboxesHandler(SkillsHandler):
    """``/jupyter-skills/api/sandboxes``: the isolated kernels that run on the engine."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lists them."""
        found = await asyncio.to_thread(_running)
        self.finish(json.dumps({"sandboxes": [{"container": container} for container in found]}))


def _running() -> list[str]:
    engine = Engine()
    try:
        return [container.id for container in engine.containers()]
    finally:
        engine.close()


ROUTES = [(r"/jupyter-skills/api/sandboxes", SandboxesHandler)]
