"""What the tests of the hook share: a store with skills, the hook, and calls of both shapes to a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

from jupyter_skills import Skill, SkillStore, install_litellm_hook, remove_litellm_hook
from jupyter_skills.testing import Call, ScriptedModel, Turn

KEY = "sk-of-the-test"
HELLO = [{"role": "user", "content": "Hello"}]
BODY = "Count slowly, and say each number. " * 20


def skill(name: str, body: str = BODY) -> Skill:
    return Skill.from_text(f"---\nname: {name}\ndescription: Knows all about {name}.\n---\n{body}\n")


def asking(*names: str, **more: Any) -> dict[str, Any]:
    """A ``container`` that asks for skills."""
    return {"skills": [{"type": "custom", "skill_id": f"litellm:{name}"} for name in names], **more}


def python(code: str) -> Call:
    return Call("run_python", {"code": code})


class Calls:
    """litellm's two calls, to the scripted model."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    async def chat(self, provider: str = "openai", **more: Any) -> Any:
        base = self.model.url if provider in ("openai", "hosted_vllm") else self.model.root
        given = {"model": f"{provider}/scripted", "messages": HELLO, "api_base": base, "api_key": KEY, "max_retries": 0}
        return await litellm.acompletion(**{**given, **more})

    async def messages(self, provider: str = "anthropic", **more: Any) -> Any:
        base = self.model.url if provider in ("openai", "hosted_vllm") else self.model.root
        given = {
            "model": f"{provider}/scripted",
            "max_tokens": 500,
            "messages": HELLO,
            "api_base": base,
            "api_key": KEY,
            "max_retries": 0,
        }
        return await litellm.anthropic.messages.acreate(**{**given, **more})

    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.model.requests]


def events_in(chunks: list[bytes]) -> list[dict[str, Any]]:
    """The events of a stream of Anthropic's."""
    lines = b"".join(chunks).decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def all_of(call: Any, stream: bool) -> list[Any]:
    """What a call gives: its chunks, or the one answer."""
    made = await call
    return [chunk async for chunk in made] if stream else [made]


async def heard(calls: Calls, events: list[tuple[str, int, float | None]]) -> list[tuple[str, int, float | None]]:
    """What came before the event of a plain call: litellm tells its callbacks later, by a worker of its own."""
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

    calls.model.add(Turn("Plain.", usage=(3, 4)))
    await calls.chat()
    async with asyncio.timeout(10):
        while 7 not in [tokens for _, tokens, _ in events]:
            await GLOBAL_LOGGING_WORKER.flush()
            await asyncio.sleep(0.01)
    await GLOBAL_LOGGING_WORKER.flush()
    return [event for event in events if event[1] != 7]


class Listener(CustomLogger):
    """A callback of somebody else's."""

    def __init__(self) -> None:
        super().__init__()
        self.succeeded: list[tuple[str, int, float | None]] = []
        self.failed: list[str] = []
        self.prepared: list[dict[str, Any]] = []

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> None:
        self.prepared.append(dict(kwargs))

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        provider = kwargs.get("custom_llm_provider")
        self.succeeded.append((provider, response_obj.usage.total_tokens, kwargs.get("response_cost")))

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.failed.append(type(kwargs["exception"]).__name__)


@pytest.fixture(autouse=True)
def prices() -> Iterator[None]:
    """A router of litellm's enters its models into the one table of prices, and leaves them there."""
    before = set(litellm.model_cost)
    yield
    for name in set(litellm.model_cost) - before:
        del litellm.model_cost[name]
    litellm.utils._invalidate_model_cost_lowercase_map()


@pytest.fixture
def calls(model: ScriptedModel) -> Calls:
    return Calls(model)


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    litellm.callbacks.append(listening)
    yield listening
    for name in ("callbacks", "input_callback", "success_callback", "failure_callback"):
        entries = getattr(litellm, name)
        entries[:] = [entry for entry in entries if entry is not listening]
    for name in ("_async_success_callback", "_async_failure_callback"):
        entries = getattr(litellm, name)
        entries[:] = [entry for entry in entries if entry is not listening]


@pytest.fixture
async def store() -> AsyncIterator[SkillStore]:
    async with SkillStore() as store:
        for name in ("counter", "painter"):
            await store.create(skill(name))
        yield store


@pytest.fixture
def installed(store: SkillStore) -> Iterator[SkillStore]:
    install_litellm_hook()
    yield store
    remove_litellm_hook()
