"""The real litellm against the scripted server, in both wire formats, whole and streamed."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_skills.errors import (
    ModelBrokeOff,
    ModelBusy,
    ModelFailed,
    ModelKeyMissing,
    ModelProblem,
    ModelRefused,
    ModelUnknown,
    ModelUnreachable,
)
from jupyter_skills.models.client import ModelReply, ModelRequest, TextDelta, Usage
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.testing import Call, ScriptedModel, Turn

HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def request_to(model: ScriptedModel, provider: str, *, stream: bool = True, **more: Any) -> ModelRequest:
    base = model.url if provider == "openai" else model.root
    fields = {"messages": HELLO, "tools": [TOOL], "timeout": 30.0, **more}
    return ModelRequest(f"{provider}/scripted", stream=stream, arguments={"api_base": base}, **fields)


async def answer(request: ModelRequest) -> tuple[list[str], ModelReply]:
    pieces = [piece async for piece in LitellmClient().answer(request)]
    *texts, reply = pieces
    assert isinstance(reply, ModelReply)
    assert all(isinstance(text, TextDelta) for text in texts)
    return [text.text for text in texts if isinstance(text, TextDelta)], reply


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
    sent = model.requests[1].body["messages"]
    assert len(sent) == 3


async def test_what_the_caller_gave_is_not_changed(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("hi"))
    messages = [{"role": "system", "content": "Be brief."}, *HELLO]
    before = repr((messages, TOOL))
    await answer(request_to(model, provider, messages=messages))
    assert repr((messages, TOOL)) == before


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, ModelRefused),
        (401, ModelKeyMissing),
        (403, ModelKeyMissing),
        (404, ModelUnknown),
        (429, ModelBusy),
        (500, ModelFailed),
        (503, ModelFailed),
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


@pytest.mark.parametrize("how", ["abort", "quiet"])
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


async def test_giving_up_ends_the_stream_at_once(model: ScriptedModel) -> None:
    model.add(Turn("never to its end", hold_after=2))
    task = asyncio.create_task(answer(request_to(model, "openai")))
    await asyncio.to_thread(model.wait_for_requests, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


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
