"""The way a model is reached if nothing else is said."""

from __future__ import annotations

from typing import get_args

from jupyter_skills.errors import UsageProblem
from jupyter_skills.models.client import ModelClient
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.models.patience import Patient
from jupyter_skills.models.text_calls import Mode, TextCalls


def usual_client(tool_calls: str = "auto", tries: int = 4, *, raises_refusals: bool = True) -> ModelClient:
    """Reaches every provider that litellm does, waits where it is asked to, and describes tools in words if it must.

    Args:
        tool_calls: ``auto``, ``native`` or ``text``; see ``TextCalls``.
        tries: How often a request is sent at most while the provider is busy.
        raises_refusals: See ``LitellmClient``.

    Raises:
        UsageProblem: There is no such way to call tools.
    """
    modes: dict[str, Mode] = {mode: mode for mode in get_args(Mode)}
    if tool_calls not in modes:
        raise UsageProblem(f"Tools can't be called by way of '{tool_calls}'", f"Use one of {', '.join(modes)}")
    return TextCalls(Patient(LitellmClient(raises_refusals=raises_refusals), tries), modes[tool_calls])
