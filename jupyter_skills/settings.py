"""What a user can set about asking; the sandbox's own settings are in ``sandbox/settings.py``."""

from __future__ import annotations

import os
from typing import Any, Literal, cast, get_args

from traitlets import CFloat, CInt, Dict, Enum, Float, Unicode, default
from traitlets.config import Configurable

from jupyter_skills.errors import UsageProblem

RunPlace = Literal["docker", "live", "off"]
ApprovalPolicy = Literal["ask", "deny", "allow"]
Disclosure = Literal["auto", "progressive", "full"]
ToolCalls = Literal["auto", "native", "text"]
Vision = Literal["auto", "yes", "no"]

MEGABYTE = 1_000_000
"""Bytes, in settings that say megabytes."""


class JupyterSkills(Configurable):
    """Settings of ``%%ask``.

    Set by ``%config JupyterSkills.model = "…"`` in a notebook, by ``c.JupyterSkills.model = "…"`` in a
    config file, or by an environment variable where one is named.
    """

    model = Unicode(
        help="The model that %%ask uses without -m: any name litellm knows. Environment: JUPYTER_SKILLS_MODEL.",
    ).tag(config=True)
    api_base = Unicode(
        help="Base URL of the provider, for a proxy or a server of your own; empty for the provider's usual one.",
    ).tag(config=True)
    completion_kwargs = Dict(
        help="More keyword arguments for every litellm call, such as {'temperature': 0}.",
    ).tag(config=True)
    request_timeout = CFloat(120.0, help="Seconds the model may take to answer one request.").tag(config=True)
    run = Enum(
        get_args(RunPlace),
        help="Where code runs without -r: docker (isolated), live (this kernel, after consent) or off. "
        "Environment: JUPYTER_SKILLS_RUN.",
    ).tag(config=True)
    approval = Enum(
        get_args(ApprovalPolicy),
        help="Who consents to code in the live kernel: ask (you, each time), deny or allow. "
        "Environment: JUPYTER_SKILLS_APPROVAL.",
    ).tag(config=True)
    undo_seconds = CFloat(
        0.2,
        min=0.0,
        help="How many seconds may be spent on copying variables before code runs in the live kernel, so that "
        "'%skill undo' can give back what it changes within them.",
    ).tag(config=True)
    undo_memory = CInt(
        256, min=0, help="How many megabytes such copies may take, and all that '%skill undo' keeps together."
    ).tag(config=True)
    max_steps = CInt(20, min=1, help="How many requests one %%ask may send to the model.").tag(config=True)
    max_cost = Float(
        None,
        allow_none=True,
        min=0.0,
        help="How many US dollars one %%ask may cost; a request that could exceed it is not sent. None for any.",
    ).tag(config=True)
    tries = CInt(4, min=1, help="How often a request is sent at most while the provider is busy or asks to wait.").tag(
        config=True
    )
    tool_calls = Enum(
        get_args(ToolCalls),
        "auto",
        help="How the model calls tools: native (function calling), text (fenced blocks, for models without it), or "
        "auto: native unless the model is known, or turns out, to lack it.",
    ).tag(config=True)
    context = CInt(
        0,
        min=0,
        help="How many tokens the model takes in, for servers of your own; 0 for what litellm knows. Conversations are "
        "made shorter before they reach it.",
    ).tag(config=True)
    vision = Enum(
        get_args(Vision),
        "auto",
        help="Whether the model takes pictures: yes, no, or auto, as far as litellm knows. Others get a description.",
    ).tag(config=True)
    disclosure = Enum(
        get_args(Disclosure),
        "auto",
        help="What of a skill the model sees before it asks: its name and description (progressive), all its "
        "instructions (full), or the latter where they are as short as a description (auto).",
    ).tag(config=True)
    catalog_share = CFloat(
        0.02, min=0.0, max=1.0, help="How much of the model's context the list of skills may take, as a fraction."
    ).tag(config=True)

    @default("model")
    def _model_from_environment(self) -> str:
        return os.environ.get("JUPYTER_SKILLS_MODEL", "")

    @default("run")
    def _run_from_environment(self) -> str:
        return _one_of("JUPYTER_SKILLS_RUN", get_args(RunPlace), "docker")

    @default("approval")
    def _approval_from_environment(self) -> str:
        return _one_of("JUPYTER_SKILLS_APPROVAL", get_args(ApprovalPolicy), "ask")

    @property
    def place(self) -> RunPlace:
        """The value of ``run``, as its type."""
        return cast("RunPlace", self.run)

    @property
    def place_set(self) -> RunPlace | None:
        """The value of ``run`` if the user has set it in any way; None if it is only the default."""
        default = not os.environ.get("JUPYTER_SKILLS_RUN") and "run" not in self._find_my_config(self.config)
        return None if default and self.run == "docker" else self.place

    def model_arguments(self) -> dict[str, Any]:
        """The keyword arguments that every request to the model carries."""
        base = {"api_base": self.api_base} if self.api_base else {}
        return {**base, **self.completion_kwargs}


def _one_of(variable: str, allowed: tuple[str, ...], default: str) -> str:
    value = os.environ.get(variable, default)
    if value not in allowed:
        raise UsageProblem(f"{variable} is '{value}'", f"Set it to one of {', '.join(allowed)}, or unset it")
    return value
