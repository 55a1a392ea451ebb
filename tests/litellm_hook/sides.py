"""The two sides of the comparison, with one interface: LiteLLM's own skills hook, and ours."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self
from unittest import mock

import docker
import litellm
from litellm.caching.caching import DualCache
from litellm.llms.litellm_proxy.skills.handler import LiteLLMSkillsHandler
from litellm.proxy._types import LiteLLM_SkillsTable, UserAPIKeyAuth
from litellm.proxy.hooks.litellm_skills.main import SkillsInjectionHook
from llm_sandbox.const import DefaultImage

from jupyter_skills import SkillStore
from jupyter_skills.litellm_hook import drop_in, install_litellm_hook, remove_litellm_hook
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE, DockerSandbox
from jupyter_skills.testing import Call, ScriptedModel

KEY = "key-of-the-request"
USER = "ann"
TIMEOUT = 2
"""Seconds that code may run, as both sides are told."""

_STORE = "litellm_proxy"
_THEIR_IMAGE = "litellm-differential:latest"

# Their sandbox starts the command that the image names, and ours names none; without an index it leaves pip as it is,
# and with a virtual environment there it is sooner ready.
_THEIR_RECIPE = f"""
FROM {DEFAULT_IMAGE}
USER root
ENV PIP_NO_INDEX=1
RUN python -m venv --system-site-packages /sandbox/.sandbox-venv
STOPSIGNAL SIGKILL
CMD ["sleep", "infinity"]
"""


class Side(ABC):
    """A hook at work within ``async with``, and how its tools are called.

    Args:
        model: Answers every request.
        steps: How many answers of the model a request may take.
    """

    litellm: ClassVar[Any]
    """Where its functions for skills are."""
    skills_folder: ClassVar[str]
    """Where code finds the files of skills."""

    def __init__(self, model: ScriptedModel, steps: int = 10) -> None:
        self.model = model
        self.steps = steps
        self.rest = contextlib.AsyncExitStack()

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None:
        await self.rest.aclose()

    async def add(self, *files: Any, title: str = "Sums") -> str:
        """Stores a skill, given as the bytes of a zip, or as files; its id as it stands in ``container``."""
        stored = await self.litellm.acreate_skill(
            files=[_upload(each) for each in files], display_title=title, custom_llm_provider=_STORE
        )
        return self.in_container(stored.id)

    def add_without_await(self, files: bytes) -> str:
        """The same by the function that is not async."""
        stored = self.litellm.create_skill(files=[_upload(files)], display_title="Sums", custom_llm_provider=_STORE)
        return self.in_container(stored.id)

    async def titles(self, page_size: int) -> list[str]:
        """Those of all skills, asked for page by page."""
        titles: list[str] = []
        page: str | None = None
        while page or not titles:
            found = await self.litellm.alist_skills(limit=page_size, page=page, custom_llm_provider=_STORE)
            titles += [skill.display_title for skill in found.data]
            page = found.next_page
        return titles

    @abstractmethod
    def in_container(self, skill_id: str) -> str:
        """A skill's id as it stands in ``container``."""

    @abstractmethod
    def code(self, code: str) -> Call:
        """What the model says to run Python."""

    @abstractmethod
    def use(self, name: str, skill: str) -> Call:
        """What the model says to use a skill."""

    @abstractmethod
    def opened(self, *names: str) -> list[Call]:
        """What the model has to say before code finds the files of skills."""

    @abstractmethod
    async def acompletion(self, **kwargs: Any) -> Any:
        """``litellm.acompletion``, with the hook at work."""

    @abstractmethod
    async def messages(self, **kwargs: Any) -> Any:
        """``litellm.anthropic.messages.acreate``, with the hook at work."""


class Ours(Side):
    """Our hook, with a store of its own."""

    litellm = drop_in
    skills_folder = "/skills"

    async def __aenter__(self) -> Self:
        folder = self.rest.enter_context(tempfile.TemporaryDirectory())
        store = {"JUPYTER_SKILLS_DB": f"sqlite:///{Path(folder) / 'skills.db'}", "JUPYTER_SKILLS_USER": USER}
        self.rest.enter_context(mock.patch.dict(os.environ, store))
        store_of_its_own = await self.rest.enter_async_context(SkillStore())
        install_litellm_hook(store=store_of_its_own, max_steps=self.steps, sandbox=DockerSandbox(timeout=TIMEOUT))
        self.rest.callback(remove_litellm_hook)
        return self

    def in_container(self, skill_id: str) -> str:
        return f"litellm:{skill_id}"

    def code(self, code: str) -> Call:
        return Call("run_python", {"code": code})

    def use(self, name: str, skill: str) -> Call:
        return Call("load_skill", {"name": name})

    def opened(self, *names: str) -> list[Call]:
        return [self.use(name, name) for name in names]

    async def acompletion(self, **kwargs: Any) -> Any:
        return await litellm.acompletion(**deepcopy(kwargs))

    async def messages(self, **kwargs: Any) -> Any:
        return await litellm.anthropic.messages.acreate(**deepcopy(kwargs))


class Theirs(Side):
    """LiteLLM's hook, called as its proxy does, with its executor; a dictionary stands in for its database."""

    litellm = litellm
    skills_folder = "/sandbox"

    def __init__(self, model: ScriptedModel, steps: int = 10) -> None:
        super().__init__(model, steps)
        self._hook = SkillsInjectionHook(max_iterations=steps, sandbox_timeout=TIMEOUT)
        self._user = UserAPIKeyAuth(api_key="sk-proxy", user_id=USER)
        self._table: dict[str, LiteLLM_SkillsTable] = {}

    async def __aenter__(self) -> Self:
        # Its next request names neither address nor key; these are what it falls back on.
        process = {"ANTHROPIC_API_BASE": self.model.root, "ANTHROPIC_API_KEY": "key-of-the-process"}
        self.rest.enter_context(mock.patch.dict(os.environ, process))
        for name in ("create_skill", "list_skills", "fetch_skill_from_db"):
            self.rest.enter_context(mock.patch.object(LiteLLMSkillsHandler, name, getattr(self, f"_{name}")))
        self.rest.enter_context(mock.patch.object(DefaultImage, "PYTHON", _THEIR_IMAGE))
        litellm.callbacks.append(self._hook)
        self.rest.callback(litellm.logging_callback_manager.remove_callback_from_all_lists, self._hook)
        return self

    def in_container(self, skill_id: str) -> str:
        return skill_id

    def code(self, code: str) -> Call:
        return Call("litellm_code_execution", {"code": code})

    def use(self, name: str, skill: str) -> Call:
        return Call(skill.replace("-", "_"), {})

    def opened(self, *names: str) -> list[Call]:
        return []

    async def acompletion(self, **kwargs: Any) -> Any:
        return await litellm.acompletion(**await self._before(kwargs, "acompletion"))

    async def messages(self, **kwargs: Any) -> Any:
        return await litellm.anthropic.messages.acreate(**await self._before(kwargs, "anthropic_messages"))

    async def _before(self, kwargs: dict[str, Any], call_type: Any) -> Any:
        return await self._hook.async_pre_call_hook(self._user, DualCache(), deepcopy(kwargs), call_type)

    async def _create_skill(self, data: Any, **_: object) -> LiteLLM_SkillsTable:
        skill_id, now = f"litellm_skill_{uuid.uuid4()}", datetime.now(UTC)
        row = LiteLLM_SkillsTable(skill_id=skill_id, created_at=now, updated_at=now, **data.model_dump())
        self._table[skill_id] = row
        return row

    async def _list_skills(self, limit: int = 20, offset: int = 0, **_: object) -> list[LiteLLM_SkillsTable]:
        return list(self._table.values())[offset : offset + limit]

    async def _fetch_skill_from_db(self, skill_id: str, **_: object) -> LiteLLM_SkillsTable | None:
        return self._table.get(skill_id)


def _upload(file: Any) -> Any:
    return ("skill.zip", file, "application/zip") if isinstance(file, bytes) else file


@contextlib.contextmanager
def their_image() -> Iterator[None]:
    """Makes of our image one that LiteLLM's executor can start; takes it away again."""
    client = docker.from_env()
    client.images.build(fileobj=io.BytesIO(_THEIR_RECIPE.encode()), tag=_THEIR_IMAGE, rm=True)
    try:
        yield
    finally:
        client.images.remove(_THEIR_IMAGE)
        client.close()
