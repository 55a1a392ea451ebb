"""What else callers give litellm besides ``container``: each of it means what it means without skills."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import litellm
import pytest
from pydantic import BaseModel

from jupyter_skills import SkillStore, install_litellm_hook, remove_litellm_hook
from jupyter_skills.errors import UsageProblem
from jupyter_skills.testing import Call, Exchange, ScriptedModel, Turn, wire_openai
from tests.litellm_hook.conftest import HELLO, Calls, all_of, asking, python

SHAPES = ("chat", "messages")
LOAD = Call("load_skill", {"name": "counter"})
BUSY = Turn(status=429, message="slow down", retry_after=0.01)


class Sum(BaseModel):
    """What an answer is to be like."""

    total: int


AS_SCHEMA = {"type": "json_schema", "json_schema": {"name": "Sum", "schema": Sum.model_json_schema()}}


def tool(shape: str, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    if shape == "messages":
        return {"name": name, "input_schema": schema}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@pytest.mark.usefixtures("installed")
async def test_each_request_falls_back_on_the_second_model(calls: Calls, model: ScriptedModel) -> None:
    down = Turn(status=500, message="down")
    model.add(down, Turn("", [LOAD]), down, Turn("Ok."))
    answer = await calls.chat(container=asking("counter"), fallbacks=["openai/second"])
    assert answer.choices[0].message.content == "Ok."
    assert [body["model"] for body in calls.bodies()] == ["scripted", "second"] * 2
    assert [len(body["messages"]) for body in calls.bodies()] == [2, 2, 4, 4], "no request is made for nothing"


@pytest.mark.usefixtures("installed")
async def test_a_request_is_tried_again_if_the_caller_says_so(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("", [LOAD]), BUSY, Turn("Ok."))
    answer = await calls.chat(container=asking("counter"), num_retries=1)
    assert answer.choices[0].message.content == "Ok."
    assert [len(body["messages"]) for body in calls.bodies()][:3] == [2, 4, 4]


@pytest.mark.parametrize("more", [{"num_retries": 1}, {"num_retries": 2}, {"max_retries": 1}], ids=str)
@pytest.mark.usefixtures("installed")
async def test_a_request_is_tried_as_often_as_a_call_without_skills(
    calls: Calls, model: ScriptedModel, more: dict[str, int]
) -> None:
    model.add(Exchange("Plain", [BUSY]), Exchange("Hello", [Turn("", [LOAD]), BUSY]))
    with pytest.raises(litellm.RateLimitError):
        await calls.chat(messages=[{"role": "user", "content": "Plain"}], **more)
    tries = len(model.requests)
    assert tries > 1
    with pytest.raises(litellm.RateLimitError):
        await calls.chat(container=asking("counter"), **more)
    assert [len(body["messages"]) for body in calls.bodies()[tries:]] == [2, *[4] * tries]


@pytest.mark.parametrize("wanted", [AS_SCHEMA, Sum], ids=["as JSON", "as a class"])
@pytest.mark.usefixtures("installed")
async def test_the_form_of_the_answer_is_asked_for_in_each_request(
    calls: Calls, model: ScriptedModel, wanted: Any
) -> None:
    model.add(Turn("", [LOAD]), Turn('{"total": 42}'))
    answer = await calls.chat(container=asking("counter"), response_format=wanted)
    assert Sum.model_validate_json(answer.choices[0].message.content).total == 42
    for body in calls.bodies():
        asked = body["response_format"]
        assert (asked["type"], asked["json_schema"]["name"]) == ("json_schema", "Sum")
        assert asked["json_schema"]["schema"]["properties"] == Sum.model_json_schema()["properties"]
    assert len(model.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.usefixtures("installed")
async def test_a_mocked_answer_asks_no_model(calls: Calls, model: ScriptedModel, stream: bool) -> None:
    chunks = await all_of(calls.chat(container=asking("counter"), mock_response="Mocked.", stream=stream), stream)
    answer = litellm.stream_chunk_builder(chunks) if stream else chunks[0]
    assert answer.choices[0].message.content == "Mocked."
    assert [chunk._litellm_generated_files for chunk in chunks if hasattr(chunk, "_litellm_generated_files")] == [[]]
    assert not model.requests


@pytest.mark.usefixtures("installed")
async def test_a_bare_name_is_the_model_of_the_provider_that_was_named(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("", [LOAD]), Turn("Ok."))
    given = {"model": "scripted", "custom_llm_provider": "openai"}
    answer = await calls.chat(**given, container=asking("counter"))
    assert answer.choices[0].message.content == "Ok."
    assert [body["model"] for body in calls.bodies()] == ["scripted"] * 2


@pytest.mark.usefixtures("installed")
async def test_the_message_of_an_answer_may_be_one_of_the_next_call(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Wait.", [Call("get_weather", {"city": "Rome"})]), Turn("Sunny."))
    tools = [tool("chat", "get_weather")]
    message = (await calls.chat(container=asking("counter"), tools=tools)).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sun"}
    answer = await calls.chat(container=asking("counter"), tools=tools, messages=[*HELLO, message, result])
    assert answer.choices[0].message.content == "Sunny."
    said = calls.bodies()[-1]["messages"][-2]
    assert (said["role"], said["content"]) == ("assistant", "Wait.")
    assert said["tool_calls"][0]["function"]["name"] == "get_weather"


@pytest.mark.docker
async def test_calls_of_two_event_loops_in_two_threads_share_the_places_of_sandboxes(
    store: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    for name in ("counter", "painter"):
        code = python(f"open('{name}.txt', 'w').write('{name}')")
        model.add(Exchange(f"To the {name}", [Turn("", [code]), Turn("Done.", hold_after=0)]))

    async def one(name: str) -> list[str]:
        prompt = [{"role": "user", "content": f"To the {name}"}]
        chunks = await all_of(calls.chat(container=asking(name), messages=prompt, stream=True), stream=True)
        return [file["path"] for chunk in chunks for file in getattr(chunk, "_litellm_generated_files", ())]

    install_litellm_hook(most_sandboxes=1)
    try:
        at_once = [asyncio.to_thread(asyncio.run, one(name)) for name in ("counter", "painter")]
        both = asyncio.gather(*at_once)
        # One of them has its sandbox and is held, the other has been told to run code, and waits for its place.
        assert await asyncio.to_thread(model.wait_for_requests, 3)
        assert not both.done()
        model.release()
        assert await both == [["counter.txt"], ["painter.txt"]]
    finally:
        remove_litellm_hook()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("installed")
async def test_a_model_that_takes_too_long_is_a_timeout(
    calls: Calls, model: ScriptedModel, shape: str, stream: bool
) -> None:
    model.add(Turn("", [LOAD]), Turn("Late.", delay=20))
    call = getattr(calls, shape)(container=asking("counter"), stream=stream, timeout=0.5)
    with pytest.raises(litellm.Timeout, match=r"timeout="):
        await asyncio.wait_for(all_of(call, stream), 10)
    assert len(model.requests) == 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("installed")
async def test_a_tool_of_the_callers_with_the_name_of_one_of_ours_is_refused(
    calls: Calls, model: ScriptedModel, shape: str
) -> None:
    with pytest.raises(litellm.BadRequestError, match="run_python") as caught:
        await getattr(calls, shape)(container=asking("counter"), tools=[tool(shape, "run_python")])
    assert "\n" not in str(caught.value)
    assert not model.requests


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.usefixtures("installed")
async def test_a_systems_text_is_cached_if_the_caller_says_so(
    calls: Calls, model: ScriptedModel, provider: str
) -> None:
    kept = {"type": "ephemeral"}
    system = {"role": "system", "content": "Be brief.", "cache_control": kept}
    model.add(Turn("", [LOAD]), Turn("Ok."))
    await calls.chat(provider, container=asking("counter"), messages=[system, *HELLO])
    assert len(model.requests) == 2
    for body in calls.bodies():
        if provider == "anthropic":
            (own,) = [block for block in body["system"] if block["text"] == "Be brief."]
            assert own["cache_control"] == kept
        else:  # litellm itself takes the mark out for OpenAI, which refuses it
            assert "Be brief." in json.dumps(body["messages"])


@pytest.mark.usefixtures("installed")
async def test_a_stream_tells_what_the_model_thinks(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("", [LOAD], reasoning="I should read it."), Turn("Ok.", reasoning="Now I know."))
    chunks = await all_of(calls.chat(container=asking("counter"), stream=True), stream=True)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    thought = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    assert "I should read it." in thought
    assert "Now I know." in thought
    assert "".join(delta.content or "" for delta in deltas) == "Ok."


def raw(turn: Turn, tokens: tuple[int, int], cached: int, thought: int) -> Turn:
    """An answer of OpenAI's with the details of its usage."""
    usage = {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "total_tokens": sum(tokens),
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    return Turn(raw={**wire_openai.whole(turn, {"model": "scripted"}), "usage": usage})


@pytest.mark.usefixtures("installed")
async def test_the_details_of_usage_are_those_of_all_requests(calls: Calls, model: ScriptedModel) -> None:
    model.add(raw(Turn("", [LOAD]), (1000, 20), 600, 5), raw(Turn("Ok."), (2000, 30), 1400, 8))
    usage = (await calls.chat(container=asking("counter"))).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (3000, 50, 3050)
    assert usage.prompt_tokens_details.cached_tokens == 2000
    assert usage.completion_tokens_details.reasoning_tokens == 13


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("installed")
async def test_no_messages_are_a_bad_request(calls: Calls, model: ScriptedModel, shape: str, stream: bool) -> None:
    call = getattr(calls, shape)(container=asking("counter"), messages=[], stream=stream)
    with pytest.raises(litellm.BadRequestError, match="There are no messages"):
        await all_of(call, stream)
    assert not model.requests


@pytest.mark.parametrize(
    "given",
    [
        {"max_steps": 0},
        {"max_steps": "a"},
        {"max_steps": True},
        {"max_cost": -1},
        {"max_cost": "much"},
        {"most_sandboxes": 0},
    ],
    ids=str,
)
def test_a_limit_that_makes_no_sense_is_refused_where_it_is_given(given: dict[str, Any]) -> None:
    before = list(litellm.callbacks)
    (name,) = given
    with pytest.raises(UsageProblem, match=name):
        install_litellm_hook(**given)
    assert litellm.callbacks == before


BEFORE = """
import os
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
from litellm import completion
import litellm
from jupyter_skills import install_litellm_hook
install_litellm_hook()
try:
    completion("openai/scripted", [{"role": "user", "content": "Hello"}], api_base="http://127.0.0.1:9/v1",
               api_key="k", container={"skills": [{"type": "custom", "skill_id": "litellm:counter"}]})
except litellm.BadRequestError as error:
    print(error)
"""


def test_a_sync_function_that_was_imported_before_is_refused_too() -> None:
    done = subprocess.run([sys.executable, "-c", BEFORE], capture_output=True, text=True)
    assert done.stderr == ""
    assert "runs no hooks in this call" in done.stdout
