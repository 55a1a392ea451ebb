"""The real litellm against the scripted server, in all its wire formats, whole and streamed."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from jupyter_skills.errors import (
    ContentRefused,
    ModelBrokeOff,
    ModelBusy,
    ModelFailed,
    ModelKeyMissing,
    ModelOverlong,
    ModelProblem,
    ModelRefused,
    ModelUnknown,
    ModelUnreachable,
    ToolsUnsupported,
)
from jupyter_skills.models.client import ModelReply, ModelRequest, ReasoningDelta, TextDelta, Usage
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.models.conftest import HELLO, TOOL, answer, request_to


async def test_text_calls_and_usage_come_through(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn("I'll add, twice: ½ + ½.", [Call("add", {"x": "é"}), Call("add", {"y": [1, 2]})], usage=(7, 11)))
    texts, reply = await answer(request_to(model, provider, stream=stream))
    assert "".join(texts) == reply.text == "I'll add, twice: ½ + ½."
    assert [(call.name, call.arguments.replace(" ", "")) for call in reply.tool_calls] == [
        ("add", '{"x":"\\u00e9"}' if "\\u00e9" in reply.tool_calls[0].arguments else '{"x":"é"}'),
        ("add", '{"y":[1,2]}'),
    ]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert (reply.finish_reason, reply.usage) == ("tool_calls", Usage(7, 11))
    assert reply.cost is None, "nobody knows the price of a scripted model"
    assert reply.raw.choices[0].message.content == reply.text, "litellm's own response is handed on"


async def test_text_comes_in_the_pieces_it_is_sent_in(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("abcdefgh", piece=2))
    texts, _ = await answer(request_to(model, provider))
    assert texts == ["ab", "cd", "ef", "gh"]


async def test_the_first_piece_is_there_before_the_last_is_sent(model: ScriptedModel) -> None:
    model.add(Turn("first and last", piece=5, hold_after=3))
    pieces = LitellmClient().answer(request_to(model, "openai"))
    first = await anext(pieces)
    assert first == TextDelta("first")
    model.release()
    *_, reply = [piece async for piece in pieces]
    assert isinstance(reply, ModelReply)
    assert reply.text == "first and last"


async def test_the_reply_can_be_sent_back(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn("", [Call("add", {"x": 1})]), Turn("done"))
    _, reply = await answer(request_to(model, provider, stream=stream))
    result = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "name": "add", "content": "2"}
    _, last = await answer(request_to(model, provider, stream=stream, messages=[*HELLO, reply.message, result]))
    assert last.text == "done"
    sent = model.requests[1].body.get("messages") or model.requests[1].body["contents"]
    assert len(sent) == 3


async def test_reasoning_is_told_and_goes_back_as_it_came(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    thought = Turn("", [Call("add", {"x": 1}), Call("add", {"x": 2})], reasoning="One and two are three.")
    model.add(thought, Turn("done"))
    pieces = [piece async for piece in LitellmClient().answer(request_to(model, provider, stream=stream))]
    *told, reply = pieces
    assert "".join(piece.text for piece in told if isinstance(piece, ReasoningDelta)) == thought.reasoning
    assert isinstance(reply, ModelReply)
    results = [{"role": "tool", "tool_call_id": call.id, "name": "add", "content": "3"} for call in reply.tool_calls]
    _, last = await answer(request_to(model, provider, stream=stream, messages=[*HELLO, reply.message, *results]))
    assert last.text == "done", "the server takes back no calls without the signed reasoning before them"
    if provider != "openai":
        assert thought.signature in json.dumps(model.requests[1].body)
    else:
        assert thought.reasoning in json.dumps(model.requests[1].body)


async def test_a_history_that_a_provider_refuses_is_refused(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("", [Call("add", {"x": 1}), Call("add", {"x": 2})]), Turn("never said"))
    _, reply = await answer(request_to(model, provider))
    first = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "name": "add", "content": "2"}
    with pytest.raises(ModelRefused):
        await answer(request_to(model, provider, messages=[*HELLO, reply.message, first]))


async def test_the_price_may_be_the_users_own(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn("hi", usage=(10, 2)))
    request = request_to(model, provider, stream=stream)
    prices = {"input_cost_per_token": 0.5, "output_cost_per_token": 1.0}
    _, reply = await answer(replace(request, arguments={**request.arguments, **prices}))
    assert reply.cost == 7.0
    assert "cost_per_token" not in json.dumps(model.requests[0].body)


async def test_what_the_caller_gave_is_not_changed(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("hi"))
    messages = [{"role": "system", "content": "Be brief."}, *HELLO]
    request = request_to(model, provider, messages=messages)
    request = replace(request, arguments={**request.arguments, "metadata": {"a": "b"}})
    before = repr((messages, TOOL, request))
    await answer(request)
    assert repr((messages, TOOL, request)) == before


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, ModelRefused),
        (401, ModelKeyMissing),
        (403, ModelKeyMissing),
        (404, ModelUnknown),
        (429, ModelBusy),
        (500, ModelFailed),
        (502, ModelBusy),
        (503, ModelBusy),
        (504, ModelBusy),
        (529, ModelBusy),
    ],
)
async def test_each_status_is_one_readable_line(
    model: ScriptedModel, provider: str, status: int, error: type[ModelProblem]
) -> None:
    model.add(Turn(status=status, message="the kettle is empty"))
    with pytest.raises(error) as caught:
        await answer(request_to(model, provider, stream=False))
    line = str(caught.value)
    assert "the kettle is empty" in line
    assert caught.value.next_step
    assert not any(mark in line for mark in ("\n", "litellm", "Exception", "{"))


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Turn(status=400, message="This model's maximum context length is 5 tokens"), ModelOverlong),
        (Turn(status=400, message="no", error_type="request_too_large", error_code="context_length_exceeded"), None),
        (Turn(status=413, message="Prompt is too long"), ModelOverlong),
        (Turn(status=429, message="Request too large: limit 10, requested 20"), ModelOverlong),
        (Turn(status=400, message="Output blocked by content filtering policy"), ContentRefused),
        (Turn(status=400, message="It was rejected by the safety system"), ContentRefused),
        (Turn(status=400, message="registry.ollama.ai/library/x does not support tools"), ToolsUnsupported),
        (Turn(status=400, message='"auto" tool choice requires --enable-auto-tool-choice'), ToolsUnsupported),
        (Turn(status=404, message="No endpoints found that support tool use"), ToolsUnsupported),
        (Turn(status=400, message="Function calling is not enabled for this model"), ToolsUnsupported),
        (Turn(status=400, message="Invalid schema for function 'add': 'oneOf' is not supported"), ModelRefused),
        (Turn(status=429, message="You exceeded your current quota, check your plan and billing"), ModelRefused),
        (Turn(status=400, message="Your credit balance is too low"), ModelRefused),
        (Turn(status=429, message="You exceeded your current quota, check your billing", retry_after=30), ModelBusy),
    ],
)
async def test_refusals_are_told_from_each_other_by_what_the_user_can_do(
    model: ScriptedModel, provider: str, failure: Turn, error: type[ModelProblem] | None, *, stream: bool
) -> None:
    if error is None:
        if provider != "openai":
            return  # the others have no code beside the message
        error = ModelOverlong
    model.add(failure)
    with pytest.raises(ModelProblem) as caught:
        await answer(request_to(model, provider, stream=stream))
    assert type(caught.value) is error
    assert failure.message in str(caught.value)
    assert len(model.requests) == 1, "nobody tries again in silence"


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_busy_provider_says_how_long_to_wait(
    model: ScriptedModel, provider: str, status: int, *, stream: bool
) -> None:
    model.add(Turn(status=status, message="slow down", retry_after=7))
    with pytest.raises(ModelBusy) as caught:
        await answer(request_to(model, provider, stream=stream))
    assert caught.value.wait == 7
    assert len(model.requests) == 1, "nobody tries again in silence"


async def test_errors_hold_no_keys(
    model: ScriptedModel, provider: str, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "of-another-provider")
    said = "Incorrect API key provided: sk-proj-1234567890. Given: hidden-word, of-another-provider"
    model.add(Turn(status=401, message=said))
    request = request_to(model, provider, stream=stream)
    with pytest.raises(ModelKeyMissing) as caught:
        await answer(replace(request, arguments={**request.arguments, "api_key": "hidden-word"}))
    assert not [word for word in ("1234567890", "hidden-word", "another-provider") if word in str(caught.value)]
    assert caught.value.__cause__ is None, "a traceback would quote it"
    assert caught.value.__suppress_context__
    assert "Incorrect API key provided: ***" in str(caught.value)


# Of Gemini's chunks litellm says each time that it is the last one, so that a quiet end can't be told from a good one.
@pytest.mark.parametrize(
    ("provider", "how"),
    [("openai", "abort"), ("openai", "quiet"), ("anthropic", "abort"), ("anthropic", "quiet"), ("gemini", "abort")],
)
async def test_a_stream_that_breaks_off_is_an_error_and_not_an_answer(
    model: ScriptedModel, provider: str, how: Any
) -> None:
    model.add(Turn("this will never be said to its end", break_off=how))
    with pytest.raises(ModelBrokeOff, match="broke off in the middle"):
        await answer(request_to(model, provider))


async def test_a_server_that_is_down_can_not_be_reached(provider: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    arguments = {"api_base": f"http://127.0.0.1:{port}"}
    with pytest.raises(ModelUnreachable, match=f"127.0.0.1:{port} can't be reached. Check the network"):
        await answer(ModelRequest(f"{provider}/x", HELLO, arguments=arguments))


async def test_silence_has_an_end(model: ScriptedModel, *, stream: bool) -> None:
    model.add(Turn("late", delay=2))
    with pytest.raises(ModelUnreachable, match=r"sent nothing for 0\.3 s"):
        await answer(request_to(model, "openai", stream=stream, timeout=0.3))


async def test_silence_in_the_middle_of_a_stream_has_an_end(model: ScriptedModel) -> None:
    model.add(Turn("first and never last", piece=5, hold_after=2))
    with pytest.raises(ModelUnreachable, match=r"sent nothing for 1 s"):
        await answer(request_to(model, "openai", timeout=1.0))


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai/gpt-4o", "OPENAI_API_KEY"), ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY")],
)
async def test_a_missing_key_is_named(name: str, variable: str) -> None:
    with pytest.raises(ModelKeyMissing, match=f"no key for '{name}'. Set {variable} in the environment"):
        await answer(ModelRequest(name, HELLO))


async def test_a_name_without_provider_is_answered_with_an_example() -> None:
    with pytest.raises(ModelUnknown, match="Put the provider before the name"):
        await answer(ModelRequest("whatever", HELLO))


async def test_a_server_of_ones_own_needs_no_key(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("hi"))
    assert (await answer(request_to(model, provider)))[1].text == "hi"


async def test_a_wrong_key_is_said_to_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with ScriptedModel([Turn("hi")], key="right") as model:
        with pytest.raises(ModelKeyMissing, match=r"refused the key: invalid key\. Check the key"):
            await answer(request_to(model, "openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert (await answer(request_to(model, "openai")))[1].text == "hi"


async def test_giving_up_ends_the_stream_at_once(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("never to its end, however long one waits", piece=2, hold_after=6))
    pieces = LitellmClient().answer(request_to(model, provider))
    first = asyncio.Event()

    async def read() -> None:
        async for _ in pieces:
            first.set()

    task = asyncio.create_task(read())
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


async def test_giving_up_before_anything_has_come_ends_the_request_at_once(model: ScriptedModel) -> None:
    model.add(Turn("never", hold_after=0))
    task = asyncio.create_task(answer(request_to(model, "openai")))
    await asyncio.to_thread(model.wait_for_requests, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


async def test_timers_of_others_run_while_chunks_are_there_without_waiting(model: ScriptedModel) -> None:
    model.add(Turn("x" * 3000, piece=1))
    loop = asyncio.get_running_loop()
    ticks: list[int] = []
    seen = 0

    def tick() -> None:
        ticks.append(seen)
        loop.call_soon(tick)

    tick()
    async for piece in LitellmClient().answer(request_to(model, "openai")):
        if isinstance(piece, TextDelta):
            seen += 1
    between = [count for count in ticks if 0 < count < 3000]
    assert len(set(between)) > 20


@pytest.fixture
def fresh_process() -> Iterator[Any]:
    def run(code: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LITELLM")}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)

    return run


def test_importing_litellm_asks_no_server_and_prints_nothing(fresh_process: Any) -> None:
    code = """
import asyncio, os, sys
met = []
sys.addaudithook(lambda event, args: met.append(args) if event in ("socket.connect", "socket.getaddrinfo") else None)
from jupyter_skills.models import litellm_client
asyncio.run(litellm_client.imported())
assert "litellm" in sys.modules
assert "LITELLM_LOCAL_MODEL_COST_MAP" not in os.environ
assert not met, met
"""
    done = fresh_process(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
