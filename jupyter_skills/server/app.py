"""The extension as jupyter_server loads it; enabled by installing the package."""

from __future__ import annotations

from jupyter_server.extension.application import ExtensionApp

import jupyter_skills
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.server.routes import ROUTES


class SkillsExtension(ExtensionApp):
    """Serves skills and sandboxes below ``/jupyter-skills``."""

    name = "jupyter_skills"
    version = jupyter_skills.__version__
    description = "Agent Skills in notebooks"
    classes = [DockerSandbox]  # noqa: RUF012 -- the base class says list

    def initialize_handlers(self) -> None:
        """Called by the server when it sets up its routes; the base URL is put before them."""
        self.handlers.extend(ROUTES)
