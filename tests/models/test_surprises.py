"""Answers and errors that no reference describes end in one line that says what to do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
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
    ModelUnreachable,
)
from jupyter_skills.models.client import ModelReply, ModelRequest, Pause, Usage
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.models.litellm_errors import missing_keys, translated
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.models.litellm_said import masked, said, wait_asked
from jupyter_skills.models.patience import Patient
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.models.conftest import HELLO, answer, request_to


@pytest.mark.parametrize("raw", [{"choices": []}, {"choices": [{}]}, {}, [1], "<html><body>Sign in</body></html>"])
async def test_what_is_no_answer_is_one_line(model: ScriptedModel, provider: str, raw: Any) -> None:
    model.add(Turn(raw=raw))
    with pytest.raises(ModelProblem) as caught:
        await answer(request_to(model, provider, stream=False))
    assert type(caught.value) in (ModelFailed, ModelRefused)
    assert not any(mark in str(caught.value) for mark in ("index out of range", "<html", "Traceback"))


# Refusals


async def test_a_refusal_is_no_answer(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn(refusal="I can't help with that", usage=(7, 1)))
    with pytest.raises(ContentRefused, match="Put it in other words") as caught:
        await answer(request_to(model, provider, stream=stream))
    assert provider != "openai" or "I can't help with that." in str(caught.value)
    assert len(model.requests) == 1


async def test_a_filter_that_leaves_nothing_is_a_refusal(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn(finish="content_filter"))
    with pytest.raises(ContentRefused):
        await answer(request_to(model, provider, stream=stream))


async def test_what_was_said_before_the_filter_is_an_answer_that_was_cut_off(
    model: ScriptedModel, provider: str, *, stream: bool
) -> None:
    if provider == "gemini" and not stream:
        return  # litellm drops the text
    model.add(Turn("half an ans", finish="content_filter"))
    _, reply = await answer(request_to(model, provider, stream=stream))
    assert (reply.text, reply.finish_reason) == ("half an ans", "content_filter")


# Errors within a stream


def in_stream(provider: str, after: int, **more: Any) -> Turn:
    kinds = {"openai": {"status": 429}, "anthropic": {"status": 529, "error_type": "overloaded_error"}}
    said = "Overloaded" if provider == "anthropic" else "slow down"
    return Turn(**{"fails_after": after, "message": said, **kinds.get(provider, {"status": 429}), **more})


@pytest.mark.parametrize("after", [0, 1])
async def test_a_provider_that_is_busy_only_once_it_has_begun_is_asked_again(
    model: ScriptedModel, provider: str, after: int
) -> None:
    model.add(in_stream(provider, after))
    pieces = Patient(LitellmClient()).answer(request_to(model, provider))
    assert isinstance(await anext(pieces), Pause)
    await pieces.aclose()


@pytest.mark.parametrize("after", [0, 1])
async def test_a_request_that_is_found_too_long_once_the_stream_has_begun(
    model: ScriptedModel, provider: str, after: int
) -> None:
    model.add(Turn(status=400, message="This endpoint's maximum context length is 5 tokens", fails_after=after))
    with pytest.raises(ModelOverlong):
        await answer(request_to(model, provider))


async def test_an_error_after_text_breaks_the_answer_off(model: ScriptedModel, provider: str) -> None:
    model.add(in_stream(provider, 4, text="x" * 80))
    with pytest.raises(ModelBrokeOff):
        await answer(request_to(model, provider))


# How long to wait


@pytest.mark.parametrize("asked", ["9" * 400, "inf", "nan", "-5", "soon", "1.2.3", "Thu, 99 Foo 2000"])
async def test_nonsense_for_a_wait_is_none(model: ScriptedModel, provider: str, asked: str) -> None:
    model.add(Turn(status=429, message="slow down", retry_after=asked, headers={"retry-after-ms": asked}))
    with pytest.raises(ModelBusy) as caught:
        await answer(request_to(model, provider, stream=False))
    assert caught.value.wait in (None, 0.0)


def test_the_wait_is_looked_for_in_each_place() -> None:
    assert wait_asked({"retry-after-ms": "1500", "retry-after": "9"}, "") == 1.5
    assert wait_asked({"retry-after-ms": "inf", "retry-after": "9"}, "") == 9
    assert wait_asked({"retry-after": "nan"}, '"retryDelay": "3s"') == 3
    assert wait_asked({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "") == 0
    assert wait_asked({}, '"retryDelay": "1.2.3s"') is None


# Repetition


async def test_a_table_may_repeat_itself(model: ScriptedModel) -> None:
    model.add(Turn("-" * 12 * 150))
    _, reply = await answer(request_to(model, "openai"))
    assert reply.text == "-" * 12 * 150


async def test_what_litellm_stops_for_repeating_itself_is_said_to_be_that(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(await imported(), "REPEATED_STREAMING_CHUNK_LIMIT", 20)
    model.add(Turn("-" * 12 * 150))
    with pytest.raises(ModelBrokeOff, match="said the same again and again"):
        await answer(request_to(model, "openai"))


# Usage


async def test_what_nobody_counted_has_no_cost(model: ScriptedModel) -> None:
    model.add(Turn("hi", usage=None), Turn("hi", usage=None))
    asked = request_to(model, "openai", stream=False)
    prices = {"input_cost_per_token": 1, "output_cost_per_token": 1}
    _, reply = await answer(replace(asked, arguments={**asked.arguments, **prices}))
    assert (reply.usage, reply.cost) == (Usage(), None)
    free = dict.fromkeys(prices, 0)
    _, reply = await answer(replace(asked, arguments={**asked.arguments, **free}))
    assert (reply.usage, reply.cost) == (Usage(), 0.0)


# Names of calls


async def test_an_odd_name_of_a_tool_does_not_end_the_conversation(model: ScriptedModel, *, stream: bool) -> None:
    model.add(Turn("", [Call("run-it!(x)", {"x": 1})]), Turn("done"))
    _, reply = await answer(request_to(model, "openai", stream=stream))
    assert reply.tool_calls[0].name == "run-it!(x)"
    result = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "No such tool"}
    _, last = await answer(request_to(model, "openai", stream=stream, messages=[*HELLO, reply.message, result]))
    assert last.text == "done"


# Secrets


def test_keys_are_masked_at_any_depth_and_however_short() -> None:
    arguments = {
        "api_key": "abc",
        "extra_headers": {"Authorization": "Bearer qwertyuiop", "X-Plain": "visible"},
        "fallbacks": [{"model": "other", "api_key": "second"}],
        "extra_body": {"tokens": ["a", {"secret": ["deep-in"]}]},
        "max_tokens": "12",
    }
    quoted = masked("abc abcd qwertyuiop visible second deep-in 12 other", arguments)
    assert quoted == "*** abcd *** visible *** *** 12 other"


# What is wrong on this side


@pytest.mark.parametrize(
    ("name", "variables", "step"),
    [
        ("azure/gpt-4o", ["AZURE_API_KEY"], "Set AZURE_API_KEY in"),
        (
            "bedrock/anthropic.claude-3-sonnet-20240229-v1:0",
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in",
        ),
    ],
)
async def test_the_missing_key_is_named(
    name: str, variables: list[str], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in variables:
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelKeyMissing, match=f"There is no key for '{name}'. {step}"):
        await answer(ModelRequest(name, HELLO))


@pytest.mark.parametrize("provider", ["groq", "deepseek", "openrouter", "xai", "mistral"])
async def test_a_missing_key_comes_before_a_missing_connection(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = await imported()
    asked = ModelRequest(f"{provider}/x", HELLO)
    monkeypatch.delenv(f"{provider.upper()}_API_KEY", raising=False)
    assert missing_keys(litellm, asked.model) == [f"{provider.upper()}_API_KEY"]
    with pytest.raises(ModelKeyMissing), translated(litellm, asked, {}):
        raise ConnectionRefusedError
    with pytest.raises(ModelUnreachable), translated(litellm, asked, {"api_key": "given"}):
        raise ConnectionRefusedError


async def test_a_missing_package_is_named() -> None:
    with (
        pytest.raises(ModelFailed, match="%pip install google-auth"),
        translated(await imported(), ModelRequest("vertex_ai/gemini-2.5-pro", HELLO), {}),
    ):
        raise ModuleNotFoundError("No module named 'google'", name="google")


async def test_half_a_character_is_the_prompts_fault(model: ScriptedModel) -> None:
    messages = [{"role": "user", "content": "a\ud800b"}]
    with pytest.raises(ModelRefused, match="half a character"):
        await answer(request_to(model, "openai", messages=messages))


async def test_a_page_of_html_is_not_quoted(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn(status=503, raw="<!DOCTYPE html>\n<html>\n<body>Bad gateway</body>\n</html>"))
    with pytest.raises(ModelBusy, match=r"asks to wait: an HTML page\. Wait"):
        await answer(request_to(model, provider, stream=stream))
    assert said(Exception("Received: '<html>no'")) == "Received: an HTML page"


def test_giving_up_at_any_moment_leaves_no_coroutine_behind() -> None:
    code = """
import asyncio, gc
from jupyter_skills.models.client import ModelRequest
from jupyter_skills.models.litellm_client import LitellmClient, imported
from jupyter_skills.testing import ScriptedModel, Turn

async def ask(model, turns, stream):
    name, base = ("openai/x", model.url) if turns % 2 else ("anthropic/x", model.root)
    hello = [{"role": "user", "content": "Hello"}]
    timeout = 30.0 if turns else 1e-9
    request = ModelRequest(name, hello, stream=stream, timeout=timeout, arguments={"api_base": base})
    async def read():
        async for _ in LitellmClient().answer(request): pass
    task = asyncio.create_task(read())
    for _ in range(turns):
        await asyncio.sleep(0)
    if turns:
        task.cancel()
    await asyncio.wait([task])
    task.cancelled() or task.exception()

async def main():
    await imported()
    for stream in (True, False):
        for turns in range(7):
            await ask(model, turns, stream)
    gc.collect()

with ScriptedModel([Turn("hi")] * 40) as model:
    asyncio.run(main())
    for turns in (2, 3, 4):  # the loop ends right after
        asyncio.run(ask(model, turns, True))
gc.collect()
"""
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "never awaited" not in done.stderr


async def test_a_reply_comes_all_the_same_when_a_call_was_given_up_before(model: ScriptedModel) -> None:
    task = asyncio.create_task(answer(request_to(model, "openai")))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)
    model.add(*[Turn("hi")] * 2)
    _, reply = await answer(request_to(model, "openai"))
    assert isinstance(reply, ModelReply)
    assert reply.text == "hi"
