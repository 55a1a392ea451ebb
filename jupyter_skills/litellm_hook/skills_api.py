"""litellm's functions for skills, with its parameters and response objects, over the store.

With ``custom_llm_provider`` ``"litellm_proxy"``, or none, they mean the store; with another they are litellm's own.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from jupyter_skills.agent.sync import run_apart
from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook.container import PREFIXES
from jupyter_skills.litellm_hook.failures import raised_as_litellms
from jupyter_skills.litellm_hook.uploads import skill_of
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.store.records import StoredSkill
from jupyter_skills.store.store import SkillStore

P = ParamSpec("P")
T = TypeVar("T")

_STORE = (None, "litellm_proxy")
_ID = "skill_"
_OF_THE_MANIFEST = ("description", "instructions")
_SHOWN = ("id", "display_title", "description", "latest_version", "source", "created_at", "updated_at")
_ON_A_PAGE = 20  # as litellm and the API have it


async def acreate_skill(
    files: Any = None,
    display_title: str | None = None,
    extra_headers: Mapping[str, str] | None = None,
    extra_query: Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
    timeout: Any = None,
    custom_llm_provider: str | None = None,
    **kwargs: Any,
) -> Any:
    """Puts a skill into the store.

    Args:
        files: The skill; see ``uploads.skill_of`` for all the forms it may have.
        display_title: What people see; the skill's name if not given.
        extra_headers: Only for another provider; nothing is sent for the store.
        extra_query: Likewise.
        extra_body: For the store at most ``{"metadata": {…}}``, which is kept with the skill.
        timeout: Likewise only for another provider.
        custom_llm_provider: ``litellm_proxy`` or none for the store; litellm forwards to any other.
        kwargs: For the store at most ``user_id``, whose skill it becomes; see ``SkillStore`` for whose it is else.

    Returns:
        A ``litellm.types.llms.anthropic_skills.Skill``.

    Raises:
        litellm.BadRequestError: It is no usable skill, the user has one of that name, or something can't be taken.
    """
    if custom_llm_provider not in _STORE:
        return await _forwarded("acreate_skill", locals())
    with raised_as_litellms():
        body = dict(extra_body or {})
        metadata = body.pop("metadata", None)
        store = _store({**kwargs, **body})
        skill, name, kind = await asyncio.to_thread(skill_of, files)
        made = await store.create(skill, title=display_title, metadata=metadata, file_name=name, file_type=kind)
        return await _told(made)


async def alist_skills(
    limit: int | None = None,
    page: str | None = None,
    source: str | None = None,
    extra_headers: Mapping[str, str] | None = None,
    extra_query: Mapping[str, Any] | None = None,
    timeout: Any = None,
    custom_llm_provider: str | None = None,
    **kwargs: Any,
) -> Any:
    """A page of the store's skills, newest first.

    Args:
        limit: How many at most, 1 to 1,000; 20 if not given.
        page: The ``next_page`` of the page before.
        source: Only those from there: ``custom``, unless whoever created a skill said otherwise.
        extra_headers: See ``acreate_skill``.
        extra_query: For the store at most another ``limit``, ``page`` or ``source``.
        timeout: See ``acreate_skill``.
        custom_llm_provider: See ``acreate_skill``.
        kwargs: For the store at most ``user_id``, who looks.

    Returns:
        A ``litellm.types.llms.anthropic_skills.ListSkillsResponse``, with ``next_page`` if there is more.

    Raises:
        litellm.BadRequestError: The limit or the page makes no sense, or something can't be taken.
    """
    if custom_llm_provider not in _STORE:
        return await _forwarded("alist_skills", locals())
    asked = {"limit": limit, "page": page, "source": source, **(extra_query or {})}
    limit, page, source = asked.pop("limit"), asked.pop("page"), asked.pop("source")
    with raised_as_litellms():
        store = _store({**kwargs, **asked})
        found = await store.list(limit=_ON_A_PAGE if limit is None else limit, after=page, source=source)
    data = [await _told(skill) for skill in found.items]
    return (await _shapes()).ListSkillsResponse(data=data, has_more=found.has_more, next_page=found.cursor)


async def aget_skill(
    skill_id: str,
    extra_headers: Mapping[str, str] | None = None,
    extra_query: Mapping[str, Any] | None = None,
    timeout: Any = None,
    custom_llm_provider: str | None = None,
    **kwargs: Any,
) -> Any:
    """A skill of the store.

    Args:
        skill_id: Its id, with ``litellm:`` or ``litellm_`` before it or not; or its name.
        extra_headers: See ``acreate_skill``.
        extra_query: See ``acreate_skill``.
        timeout: See ``acreate_skill``.
        custom_llm_provider: See ``acreate_skill``.
        kwargs: For the store at most ``user_id``, who looks.

    Returns:
        A ``litellm.types.llms.anthropic_skills.Skill``.

    Raises:
        litellm.BadRequestError: The user sees no such skill, or something can't be taken.
    """
    if custom_llm_provider not in _STORE:
        return await _forwarded("aget_skill", locals())
    with raised_as_litellms():
        return await _told(await _found(_store(kwargs), skill_id))


async def adelete_skill(
    skill_id: str,
    extra_headers: Mapping[str, str] | None = None,
    extra_query: Mapping[str, Any] | None = None,
    timeout: Any = None,
    custom_llm_provider: str | None = None,
    **kwargs: Any,
) -> Any:
    """Deletes a skill of the store with all its versions; ``SkillStore.restore`` brings it back.

    Args:
        skill_id: See ``aget_skill``.
        extra_headers: See ``acreate_skill``.
        extra_query: See ``acreate_skill``.
        timeout: See ``acreate_skill``.
        custom_llm_provider: See ``acreate_skill``.
        kwargs: For the store at most ``user_id``, whose it is.

    Returns:
        A ``litellm.types.llms.anthropic_skills.DeleteSkillResponse``.

    Raises:
        litellm.BadRequestError: The user sees no such skill, it is somebody else's, or something can't be taken.
    """
    if custom_llm_provider not in _STORE:
        return await _forwarded("adelete_skill", locals())
    with raised_as_litellms():
        store = _store(kwargs)
        gone = await store.delete((await _found(store, skill_id)).id)
    return (await _shapes()).DeleteSkillResponse(id=gone.id, type="skill_deleted")


def _in_sync(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The form of a function for code that can't await; it works inside a running event loop too."""

    @functools.wraps(function)
    def in_sync(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_apart(functools.partial(function, *args, **kwargs))

    in_sync.__name__ = in_sync.__qualname__ = function.__name__.removeprefix("a")
    in_sync.__doc__ = f"``{function.__name__}`` for code that can't await; it works inside a running event loop too."
    return in_sync


create_skill = _in_sync(acreate_skill)
list_skills = _in_sync(alist_skills)
get_skill = _in_sync(aget_skill)
delete_skill = _in_sync(adelete_skill)


async def _forwarded(name: str, given: dict[str, Any]) -> Any:
    """What litellm's own function gives."""
    return await getattr(await imported(), name)(**given.pop("kwargs"), **given)


def _store(more: dict[str, Any]) -> SkillStore:
    user = more.pop("user_id", None)
    for name in more:
        where = ": the store reads it in SKILL.md" if name in _OF_THE_MANIFEST else ""
        raise UsageProblem(f"The store takes no '{name}'", f"Leave it out{where}")
    return SkillStore(user=user)


async def _found(store: SkillStore, skill_id: str) -> StoredSkill:
    if not isinstance(skill_id, str):
        raise UsageProblem(f"{type(skill_id).__name__} is no kind of id", f"Give a text, as in '{_ID}…'")
    word = skill_id
    for prefix in PREFIXES:
        word = word.removeprefix(prefix)
    return await (store.get if word.startswith(_ID) else store.find)(word)


async def _shapes() -> Any:
    await imported()
    return import_module("litellm.types.llms.anthropic_skills")


async def _told(skill: StoredSkill) -> Any:
    facts = skill.as_json(full=False)
    return (await _shapes()).Skill(type="skill", **{name: facts[name] for name in _SHOWN})
