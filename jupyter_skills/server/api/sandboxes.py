"""The isolated kernels that run on the engine."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.server.handlers import SkillsHandler
from jupyter_skills.server.incoming.workers import off_loop


class SandboxesHandler(SkillsHandler):
    """``/jupyter-skills/api/sandboxes``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lists them."""
        self.reply({"sandboxes": [{"container": container} for container in await off_loop(_running)]})


def _running() -> list[str]:
    from jupyter_skills.sandbox.docker.engine import Engine  # which takes a while, so not while the server starts

    engine = Engine()
    try:
        return [container.id for container in engine.containers()]
    finally:
        engine.close()


ROUTES = [(r"/jupyter-skills/api/sandboxes", SandboxesHandler)]
