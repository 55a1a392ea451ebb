"""What litellm finds in a provider's place while calls with skills are answered."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook.chat import SkillsProvider
from jupyter_skills.litellm_hook.messages import SkillsInterceptor
from jupyter_skills.litellm_hook.pending import PENDING, PROVIDER
from jupyter_skills.models.litellm_import import import_now

# Older releases have them in the second place.
_INTERCEPTORS = (
    "litellm.llms.anthropic.pass_through.messages.interceptors",
    "litellm.llms.anthropic.experimental_pass_through.messages.interceptors",
)
_lock = threading.RLock()


def register() -> None:
    """Puts it into litellm's lists, unless it is there; others may have set them anew since.

    Raises:
        UsageProblem: This release of litellm has no such lists.
    """
    litellm, interceptors = import_now(), _interceptors()
    with _lock:
        PENDING.afterwards(None)
        if not any(isinstance(entry, SkillsInterceptor) for entry in interceptors):
            interceptors.insert(0, SkillsInterceptor())  # before those that look at tools only
        if not any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
            litellm.custom_provider_map.append({"provider": PROVIDER, "custom_handler": SkillsProvider()})
        litellm.utils.custom_llm_setup()


def unregister() -> None:
    """Takes it out again, once no call is left that it has to answer."""
    PENDING.afterwards(_take_out)


def _take_out() -> None:
    litellm, interceptors = import_now(), _interceptors()
    with _lock:
        interceptors[:] = [entry for entry in interceptors if not isinstance(entry, SkillsInterceptor)]
        litellm.custom_provider_map[:] = [e for e in litellm.custom_provider_map if e["provider"] != PROVIDER]
        for names in (litellm.provider_list, litellm._custom_providers):
            while PROVIDER in names:
                names.remove(PROVIDER)


def _interceptors() -> list[Any]:
    for name in _INTERCEPTORS:
        try:
            found: list[Any] = import_module(name).get_messages_interceptors()
        except ImportError:
            continue
        return found
    raise UsageProblem("This release of litellm has no place for the hook", "Run 'pip install --upgrade litellm'")
