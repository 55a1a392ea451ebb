"""The keyword arguments that every call of litellm is made with."""

from __future__ import annotations

from typing import Any

from jupyter_skills.errors import ModelRefused
from jupyter_skills.models.client import ModelRequest
from jupyter_skills.models.litellm_errors import missing_keys
from jupyter_skills.models.litellm_facts import PRICES
from jupyter_skills.models.messages import copied

LATER = 5.0
"""Seconds that litellm's own time limit comes after the one kept here: it ends in errors of many kinds."""

# Servers of one's own often check no key, but litellm sends nothing without one.
_NO_KEY = "no-key"

# What a request itself says; given twice it would be an error of Python's.
_OURS = {"model", "messages", "tools", "stream", "stream_options", "timeout"}


def completed(litellm: Any, request: ModelRequest) -> dict[str, Any]:
    """The request's arguments as litellm is to get them; those of the request are not changed.

    Raises:
        ModelRefused: They name what the request itself says.
    """
    arguments: dict[str, Any] = copied(request.arguments)  # litellm writes into some of them
    if taken := sorted(_OURS & arguments.keys()):
        raise ModelRefused(
            f"JupyterSkills.completion_kwargs may not set {', '.join(taken)}",
            "Use the option or the setting of its own that there is for that",
        )
    for name in PRICES:  # litellm would take them for everybody's, and for good
        arguments.pop(name, None)
    own_server = arguments.get("api_base") or arguments.get("base_url")
    if own_server and not arguments.get("api_key") and missing_keys(litellm, request.model):
        arguments["api_key"] = _NO_KEY
    if "num_retries" not in arguments:
        arguments.setdefault("max_retries", 0)  # whoever is patient says so, and can be stopped
    return arguments
