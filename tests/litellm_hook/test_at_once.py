"""Many calls at once, each with what is its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from jupyter_skills import SkillStore, install_litellm_hook, remove_litellm_hook
from jupyter_skills.testing import Call, Exchange, ScriptedModel, Turn
from tests.litellm_hook.conftest import Calls, asking, events_in, python, skill


async def test_a_hundred_calls_at_once_with_different_skills_do_not_mix(
    store: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    names = [f"skill-{number:03}" for number in range(100)]
    for name in names:
        await store.create(skill(name, f"The word is word-of-{name}. " * 20))
    model.add(
        *[
            Exchange(f"About {name}!", [Turn("", [Call("load_skill", {"name": name})]), Turn(f"Answer about {name}.")])
            for name in names
        ]
    )
    install_litellm_hook()
    try:
        made = await asyncio.gather(*[one(calls, number, name) for number, name in enumerate(names)])
    finally:
        remove_litellm_hook()
    assert made == [f"Answer about {name}." for name in names]
    assert len(model.requests) == 200
    for request in model.requests:
        text = json.dumps(request.body)
        (name,) = [name for name in names if f"About {name}!" in text]
        assert request.headers["authorization"] == f"Bearer key-of-{name}"
        assert request.body["temperature"] == int(name[-3:]) / 100
        assert {other for other in names if other in text} == {name}


async def one(calls: Calls, number: int, name: str) -> str:
    """One of many; every third in a stream, every fifth in Anthropic's shape as an adapter translates it."""
    given: dict[str, Any] = {
        "messages": [{"role": "user", "content": f"About {name}!"}],
        "api_key": f"key-of-{name}",
        "temperature": number / 100,
        "container": asking(name),
        "stream": number % 3 == 0,
    }
    if number % 5 == 0:
        made = await calls.messages("hosted_vllm", **given)
        if given["stream"]:
            deltas = [event.get("delta", {}) for event in events_in([chunk async for chunk in made])]
            return "".join(delta.get("text", "") for delta in deltas)
        return made["content"][-1]["text"]  # type: ignore[no-any-return]
    made = await calls.chat(**given)
    if given["stream"]:
        return "".join([chunk.choices[0].delta.content or "" async for chunk in made])
    return made.choices[0].message.content  # type: ignore[no-any-return]


@pytest.mark.docker
async def test_sandboxes_of_calls_at_once_are_their_own(store: SkillStore, calls: Calls, model: ScriptedModel) -> None:
    names = [f"note-{number}" for number in range(6)]
    for name in names:
        await store.create(skill(name))
    look = "import os; print(sorted(os.listdir('.')), 'secret' in globals())"
    model.add(
        *[
            Exchange(
                f"About {name}!",
                [
                    Turn("", [python(look)]),
                    Turn("", [python(f"secret = 1; open('{name}.txt', 'w').write('{name}')")]),
                    Turn("", [python(look)]),
                    Turn("Done."),
                ],
            )
            for name in names
        ]
    )
    install_litellm_hook()
    try:
        prompts = [[{"role": "user", "content": f"About {name}!"}] for name in names]
        made = await asyncio.gather(
            *[calls.chat(messages=prompt, container=asking(name)) for prompt, name in zip(prompts, names, strict=True)]
        )
    finally:
        remove_litellm_hook()
    for name, answer in zip(names, made, strict=True):
        assert [file["path"] for file in answer._litellm_generated_files] == [f"{name}.txt"]
        results = [message["content"] for message in answer._jupyter_skills["messages"] if message["role"] == "tool"]
        assert "[] False" in results[0]
        assert f"['{name}.txt'] True" in results[2]


@pytest.mark.docker
async def test_only_so_many_sandboxes_are_there_at_once(
    store: SkillStore, calls: Calls, model: ScriptedModel, containers: Any
) -> None:
    model.add(Exchange("Hello", [Turn("", [python("1")]), Turn("Held.", hold_after=0)]))
    install_litellm_hook(most_sandboxes=2)
    try:
        held = [asyncio.create_task(calls.chat(container=asking("counter"), stream=True)) for _ in range(2)]
        streams = [await task for task in held]
        firsts = [asyncio.create_task(anext(stream)) for stream in streams]
        assert await asyncio.to_thread(model.wait_for_requests, 4)
        third = asyncio.create_task(calls.chat(container=asking("counter")))
        assert await asyncio.to_thread(model.wait_for_requests, 5)
        assert len(containers()) == 2
        assert not third.done()
        model.release()
        _ = [await first for first in firsts], [[chunk async for chunk in stream] for stream in streams]
        answer = await third
    finally:
        remove_litellm_hook()
    assert [run["outcome"] for run in answer._jupyter_skills["code"]] == ["ok"]
