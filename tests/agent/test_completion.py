"""``acompletion`` and ``completion``: litellm's calls, with skills."""

from __future__ import annotations

import asyncio
import copy
import json
import subprocess
import sys
from typing import Any

import pytest

from jupyter_skills import Skill, acompletion, completion
from jupyter_skills.agent.sync import run_apart
from jupyter_skills.errors import ModelFailed, SkillNotFound, UsageProblem
from jupyter_skills.testing import Call, ScriptedModel, Turn

HELLO = [{"role": "user", "content": "Hello"}]
ADD = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}},
}
FILE = "open('made.txt', 'w').write('made')"


def reach(model: ScriptedModel) -> dict[str, Any]:
    return {"model": "openai/scripted", "api_base": model.url, "run": "off"}


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
async def test_code_runs_and_the_last_answer_comes_back(model: ScriptedModel, provider: str) -> None:
    model.add(
        Turn("Making it.", [Call("run_python", {"code": FILE})], usage=(10, 1)), Turn("There it is.", usage=(20, 2))
    )
    base = model.url if provider == "openai" else model.root
    made = await acompletion(
        f"{provider}/scripted", HELLO, run="docker", api_base=base, api_key="any", temperature=0.5, seed=None
    )
    assert type(made).__name__ == "ModelResponse"
    assert made.choices[0].message.content == "There it is."
    assert made.choices[0].finish_reason == "stop"
    assert (made.usage.prompt_tokens, made.usage.completion_tokens, made.usage.total_tokens) == (30, 3, 33)
    assert [(file.path, file.data) for file in made.files] == [("made.txt", b"made")]
    assert [run.outcome for run in made.code] == ["ok"]
    assert [message["role"] for message in made.messages] == ["assistant", "tool", "assistant"]
    made.model_dump_json()


async def test_what_the_caller_gives_is_not_changed_and_sent_each_time(model: ScriptedModel, skill: Skill) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    ]
    tools, more = [copy.deepcopy(ADD)], {"temperature": 0.25, "metadata": {"a": "b"}, "stop": ["END"]}
    before = copy.deepcopy((messages, tools, more))
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Ok."))
    await acompletion(messages=messages, tools=tools, skills=[skill], **reach(model), **more)
    assert (messages, tools, more) == before
    for request in model.requests:
        assert (request.body["temperature"], request.body["stop"]) == (0.25, ["END"])
        assert "add" in [tool["function"]["name"] for tool in request.body["tools"]]
        (system,) = [message for message in request.body["messages"] if message["role"] == "system"]
        assert "Be brief." in system["content"]
        assert "inside a notebook" not in system["content"]


async def test_without_skills_and_code_it_is_litellms_own_call(model: ScriptedModel) -> None:
    model.add(Turn("Hello to you."))
    made = await acompletion(messages=HELLO, **reach(model))
    assert made.choices[0].message.content == "Hello to you."
    assert "tools" not in model.requests[0].body


async def test_the_callers_own_tools_are_left_to_the_caller(model: ScriptedModel, skill: Skill) -> None:
    model.add(
        Turn("Two things.", [Call("load_skill", {"name": "counter"}), Call("add", {"x": 1})]),
        Turn("", [Call("counter__nothing", {})]),
        Turn("One and one."),
    )
    options = {"skills": [skill], "tools": [ADD], **reach(model)}
    made = await acompletion(messages=HELLO, **options)
    choice = made.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Two things.")
    assert [call.function.name for call in choice.message.tool_calls] == ["add"]
    assert [message["role"] for message in made.messages] == ["assistant", "tool"], "our own call is answered"
    result = {"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": "2"}
    made = await acompletion(messages=[*HELLO, *made.messages, result], **options)
    assert made.choices[0].message.content == "One and one."


async def test_a_skill_that_the_messages_show_as_loaded_is_loaded(model: ScriptedModel, skill: Skill) -> None:
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Loaded."))
    made = await acompletion(messages=HELLO, skills=[skill], **reach(model))
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Yes."))
    again = [*HELLO, *made.messages, {"role": "user", "content": "Load it"}]
    made = await acompletion(messages=again, skills=[skill], **reach(model))
    assert "already" in made.messages[1]["content"]


async def test_loaded_skills_are_told_apart_where_the_provider_numbers_each_replys_calls_anew(
    model: ScriptedModel, skill: Skill
) -> None:
    said = [*HELLO]
    for name in ("counter", "gone"):
        function = {"name": "load_skill", "arguments": json.dumps({"name": name})}
        said.append({"role": "assistant", "tool_calls": [{"id": "0", "type": "function", "function": function}]})
        said.append({"role": "tool", "tool_call_id": "0", "content": f'<skill_content name="{name}">'})
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Yes."))
    made = await acompletion(messages=[*said, {"role": "user", "content": "Go"}], skills=[skill], **reach(model))
    assert "already" in made.messages[1]["content"]


async def test_limits_are_finish_reasons(model: ScriptedModel, skill: Skill) -> None:
    model.add(*[Turn("So far.", [Call("load_skill", {"name": "counter"})])] * 2)
    made = await acompletion(messages=HELLO, skills=[skill], max_steps=2, **reach(model))
    choice = made.choices[0]
    assert (choice.finish_reason, choice.message.content, choice.message.tool_calls) == ("max_steps", "So far.", None)
    prices = {"input_cost_per_token": 1.0, "output_cost_per_token": 1.0}
    made = await acompletion(messages=HELLO, max_cost=0.01, **prices, **reach(model))
    assert (made.choices[0].finish_reason, made.choices[0].message.content) == ("max_cost", "")


async def test_a_stream_is_litellms_chunks_and_ends_with_the_usage(model: ScriptedModel, skill: Skill) -> None:
    model.add(
        Turn("First.", [Call("load_skill", {"name": "counter"})], usage=(1, 1)), Turn("Then.", piece=2, usage=(2, 2))
    )
    stream = await acompletion(messages=HELLO, skills=[skill], stream=True, **reach(model))
    chunks = [chunk async for chunk in stream]
    assert {type(chunk).__name__ for chunk in chunks} == {"ModelResponseStream"}
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "First.\n\nThen."
    assert len(chunks) > 3
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens == 6
    assert stream.response.choices[0].message.content == "Then."
    assert [message["role"] for message in stream.response.messages] == ["assistant", "tool", "assistant"]


async def test_leaving_a_stream_stops_the_model(model: ScriptedModel) -> None:
    model.add(Turn("never to its end", piece=2, hold_after=2))
    stream = await acompletion(messages=HELLO, stream=True, **reach(model))
    assert (await anext(stream)).choices[0].delta.content == "ne"
    await asyncio.wait_for(stream.aclose(), 2)
    assert stream.response is None


async def test_an_error_in_a_stream_is_raised_where_it_is_read(model: ScriptedModel) -> None:
    model.add(Turn(status=500))
    stream = await acompletion(messages=HELLO, stream=True, **reach(model))
    with pytest.raises(ModelFailed):
        await anext(stream)


def test_completion_needs_no_loop(model: ScriptedModel) -> None:
    model.add(Turn("Hi."), Turn("Hi again.", piece=2))
    assert completion(messages=HELLO, **reach(model)).choices[0].message.content == "Hi."
    chunks = list(completion(messages=HELLO, stream=True, **reach(model)))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hi again."


def test_completion_in_many_threads_shares_one_loop_and_leaves_nothing_on_the_screen(model: ScriptedModel) -> None:
    model.add(*[Turn("Hi.")] * 9)
    code = f"""
import threading
from jupyter_skills import completion

def ask():
    made = completion(messages={HELLO!r}, api_key="any", **{reach(model)!r})
    assert made.choices[0].message.content == "Hi."

for _ in range(2):
    threads = [threading.Thread(target=ask) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
ask()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(model.requests) == 9


async def test_completion_works_inside_a_running_loop(model: ScriptedModel) -> None:
    model.add(Turn("Hi."), Turn("Hi again."), Turn("And again."))
    assert completion(messages=HELLO, **reach(model)).choices[0].message.content == "Hi."
    assert (await acompletion(messages=HELLO, **reach(model))).choices[0].message.content == "Hi again."
    assert completion(messages=HELLO, **reach(model)).choices[0].message.content == "And again."


def test_an_error_within_a_call_from_within_a_call_is_raised_as_it_is() -> None:
    async def inner() -> None:
        raise RuntimeError("mine")

    async def outer() -> None:
        run_apart(inner)

    with pytest.raises(RuntimeError, match="mine"):
        run_apart(outer)


async def test_what_makes_no_sense_is_one_line(model: ScriptedModel) -> None:
    with pytest.raises(UsageProblem, match="several answers"):
        await acompletion(messages=HELLO, n=2, **reach(model))
    with pytest.raises(UsageProblem, match="no messages"):
        await acompletion(**reach(model))
    with pytest.raises(SkillNotFound):
        await acompletion(messages=HELLO, skills=["nowhere"], **reach(model))
    with pytest.raises(UsageProblem, match="live"):
        await acompletion(messages=HELLO, **{**reach(model), "run": "live"})
