"""What installing the hook does to litellm, and what it leaves alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import litellm
import pytest

from jupyter_skills import SkillStore, completion, install_litellm_hook, remove_litellm_hook
from jupyter_skills.litellm_hook import skills_hook
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.litellm_hook.conftest import HELLO, KEY, Calls, Listener, all_of, asking, heard, python, skill

LOAD = Call("load_skill", {"name": "counter"})


def lists() -> dict[str, Any]:
    """All of litellm that the hook touches."""
    from litellm.llms.anthropic.pass_through.messages.interceptors import get_messages_interceptors

    return {
        "callbacks": list(litellm.callbacks),
        "success": [*litellm.success_callback, *litellm._async_success_callback],
        "failure": [*litellm.failure_callback, *litellm._async_failure_callback],
        "input": list(litellm.input_callback),
        "providers": [entry["provider"] for entry in litellm.custom_provider_map],
        "known providers": [*litellm.provider_list, *litellm._custom_providers],
        "interceptors": list(get_messages_interceptors()),
        "completion": litellm.completion,
        "create": litellm.anthropic.messages.create,
    }


def test_importing_imports_no_litellm_and_changes_nothing() -> None:
    code = "import sys, jupyter_skills; jupyter_skills.install_litellm_hook; jupyter_skills.remove_litellm_hook()"
    code += "; print([name for name in ('litellm', 'docker', 'sqlalchemy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


async def test_it_is_removed_without_a_trace(store: SkillStore, calls: Calls, model: ScriptedModel) -> None:
    before = lists()
    install_litellm_hook()
    assert lists() != before
    model.add(Turn("Ok."), Turn("Ok."))
    await calls.chat(container=asking("counter"))
    await calls.messages(container=asking("counter"))
    remove_litellm_hook()
    assert lists() == before
    remove_litellm_hook()
    assert lists() == before


@pytest.mark.parametrize("shape", ["chat", "messages"])
async def test_calls_at_work_are_finished_when_it_is_removed(
    store: SkillStore, calls: Calls, model: ScriptedModel, shape: str
) -> None:
    before = lists()
    install_litellm_hook()
    model.add(Turn("One two three four five six.", [LOAD], hold_after=4), Turn("The end."))
    stream = await getattr(calls, shape)(container=asking("counter"), stream=True)
    begun = await anext(stream)
    remove_litellm_hook()
    model.release()
    assert "The end." in str([begun, *[chunk async for chunk in stream]])
    assert lists() == before


async def test_to_install_it_twice_is_to_install_it_once(store: SkillStore, calls: Calls, model: ScriptedModel) -> None:
    before = lists()
    install_litellm_hook()
    once = {name: len(entries) for name, entries in lists().items() if isinstance(entries, list)}
    install_litellm_hook(max_steps=1)
    assert {name: len(entries) for name, entries in lists().items() if isinstance(entries, list)} == once
    model.add(Turn("", [LOAD]))
    answer = await calls.chat(container=asking("counter"))
    assert answer._jupyter_skills["stopped_by"] == "max_steps", "what the second said counts"
    remove_litellm_hook()
    assert lists() == before


async def test_a_function_that_was_imported_before_is_hooked_too(
    store: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    from litellm import acompletion

    install_litellm_hook()
    model.add(Turn("Ok."))
    await acompletion("openai/scripted", HELLO, api_base=model.url, api_key=KEY, container=asking("counter"))
    remove_litellm_hook()
    assert "Knows all about counter." in json.dumps(calls.bodies())


@pytest.mark.parametrize("more", [{}, {"container": None}, {"container": {}}, {"stream": True}])
async def test_calls_without_skills_are_the_same_to_the_byte(
    store: SkillStore, calls: Calls, model: ScriptedModel, more: dict[str, Any]
) -> None:
    async def sent() -> str:
        model.add(Turn("Ok."), Turn("Ok."))
        for made in (await calls.chat(**more), await calls.messages(**more)):
            if more.get("stream"):
                _ = [chunk async for chunk in made]
        return json.dumps(calls.bodies()[-2:])

    before = await sent()
    install_litellm_hook()
    with_it = await sent()
    remove_litellm_hook()
    assert with_it == before


async def test_once_it_is_removed_a_container_is_litellms_again(
    store: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    install_litellm_hook()
    remove_litellm_hook()
    model.add(Turn("Ok."))
    await calls.chat("anthropic", container=asking("counter"))
    assert calls.bodies()[0]["container"] == asking("counter")


@pytest.mark.usefixtures("installed")
def test_sync_calls_with_skills_are_refused_with_the_way_to_go(model: ScriptedModel) -> None:
    given = {"messages": HELLO, "api_base": model.url, "api_key": KEY, "container": asking("counter")}
    with pytest.raises(litellm.BadRequestError, match=r"runs no hooks in this call.*jupyter_skills\.completion"):
        litellm.completion("openai/scripted", **given)
    with pytest.raises(litellm.BadRequestError, match=r"runs no hooks in this call.*acreate"):
        litellm.anthropic.messages.create(model="anthropic/scripted", max_tokens=5, **given)
    given["container"] = {"skills": [{"skill_id": "pptx"}]}
    with pytest.raises(litellm.BadRequestError, match="Only Anthropic's own API"):
        litellm.completion(model="openai/scripted", **given)
    assert not model.requests


@pytest.mark.usefixtures("installed")
def test_other_sync_calls_go_their_way(model: ScriptedModel) -> None:
    model.add(Turn("Ok."), Turn("Ok."))
    given = {"messages": HELLO, "api_base": model.url, "api_key": KEY}
    assert litellm.completion("openai/scripted", **given).choices[0].message.content == "Ok."
    native = {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}
    given["api_base"] = model.root
    litellm.completion("anthropic/scripted", **given, container=native)
    assert model.requests[-1].body["container"] == native


@pytest.mark.usefixtures("installed")
async def test_our_own_sync_call_works_inside_a_running_loop(model: ScriptedModel) -> None:
    model.add(Turn("Ok."))
    given = {"api_base": model.url, "api_key": KEY, "run": "off"}
    made = completion("openai/scripted", HELLO, skills=[skill("counter")], **given)
    assert made.choices[0].message.content == "Ok."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.usefixtures("installed")
async def test_other_callbacks_hear_of_one_call_with_the_usage_of_all_its_requests(
    calls: Calls, model: ScriptedModel, listener: Listener, shape: str, stream: bool
) -> None:
    name = "openai/gpt-4o" if shape == "chat" else "anthropic/claude-sonnet-4-5"
    model.add(Turn("", [LOAD], usage=(1000, 10)), Turn("Ok.", usage=(2000, 20)))
    made = await getattr(calls, shape)(model=name, container=asking("counter"), stream=stream)
    if stream:
        _ = [chunk async for chunk in made]
    ((provider, tokens, cost),) = await heard(calls, listener.succeeded)
    assert not listener.failed
    assert (provider, tokens) == (name.partition("/")[0], 3030)
    per_token = litellm.model_cost[name.partition("/")[2]]
    assert cost == pytest.approx(3000 * per_token["input_cost_per_token"] + 30 * per_token["output_cost_per_token"])
    assert len([kwargs for kwargs in listener.prepared if not kwargs.get("container")]) >= 2, "each request is prepared"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", ["chat", "messages"])
async def test_other_callbacks_hear_of_a_call_that_was_ended(
    store: SkillStore, calls: Calls, model: ScriptedModel, listener: Listener, shape: str, stream: bool
) -> None:
    install_litellm_hook(max_steps=1)
    try:
        model.add(Turn("", [LOAD], usage=(1000, 10)))
        await all_of(getattr(calls, shape)(container=asking("counter"), stream=stream), stream)
    finally:
        remove_litellm_hook()
    assert [tokens for _, tokens, _ in await heard(calls, listener.succeeded)] == [1010]
    assert not listener.failed


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.usefixtures("installed")
async def test_functions_as_callbacks_hear_of_one_call_too(
    calls: Calls, model: ScriptedModel, shape: str, stream: bool
) -> None:
    heard_of: list[tuple[str, int, float | None]] = []

    async def hear(kwargs: Any, response: Any, start_time: Any, end_time: Any) -> None:
        heard_of.append(("", response.usage.total_tokens, None))

    litellm.success_callback.append(hear)
    try:
        model.add(Turn("", [LOAD], usage=(1000, 10)), Turn("Ok.", usage=(2000, 20)))
        await all_of(getattr(calls, shape)(container=asking("counter"), stream=stream), stream)
        told = await heard(calls, heard_of)
    finally:
        for entries in (litellm.success_callback, litellm._async_success_callback):
            entries[:] = [entry for entry in entries if entry is not hear]
    assert [tokens for _, tokens, _ in told] == [3030]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.usefixtures("installed")
async def test_other_callbacks_hear_of_a_failure_once(
    calls: Calls, model: ScriptedModel, listener: Listener, shape: str, stream: bool
) -> None:
    model.add(Turn("", [LOAD]), Turn(status=400, message="bad thing"))
    with pytest.raises(litellm.BadRequestError):
        await all_of(getattr(calls, shape)(container=asking("counter"), stream=stream), stream)
    assert await heard(calls, listener.succeeded) == []
    assert listener.failed == ["BadRequestError"]


async def test_answers_of_litellms_cache_are_not_mixed_up(
    installed: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    litellm.cache = litellm.Cache(type="local")
    try:
        model.add(Turn("Counted."), Turn("Painted."))
        first = await calls.chat(container=asking("counter"), caching=True)
        second = await calls.chat(container=asking("painter"), caching=True)
    finally:
        litellm.cache = None
    assert (first.choices[0].message.content, second.choices[0].message.content) == ("Counted.", "Painted.")


async def test_a_router_finds_it_too(installed: SkillStore, calls: Calls, model: ScriptedModel) -> None:
    given = {"model": "openai/scripted", "api_base": model.url, "api_key": KEY}
    router = litellm.Router(model_list=[{"model_name": "mine", "litellm_params": given}])
    model.add(Turn("", [LOAD]), Turn("Ok."))
    answer = await router.acompletion("mine", HELLO, container=asking("counter"), temperature=0.5)
    assert answer.choices[0].message.content == "Ok."
    assert [body["temperature"] for body in calls.bodies()] == [0.5, 0.5]


async def test_below_a_router_a_request_is_tried_again_and_not_the_whole_call(
    installed: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    given = {"model": "openai/scripted", "api_base": model.url, "api_key": KEY}
    router = litellm.Router(model_list=[{"model_name": "mine", "litellm_params": given}], num_retries=2)
    busy = Turn(status=429, message="slow down", retry_after=0.01)
    model.add(Turn("", [LOAD]), busy)  # as often as it is asked
    with pytest.raises(litellm.RateLimitError):
        await router.acompletion("mine", HELLO, container=asking("counter"))
    assert [len(body["messages"]) for body in calls.bodies()] == [2, 4, 4, 4]


async def test_who_names_our_provider_without_skills_is_told(installed: SkillStore, calls: Calls) -> None:
    with pytest.raises(litellm.BadRequestError, match="asks nothing of 'jupyter_skills'"):
        await calls.chat(custom_llm_provider="jupyter_skills")


@pytest.mark.docker
async def test_the_limits_of_sandboxes_are_those_that_were_given(
    store: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    model.add(Turn("", [python("import time; time.sleep(60)")]), Turn("Ok."))
    install_litellm_hook(sandbox=DockerSandbox(timeout=1))
    try:
        answer = await calls.chat(container=asking("counter"))
    finally:
        remove_litellm_hook()
    assert [run["outcome"] for run in answer._jupyter_skills["code"]] == ["timeout"]


async def test_a_proxys_callback_is_the_same_one_each_time_and_works_as_a_callback(
    store: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    from jupyter_skills import litellm_hook

    assert litellm_hook.skills_hook is skills_hook
    before = lists()
    litellm.callbacks.append(skills_hook)
    try:
        model.add(Turn("", [LOAD]), Turn("Ok."))
        answer = await calls.chat(container=asking("counter"))
    finally:
        litellm.logging_callback_manager.remove_callback_from_all_lists(skills_hook)
        litellm.input_callback.remove(skills_hook)  # a list that litellm forgets there
        install_litellm_hook()
        remove_litellm_hook()  # the last one that goes takes all out of litellm
    assert answer._litellm_generated_files == []
    assert lists() == before


async def test_to_look_for_a_skill_makes_no_store(calls: Calls, model: ScriptedModel) -> None:
    from jupyter_skills.store.location import has_store

    install_litellm_hook()
    try:
        with pytest.raises(litellm.BadRequestError, match="There is no skill 'litellm:nothing'"):
            await calls.chat(container=asking("nothing"))
    finally:
        remove_litellm_hook()
    assert not has_store()
