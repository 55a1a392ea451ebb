"""The server extension: enabled by installing the package, configured as ``SkillsExtension``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Float, Int

import jupyter_skills
from jupyter_skills.errors import SkillsError
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.server import events
from jupyter_skills.server.api import kernels
from jupyter_skills.server.routes import ROUTES
from jupyter_skills.skills.files import MOST_BYTES
from jupyter_skills.store.location import current_user, has_store

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from jupyter_skills.store.store import SkillStore

_STOPS_WITHIN = 5.0  # seconds


class ServerStore:
    """The one store of a server, made when it is first asked for: importing SQLAlchemy would delay the start."""

    def __init__(self) -> None:
        self._store: SkillStore | None = None

    def for_user(self, user: str) -> SkillStore:
        """The store as a user sees it."""
        if self._store is None:
            from jupyter_skills.store.store import SkillStore

            self._store = SkillStore()
        return self._store.for_user(user)

    async def close(self) -> None:
        """Closes it, if it was asked for."""
        if self._store is not None:
            await self._store.close()


class SkillsExtension(ExtensionApp):
    """Serves skills and sandboxes below ``/jupyter-skills``."""

    name = "jupyter_skills"
    version = jupyter_skills.__version__
    description = "Agent Skills in notebooks"
    classes = [DockerSandbox]  # noqa: RUF012 -- the base class says list

    # No skill is larger. What is sent may be one file for each file of it, so it may be as large as the skill itself.
    upload_limit = Int(
        MOST_BYTES, min=1, config=True, help="The most bytes that one upload may have. More is refused while it comes."
    )
    upload_patience = Float(
        60.0, min=0.1, config=True, help="How many seconds an upload may pause before the server gives it up."
    )
    well_known = Bool(
        False,
        config=True,
        help="Whether public skills are listed at 'jupyter-skills/.well-known/agent-skills/index.json' for agents"
        " elsewhere that have the server's token.",
    )

    def initialize_settings(self) -> None:
        """Called by the server before it sets up its routes."""
        self._housekeeping: asyncio.Task[None] | None = None
        self.settings.update(
            jupyter_skills_store=ServerStore(),
            jupyter_skills_upload_limit=self.upload_limit,
            jupyter_skills_upload_patience=self.upload_patience,
            jupyter_skills_well_known=self.well_known,
        )

    def initialize_handlers(self) -> None:
        """Called by the server when it sets up its routes; the base URL is put before them."""
        assert self.serverapp is not None
        assert self.serverapp.event_logger is not None
        events.register(self.serverapp.event_logger)
        self.handlers.extend(ROUTES)

    async def _start_jupyter_server_extension(self, _server: ServerApp) -> None:
        """Called by the server when its loop runs."""
        self._housekeeping = asyncio.create_task(self._keep_house())

    async def stop_extension(self) -> None:
        """Called by the server when it stops."""
        if self._housekeeping is not None:
            self._housekeeping.cancel()
            await asyncio.wait([self._housekeeping], timeout=_STOPS_WITHIN)
        try:
            await asyncio.wait_for(self.settings["jupyter_skills_store"].close(), _STOPS_WITHIN)
        except TimeoutError:
            self.log.warning("jupyter_skills: the store was not closed within %.0f s", _STOPS_WITHIN)

    async def _keep_house(self) -> None:
        await kernels.attach(self)
        try:
            if not has_store():
                return
            store: Any = await asyncio.to_thread(self.settings["jupyter_skills_store"].for_user, current_user())
            if gone := await store.purge():
                self.log.info("jupyter_skills: %d skills deleted long ago are gone for good", gone)
        except SkillsError as error:  # whoever uses the store will be told
            self.log.warning("jupyter_skills: %s", error)
