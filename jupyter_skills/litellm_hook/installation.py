"""What stands in litellm's own lists while the hook is installed, and how it goes again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook import container as containers
from jupyter_skills.litellm_hook.failures import as_litellms, raised_as_litellms
from jupyter_skills.litellm_hook.orders import ORDERS, PROVIDER
from jupyter_skills.models.litellm_import import import_now

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
# Older releases have them in the second place.
_INTERCEPTORS = (
    "litellm.llms.anthropic.pass_through.messages.interceptors",
    "litellm.llms.anthropic.experimental_pass_through.messages.interceptors",
)
_lock = threading.RLock()
_installed: Any = None
_callback: Any = None
_guards: list[tuple[Any, str, Any, Any]] = []


def install(**given: Any) -> None:
    """See ``install_litellm_hook``."""
    global _installed
    from jupyter_skills.litellm_hook.hook import SkillsHook

    litellm = import_now()
    with _lock:
        hook = SkillsHook(**given)
        register()
        _forget(litellm, lambda entry: entry is _installed)
        litellm.callbacks.append(hook)
        _installed = hook
        if not _guards:
            _guard(litellm, "completion", "jupyter_skills.completion(…, skills=['NAME'])")
            _guard(litellm.anthropic.messages, "create", "await litellm.anthropic.messages.acreate(…)")


def remove() -> None:
    """See ``remove_litellm_hook``."""
    global _installed
    litellm = sys.modules.get("litellm")
    if litellm is None or not hasattr(litellm, "callbacks"):
        return
    from jupyter_skills.litellm_hook.hook import SkillsHook

    with _lock:
        _forget(litellm, lambda entry: isinstance(entry, SkillsHook) and entry is not _callback)
        _installed = None
        ORDERS.afterwards(_unregister)
        for holder, name, ours, theirs in _guards:
            if getattr(holder, name) is ours:  # else somebody has wrapped it since, and it lets all through from now on
                setattr(holder, name, theirs)
        _guards.clear()


def callback() -> Any:
    """The hook for a proxy's configuration, with all as it is set: the same one each time."""
    global _callback
    from jupyter_skills.litellm_hook.hook import SkillsHook

    import_now()
    with _lock:
        if _callback is None:
            _callback = SkillsHook()
        return _callback


def register() -> None:
    """Lets litellm find what answers in a provider's place; others may have set its list anew since."""
    from jupyter_skills.litellm_hook.chat import SkillsProvider
    from jupyter_skills.litellm_hook.messages import SkillsInterceptor

    litellm, interceptors = import_now(), _interceptors()
    with _lock:
        ORDERS.afterwards(None)
        if not any(isinstance(entry, SkillsInterceptor) for entry in interceptors):
            interceptors.insert(0, SkillsInterceptor())  # before those that look at tools only
        if not any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
            litellm.custom_provider_map.append({"provider": PROVIDER, "custom_handler": SkillsProvider()})
        litellm.utils.custom_llm_setup()


def _unregister() -> None:
    from jupyter_skills.litellm_hook.messages import SkillsInterceptor

    litellm, interceptors = import_now(), _interceptors()
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


def _forget(litellm: Any, which: Callable[[Any], bool]) -> None:
    for name in _CALLBACKS:
        entries = getattr(litellm, name, None)
        if isinstance(entries, list) and any(map(which, entries)):
            # A list of its own: litellm may be awaiting one callback of the other after the next.
            setattr(litellm, name, [entry for entry in entries if not which(entry)])


def _guard(holder: Any, name: str, instead: str) -> None:
    """Refuses sync calls with skills: litellm calls no hook in them, so they would go out without."""
    theirs = getattr(holder, name)

    @wraps(theirs)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("container") and _installed is not None:
            _refuse(kwargs, args, instead)
        return theirs(*args, **kwargs)

    setattr(holder, name, guarded)
    _guards.append((holder, name, guarded, theirs))


def _refuse(kwargs: dict[str, Any], args: tuple[Any, ...], instead: str) -> None:
    from jupyter_skills.litellm_hook.hook import check_native, provider_of

    model = str(kwargs.get("model") or (args[0] if args else ""))
    with raised_as_litellms(model):
        asked = containers.read(kwargs["container"])
        if asked is None:
            return
        check_native(asked, model, provider_of(model, kwargs))
    if asked.ours:
        problem = UsageProblem("litellm's sync calls have no hooks, so they can't use these skills", f"Use {instead}")
        raise as_litellms(problem, model)
