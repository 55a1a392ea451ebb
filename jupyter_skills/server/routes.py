"""All routes of the extension."""

from __future__ import annotations

from jupyter_skills.server import anthropic, kernels, lookups, openai, sandboxes, skills_api, versions_api, well_known
from jupyter_skills.server.handlers import SkillsHandler, UnknownRoute

ROUTES: list[tuple[str, type[SkillsHandler]]] = [
    *skills_api.ROUTES,
    *versions_api.ROUTES,
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
