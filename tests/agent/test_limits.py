"""What one prompt may take: a limit that is reached is why it ends, and never leaves a call without its result."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_skills.agent.events import CallStarted, Ended
from jupyter_skills.agent.router import Router
from jupyter_skills.errors import ModelFailed, PriceUnknown
from jupyter_skills.models.client import TextDelta
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.agent.conftest import Talk

PRICES = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
NOTHING = Turn("", [Call("fly", {})], usage=(100, 20))


def answered(talk: Talk) -> bool:
    messages = talk.conversation.messages
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    return calls == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


async def test_steps(talk: Talk) -> None:
    talk.model.add(*[NOTHING] * 3)
    answer = await talk.ask(max_steps=2)
    assert (answer.finish_reason, len(talk.model.requests)) == ("max_steps", 2)
    assert answered(talk)


async def test_a_request_that_could_cost_too_much_is_not_sent(talk: Talk) -> None:
    talk.settings.completion_kwargs = PRICES
    talk.model.add(*[NOTHING] * 9)
    answer = await talk.ask("Hi", max_cost=1.5)
    assert answer.finish_reason == "max_cost"
    assert answer.cost == pytest.approx(0.3 * len(talk.model.requests))
    assert 0 < answer.cost <= 1.5
    assert answered(talk)


async def test_an_answer_is_held_to_what_can_still_be_paid(talk: Talk) -> None:
    talk.settings.completion_kwargs = PRICES
    talk.model.add(Turn("Cut o", usage=(100, 100), finish="length"))
    answer = await talk.ask("Hi", max_cost=1.5)
    most = talk.model.requests[0].body["max_tokens"]
    assert 64 <= most <= 150
    assert answer.finish_reason == "max_cost", "not the model's own length limit"


async def test_the_callers_own_length_is_kept_if_it_is_shorter(talk: Talk) -> None:
    talk.settings.completion_kwargs = {**PRICES, "max_tokens": 70}
    talk.model.add(Turn("Cut o", finish="length"))
    answer = await talk.ask("Hi", max_cost=1.5)
    assert talk.model.requests[0].body["max_tokens"] == 70
    assert answer.finish_reason == "length"


async def test_nothing_is_sent_that_can_not_be_paid_at_all(talk: Talk) -> None:
    talk.settings.completion_kwargs = PRICES
    answer = await talk.ask("Hi", max_cost=0.0001)
    assert (answer.finish_reason, answer.text, talk.model.requests) == ("max_cost", "", [])
    assert not talk.conversation.messages


@pytest.mark.parametrize("stream", [True, False])
async def test_a_provider_that_does_not_count_is_held_to_an_estimate(talk: Talk, *, stream: bool) -> None:
    talk.settings.completion_kwargs = PRICES
    talk.model.add(*[Turn("word " * 20, [Call("fly", {})], usage=None)] * 9)
    answer = await talk.ask("Hi", max_cost=2.0, stream=stream)
    assert answer.finish_reason == "max_cost"
    assert 0 < len(talk.model.requests) < 9
    assert stream or answer.cost is None, "nobody knows it; of a stream litellm makes an estimate of its own"


async def test_a_model_that_may_think_longer_than_can_be_paid_is_not_asked(talk: Talk) -> None:
    talk.settings.completion_kwargs = {**PRICES, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert (await talk.ask("Hi", max_cost=5.0)).finish_reason == "max_cost"
    assert not talk.model.requests


async def test_a_limit_on_an_unknown_price_can_not_be_kept_and_nothing_is_sent(talk: Talk) -> None:
    with pytest.raises(PriceUnknown, match="input_cost_per_token"):
        await talk.ask("Hi", max_cost=1.0)
    assert not talk.model.requests


async def test_the_setting_is_the_limit_where_none_is_given(talk: Talk) -> None:
    talk.settings.completion_kwargs = PRICES
    talk.settings.max_cost = 0.0001
    assert (await talk.ask("Hi")).finish_reason == "max_cost"


async def test_time_while_the_model_is_silent(talk: Talk) -> None:
    talk.model.add(Turn("first and never last", piece=5, hold_after=2))
    answer = await talk.ask("Hi", timeout=2)
    assert (answer.finish_reason, answer.text) == ("timeout", "first")
    assert [message["content"] for message in talk.conversation.messages] == ["Hi", "first"], "as far as it was seen"
    talk.model.release()
    talk.model.add(Turn("Still here."))
    assert (await talk.ask("And now?")).text == "Still here."


@pytest.mark.docker
async def test_time_while_code_runs(talk: Talk, isolated: Router) -> None:
    talk.model.add(Turn("", [Call("run_python", {"code": "x = 5"})]), Turn("Set."))
    await talk.ask("Start", router=isolated)
    slow = "print('so far', flush=True)\nimport time; time.sleep(60)"
    talk.model.add(Turn("Now.", [Call("run_python", {"code": slow})] * 2))
    answer = await talk.ask("Sleep", router=isolated, timeout=4)
    assert answer.finish_reason == "timeout"
    assert [run.outcome for run in answer.code] == ["interrupted"]
    assert answered(talk)
    assert "so far" in answer.messages[2]["content"], "what it printed until then is told"
    talk.model.add(Turn("", [Call("run_python", {"code": "x"})]), Turn("There."))
    assert (await talk.ask("Show", router=isolated)).text == "There."


async def test_an_interrupt_tells_what_there_is_and_leaves_a_history_that_goes_on(
    model: ScriptedModel,
) -> None:
    talk = Talk(model, "anthropic")
    model.add(Turn("Looking.", [Call("fly", {})]), Turn("so far and no further", piece=6, hold_after=4))
    begun = asyncio.Event()
    talk.on_event = lambda event: begun.set() if event == TextDelta("so far") else None
    task = asyncio.create_task(talk.ask("Hi"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ended = talk.events[-1]
    assert isinstance(ended, Ended)
    assert ended.answer.finish_reason == "interrupted"
    assert ended.answer.text.startswith("Looking.\n\nso far")
    assert answered(talk)
    assert talk.conversation.messages[-1]["content"].startswith("so far"), "the user may say: go on"
    model.release()
    model.add(Turn("Yes."))
    assert (await talk.ask("Still there?")).text == "Yes."


async def test_a_failure_tells_what_there_is(talk: Talk) -> None:
    talk.model.add(Turn("Looking.", [Call("fly", {})]), Turn(status=500))
    with pytest.raises(ModelFailed):
        await talk.ask("Hi")
    ended = talk.events[-1]
    assert isinstance(ended, Ended)
    assert (ended.answer.finish_reason, ended.answer.text) == ("failed", "Looking.")
    assert [type(event) for event in talk.events].count(CallStarted) == 1
