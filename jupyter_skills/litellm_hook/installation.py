"""Putting the hook into litellm's callbacks, and taking it out again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook import container as containers
from jupyter_skills.litellm_hook.failures import as_litellms, raised_as_litellms
from jupyter_skills.models.litellm_import import import_now, provider_of

# Every list that litellm may have put a callback into.
_CALLBACKS = (
    "callbacks",
    "input_callback",
    "success_callback",
    "failure_callback",
    "service_callback",
    "_async_success_callback",
    "_async_failure_callback",
    "_async_input_callback",
)
_CHAT_INSTEAD = "jupyter_skills.completion(…, skills=['NAME'])"
_MESSAGES_INSTEAD = "await litellm.anthropic.messages.acreate(…)"
_lock = threading.RLock()
_installed: Any = None
_callback: Any = None
_guards: list[tuple[Any, str, Any, Any]] = []


def install(**given: Any) -> None:
    """See ``install_litellm_hook``."""
    global _installed
    litellm = import_now()
    from jupyter_skills.litellm_hook.hook import SkillsHook
    from jupyter_skills.litellm_hook.registration import register

    with _lock:
        hook = SkillsHook(**given)
        register()
        _forget(litellm, _installed)
        litellm.callbacks.append(hook)
        _installed = hook
        if not _guards:
            # What every sync call passes, by whatever name; it goes on to litellm's preparations.
            _guard(litellm.utils, "function_setup", _model_of_sync_chat, _CHAT_INSTEAD)
            _guard(litellm.anthropic.messages, "create", _model_of_message, _MESSAGES_INSTEAD)


def remove() -> None:
    """See ``remove_litellm_hook``."""
    global _installed
    if _installed is None:
        return
    litellm = sys.modules["litellm"]
    from jupyter_skills.litellm_hook.hook import SkillsHook
    from jupyter_skills.litellm_hook.registration import unregister

    with _lock:
        _forget(litellm, _installed)
        _installed = None
        if not any(isinstance(entry, SkillsHook) for entry in litellm.callbacks):
            unregister()
        for holder, name, ours, theirs in _guards:
            if getattr(holder, name) is ours:  # else somebody has wrapped it since, and it lets all through from now on
                setattr(holder, name, theirs)
        _guards.clear()


def callback() -> Any:
    """The hook for a proxy's configuration, with all as it is set: the same one each time."""
    global _callback
    import_now()
    from jupyter_skills.litellm_hook.hook import SkillsHook

    with _lock:
        if _callback is None:
            _callback = SkillsHook()
        return _callback


def _forget(litellm: Any, hook: Any) -> None:
    for name in _CALLBACKS:
        entries = getattr(litellm, name, None)
        if isinstance(entries, list) and any(entry is hook for entry in entries):
            # A list of its own: litellm may be awaiting one callback of the other after the next.
            setattr(litellm, name, [entry for entry in entries if entry is not hook])


def _guard(holder: Any, name: str, model_of: Callable[..., str | None], instead: str) -> None:
    """Refuses sync calls with skills: litellm calls no hook in them, so they would go out without.

    Args:
        holder: What holds the function that such calls pass.
        name: The function.
        model_of: Called with its arguments for the model; None lets the call through.
        instead: What to use.
    """
    theirs = getattr(holder, name)

    @wraps(theirs)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("container") and _installed is not None and (model := model_of(args, kwargs)) is not None:
            _refuse(model, kwargs, instead)
        return theirs(*args, **kwargs)

    setattr(holder, name, guarded)
    _guards.append((holder, name, guarded, theirs))


def _model_of_sync_chat(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """The model of a sync chat completion that is being set up; None for any other call."""
    if not args or args[0] != "completion":
        return None
    after = args[3:4]  # what comes before is litellm's own
    return str(kwargs.get("model") or (after[0] if after else ""))


def _model_of_message(_: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    return str(kwargs.get("model") or "")


def _refuse(model: str, kwargs: Mapping[str, Any], instead: str) -> None:
    with raised_as_litellms(model):
        asked = containers.read(kwargs["container"])
        if asked is None:
            return
        if model:
            asked.check_native(model, provider_of(model, kwargs))
    if asked.ours:
        problem = UsageProblem("litellm runs no hooks in this call, so it can't use these skills", f"Use {instead}")
        raise as_litellms(problem, model)
