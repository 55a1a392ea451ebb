"""What is known of models and requests without asking anybody."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from jupyter_skills.models.client import ModelFacts, ModelRequest, Prices
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.testing import ScriptedModel
from tests.models.conftest import HELLO, TOOL, request_to

PICTURE = {"type": "image_url", "image_url": {"url": "https://pictures.invalid/one.png"}}


@pytest.mark.parametrize(
    "model", ["gpt-4o", "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro", "azure/gpt-4o"]
)
async def test_a_model_of_the_table_is_known_with_and_without_its_provider(model: str) -> None:
    facts = await LitellmClient().facts(model, {})
    assert facts.context is not None
    assert facts.context >= 128_000
    assert facts.most_output
    assert (facts.sees, facts.calls_tools) == (True, True)
    assert facts.prices
    assert 0 < facts.prices.prompt < facts.prices.completion < 0.001


async def test_nothing_is_known_of_others() -> None:
    assert await LitellmClient().facts("openai/scripted", {}) == ModelFacts()


async def test_what_the_user_says_of_prices_goes_first() -> None:
    prices = {"input_cost_per_token": 0, "output_cost_per_token": 2.5}
    for model in ("openai/scripted", "gpt-4o", "ollama/llama3"):
        assert (await LitellmClient().facts(model, prices)).prices == Prices(0, 2.5)


async def test_half_a_price_is_none() -> None:
    assert (await LitellmClient().facts("openai/scripted", {"input_cost_per_token": 1})).prices is None


@pytest.mark.parametrize("price", ["nan", float("inf"), -1, "much", True, None])
async def test_what_can_be_no_price_is_none(price: object) -> None:
    prices = {"input_cost_per_token": price, "output_cost_per_token": 1}
    assert (await LitellmClient().facts("openai/scripted", prices)).prices is None


async def test_a_price_may_be_written_as_text() -> None:
    prices = {"input_cost_per_token": "0.1", "output_cost_per_token": "2"}
    assert (await LitellmClient().facts("openai/scripted", prices)).prices == Prices(0.1, 2.0)


async def test_the_price_is_that_of_the_longest_requests() -> None:
    table = (await imported()).model_cost["gemini/gemini-2.5-pro"]
    facts = await LitellmClient().facts("gemini/gemini-2.5-pro", {})
    assert facts.prices == Prices(
        table["input_cost_per_token_above_200k_tokens"], table["output_cost_per_token_above_200k_tokens"]
    )
    assert facts.prices.prompt > table["input_cost_per_token"]


async def test_another_providers_price_for_a_model_is_not_taken() -> None:
    facts = await LitellmClient().facts("openrouter/anthropic/claude-sonnet-4-5", {})
    assert facts.context
    assert facts.prices is None


async def test_models_at_home_cost_nothing() -> None:
    assert (await LitellmClient().facts("ollama_chat/whatever", {})).prices == Prices(0, 0)


async def test_a_chat_model_of_which_the_table_says_nothing_does_not_see() -> None:
    facts = await LitellmClient().facts("ollama/llama3", {})
    assert facts.context == 8192
    assert (facts.sees, facts.calls_tools) == (False, None)


async def count(messages: list[dict[str, object]], model: str = "openai/scripted", *, tools: bool = False) -> int:
    return await LitellmClient().count(ModelRequest(model, messages, [TOOL] if tools else ()))


async def test_tokens_are_counted_with_messages_calls_and_tools() -> None:
    plain = await count([{"role": "user", "content": "hello " * 1000}])
    assert 1000 <= plain <= 1100
    assert await count(HELLO) < await count(HELLO, tools=True)
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "add", "arguments": '{"code": "' + "x = 1\\n" * 100 + '"}'},
    }
    assert await count([*HELLO, {"role": "assistant", "content": None, "tool_calls": [call]}]) > 300


async def test_pictures_are_estimated_and_never_fetched() -> None:
    text = {"type": "text", "text": "look"}
    one = await count([{"role": "user", "content": [text, PICTURE]}])
    two = await count([{"role": "user", "content": [text, PICTURE, PICTURE]}])
    assert two - one == one - await count([{"role": "user", "content": [text]}]) == 800


async def test_what_can_not_be_counted_is_estimated_by_its_length() -> None:
    anything = {"name": "a", "parameters": {"type": "object", "properties": {"whatever": True}}}
    tools = [{"type": "function", "function": anything}]
    request = ModelRequest("openai/scripted", [{"role": "user", "content": "x" * 4000}], tools)
    assert 1000 <= await LitellmClient().count(request) <= 1100


@pytest.mark.parametrize("model", ["ollama/llama2", "cohere/command-r", "anthropic/claude-sonnet-4-5", "gemini/x"])
def test_counting_asks_no_server(model: str) -> None:
    code = f"""
import asyncio, sys
met = []
sys.addaudithook(lambda event, args: met.append(args) if event in ("socket.connect", "socket.getaddrinfo") else None)
from jupyter_skills.models.client import ModelRequest
from jupyter_skills.models.litellm_client import LitellmClient
picture = {PICTURE!r}
request = ModelRequest({model!r}, [{{"role": "user", "content": [{{"type": "text", "text": "hello"}}, picture]}}])
assert asyncio.run(LitellmClient().count(request)) > 800
assert not met, met
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LITELLM")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


async def test_counting_does_not_hold_the_loop(model: ScriptedModel) -> None:
    request = request_to(model, "openai", messages=[{"role": "user", "content": "hello " * 200_000}])
    counting = asyncio.create_task(LitellmClient().count(request))
    turns = 0
    while not counting.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 10
