"""All routes of the extension."""

from __future__ import annotations

from jupyter_skills.server.api import kernels, lookups, sandboxes, skills, versions, well_known
from jupyter_skills.server.clients import anthropic, openai
from jupyter_skills.server.handlers import SkillsHandler, UnknownRoute

ROUTES: list[tuple[str, type[SkillsHandler]]] = [
    *skills.ROUTES,
    *versions.ROUTES,
    *lookups.ROUTES,
    *sandboxes.ROUTES,
    *kernels.ROUTES,
    *well_known.ROUTES,
    *anthropic.ROUTES,
    *openai.ROUTES,
    # Jupyter itself takes the slash from the end of an address and asks for the rest.
    (r"/jupyter-skills(?:/.*[^/])?", UnknownRoute),
]
"""Patterns with their handlers; the server puts its base URL before the patterns, and takes the first that fits."""
