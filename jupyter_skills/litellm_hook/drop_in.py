"""litellm, with skills of ours: ``from jupyter_skills.litellm_hook import drop_in as litellm``.

The functions for skills mean the store, and ``completion``, ``acompletion`` and ``anthropic.messages`` take skills,
also where the hook is not installed. Everything else of litellm is here as it is, to read and to set.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import ModuleType
from typing import Any

from jupyter_skills.agent.sync import pieces_of, run_apart
from jupyter_skills.litellm_hook.skills_api import (
    acreate_skill,
    adelete_skill,
    aget_skill,
    alist_skills,
    create_skill,
    delete_skill,
    get_skill,
    list_skills,
)
from jupyter_skills.models.litellm_import import import_now, imported

__all__ = [
    "acompletion",
    "acreate_skill",
    "adelete_skill",
    "aget_skill",
    "alist_skills",
    "anthropic",
    "completion",
    "create_skill",
    "delete_skill",
    "get_skill",
    "list_skills",
]


async def acompletion(*args: Any, **kwargs: Any) -> Any:
    """``litellm.acompletion``; skills in its ``container`` work whether the hook is installed or not.

    Raises:
        litellm.BadRequestError: A skill can't be had.
    """
    return await (await imported()).acompletion(*args, **await _prepared(kwargs))


def completion(*args: Any, **kwargs: Any) -> Any:
    """``litellm.completion``; with a ``container`` it is ``acompletion`` for code that can't await."""
    return _called(acompletion, import_now().completion, args, kwargs)


async def _acreate(*args: Any, **kwargs: Any) -> Any:
    """``litellm.anthropic.messages.acreate``; see ``acompletion``."""
    return await (await imported()).anthropic.messages.acreate(*args, **await _prepared(kwargs))


def _create(*args: Any, **kwargs: Any) -> Any:
    """``litellm.anthropic.messages.create``; see ``completion``."""
    return _called(_acreate, import_now().anthropic.messages.create, args, kwargs)


def _called(ours: Callable[..., Any], theirs: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A sync call: litellm's own, unless skills are in it."""
    if not _has_skills(kwargs):
        return theirs(*args, **kwargs)
    made = run_apart(functools.partial(ours, *args, **kwargs))
    return pieces_of(made) if kwargs.get("stream") else made


def _has_skills(kwargs: Mapping[str, Any]) -> bool:
    container = kwargs.get("container")
    return isinstance(container, Mapping) and bool(container.get("skills"))


async def _prepared(kwargs: dict[str, Any]) -> dict[str, Any]:
    if not _has_skills(kwargs):
        return kwargs
    await imported()  # off the loop, before what needs it at once
    from jupyter_skills.litellm_hook.own_calls import taken_up

    return {**kwargs, "container": taken_up(kwargs["container"])}


class _Instead:
    """Something of litellm's, some of whose attributes are ours.

    Args:
        path: What it is, from litellm on.
        ours: The attributes.
    """

    def __init__(self, path: str, **ours: Any) -> None:
        self.__dict__.update(ours)
        self._theirs = attrgetter(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs(import_now()), name)


anthropic = _Instead("anthropic", messages=_Instead("anthropic.messages", acreate=_acreate, create=_create))
"""``litellm.anthropic``, whose ``messages`` take skills; see ``acompletion`` and ``completion``."""


class _Litellm(ModuleType):
    """A module that is litellm in all that it doesn't have itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python's machinery asks every module for
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_now(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name.startswith("__"):
            super().__setattr__(name, value)
        else:  # a setting, which litellm would look for in vain here
            setattr(import_now(), name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(import_now())})


sys.modules[__name__].__class__ = _Litellm
