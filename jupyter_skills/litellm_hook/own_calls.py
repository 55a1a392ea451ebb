"""Calls with skills where the hook is not installed: it takes these calls up, and leaves all others alone."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from jupyter_skills.litellm_hook.hook import SkillsHook
from jupyter_skills.models.litellm_import import import_now

_lock = threading.Lock()


class OwnContainer(dict[str, Any]):
    """The container of such a call."""


class OwnCallsHook(SkillsHook):
    """The hook for such calls only."""

    async def async_pre_call_hook(self, *_: Any, **__: Any) -> None:
        """Called by a proxy, whose requests are none of these."""

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Called by litellm for each async call; see ``SkillsHook``."""
        if not isinstance(kwargs.get("container"), OwnContainer):
            return None
        return await super().async_pre_call_deployment_hook(kwargs, call_type)


def taken_up(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a call is to have as its container, so that its skills are seen to.

    An installed hook takes the call up as it does any other, with what it was given: its store, its limits.

    Args:
        container: What the caller has given.
    """
    callbacks = import_now().callbacks
    if any(type(callback) is SkillsHook for callback in callbacks):
        return container
    with _lock:
        if not any(isinstance(callback, OwnCallsHook) for callback in callbacks):
            callbacks.append(OwnCallsHook())
    return OwnContainer(container)
