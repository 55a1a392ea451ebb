"""``litellm.anthropic.messages.acreate`` with a model of OpenAI's, which litellm reaches through the Responses API."""

from __future__ import annotations

import copy
import json
from typing import Any

import litellm
import pytest

from jupyter_skills import install_litellm_hook, remove_litellm_hook
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.litellm_hook.conftest import HELLO, KEY, Calls, asking, python
from tests.litellm_hook.test_messages import GET, LOAD, files_of, streamed, text_of

pytestmark = pytest.mark.usefixtures("installed")

# litellm streams only what it knows; a response of another model comes whole, and is cut up by litellm itself.
KNOWN, UNKNOWN = "openai/gpt-5-mini", "openai/scripted"
OWN = Call("get_weather", {"city": "Rome"})


async def ended(made: Any, *, stream: bool) -> dict[str, Any]:
    """What stands at the end of an answer: of a whole one itself, of a stream the event that tells of its end."""
    if not stream:
        return dict(made)
    end = (await streamed(made))[-2]
    return {**end, **end["delta"]}


@pytest.mark.docker
@pytest.mark.parametrize("name", [KNOWN, UNKNOWN])
async def test_the_finished_message_comes_back_with_the_files_and_the_usage_of_all_requests(
    calls: Calls, model: ScriptedModel, name: str
) -> None:
    model.add(
        Turn("Reading.", [LOAD], usage=(10, 1)),
        Turn("", [python("n = 20")], usage=(20, 2)),
        Turn("", [python("print(n + 1); open('a.pptx', 'w').write('one')")], usage=(30, 3)),
        Turn("Done.", usage=(40, 4)),
    )
    answer = await calls.messages("openai", model=name, container=asking("counter"))
    assert {request.path for request in model.requests} == {"/v1/responses"}
    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "end_turn")
    assert [block["type"] for block in answer["content"]] == ["text"]
    assert text_of(answer) == "Done."
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (100, 10)
    assert files_of(answer) == {"a.pptx": b"one"}
    outputs = [item for item in calls.bodies()[-1]["input"] if item["type"] == "function_call_output"]
    assert len(outputs) == 3
    assert "21" in outputs[-1]["output"]
    json.dumps(answer)


@pytest.mark.docker
@pytest.mark.parametrize("name", [KNOWN, UNKNOWN])
async def test_a_stream_is_one_message_with_the_files_in_its_last_event_but_one(
    calls: Calls, model: ScriptedModel, name: str
) -> None:
    model.add(
        Turn("Reading.", [LOAD], usage=(10, 1)),
        Turn("", [python("open('a.txt', 'w').write('one')")], usage=(20, 2)),
        Turn("Done.", usage=(30, 3)),
    )
    events = await streamed(await calls.messages("openai", model=name, container=asking("counter"), stream=True))
    kinds = [event["type"] for event in events if event["type"] != "ping"]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("message_start") == kinds.count("message_stop") == 1
    starts = [event for event in events if event["type"] == "content_block_start"]
    assert [(event["index"], event["content_block"]["type"]) for event in starts] == [(0, "text"), (1, "text")]
    texts = [event["delta"]["text"] for event in events if event.get("delta", {}).get("type") == "text_delta"]
    assert "".join(texts) == "Reading.Done."
    end = events[-2]
    assert end["delta"]["stop_reason"] == "end_turn"
    assert (end["usage"]["input_tokens"], end["usage"]["output_tokens"]) == (60, 6)
    assert files_of(end) == {"a.txt": b"one"}


async def test_the_text_of_a_stream_does_not_wait_for_its_end(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("One two three four five six seven.", hold_after=5))
    stream = await calls.messages("openai", model=KNOWN, container=asking("counter"), stream=True)
    seen = b""
    while b"text_delta" not in seen:
        seen += await anext(stream)
    model.release()
    assert b"message_stop" in b"".join([chunk async for chunk in stream])


@pytest.mark.parametrize("stream", [False, True])
async def test_all_the_caller_gave_goes_with_each_request(calls: Calls, model: ScriptedModel, stream: bool) -> None:
    given = {
        "system": "Be brief.",
        "tools": [copy.deepcopy(GET)],
        "tool_choice": {"type": "auto"},
        "container": asking("counter"),
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "metadata": {"user_id": "somebody"},
        "max_tokens": 2000,
        "extra_headers": {"x-team": "blue"},
    }
    before = copy.deepcopy(given)
    model.add(Turn("Reading.", [LOAD], reasoning="Hm."), Turn("Ok."))
    await ended(await calls.messages("openai", model=KNOWN, stream=stream, **given), stream=stream)
    assert {**given, "metadata": before["metadata"]} == before, "only into the metadata does litellm itself write"
    assert len(model.requests) == 2
    for request in model.requests:
        body = request.body
        assert body["instructions"].startswith("Be brief.")
        assert "Knows all about counter." in body["instructions"]
        assert body["input"][0]["content"] == [{"type": "input_text", "text": "Hello"}]
        assert (body["max_output_tokens"], body["tool_choice"], body["user"]) == (2000, "auto", "somebody")
        assert body["reasoning"]["effort"]
        (own,) = [tool for tool in body["tools"] if tool["name"] == "get_weather"]
        assert own["parameters"]["properties"] == {"city": {"type": "string"}}
        assert (request.headers["x-team"], request.headers["authorization"]) == ("blue", f"Bearer {KEY}")
        assert "container" not in body
    (thought,) = [item for item in calls.bodies()[1]["input"] if item["type"] == "reasoning"]
    assert thought["encrypted_content"] == Turn(reasoning="Hm.").signature


@pytest.mark.docker
@pytest.mark.parametrize("stream", [False, True])
async def test_the_callers_own_tools_come_back_with_what_was_done_until_then(
    calls: Calls, model: ScriptedModel, stream: bool
) -> None:
    model.add(Turn("Two things.", [python("open('a.txt', 'w').write('one')"), OWN]), Turn("Sunny."))
    asked = {"model": KNOWN, "container": asking("counter"), "tools": [GET]}
    made = await calls.messages("openai", stream=stream, **asked)
    answer = await ended(made, stream=stream)
    assert answer["stop_reason"] == "tool_use"
    assert files_of(answer) == {"a.txt": b"one"}
    messages = [*HELLO, *answer["_jupyter_skills"]["messages"]]
    said = [block for message in messages if message["role"] == "assistant" for block in message["content"]]
    (call,) = [block for block in said if block.get("name") == "get_weather"]
    assert call["input"] == {"city": "Rome"}
    messages[-1]["content"].append({"type": "tool_result", "tool_use_id": call["id"], "content": "sun"})
    answer = await calls.messages("openai", messages=messages, **asked)
    assert text_of(answer) == "Sunny."
    outputs = [item["output"] for item in calls.bodies()[-1]["input"] if item["type"] == "function_call_output"]
    assert [("run_python: ok" in output, output == "sun") for output in outputs] == [(True, False), (False, True)]


@pytest.mark.parametrize("stream", [False, True])
async def test_only_the_callers_own_calls_are_in_the_answer(calls: Calls, model: ScriptedModel, stream: bool) -> None:
    model.add(Turn("Two things.", [LOAD, OWN]))
    made = await calls.messages("openai", model=KNOWN, container=asking("counter"), tools=[GET], stream=stream)
    if stream:
        starts = [event for event in await streamed(made) if event["type"] == "content_block_start"]
        blocks = [event["content_block"] for event in starts]
    else:
        blocks = made["content"]
    assert [block.get("name", block["type"]) for block in blocks] == ["text", "get_weather"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_loop_without_end_is_ended_and_says_so(calls: Calls, model: ScriptedModel, stream: bool) -> None:
    remove_litellm_hook()
    install_litellm_hook(max_steps=2)
    model.add(*[Turn("On.", [LOAD]) for _ in range(2)])
    end = await ended(
        await calls.messages("openai", model=KNOWN, container=asking("counter"), stream=stream), stream=stream
    )
    assert (end["stop_reason"], end["_jupyter_skills"]["stopped_by"]) == ("pause_turn", "max_steps")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Turn(status=429, message="slow down"), litellm.RateLimitError),
        (Turn(status=401, message="no such key"), litellm.AuthenticationError),
        (Turn(status=400, message="bad thing"), litellm.BadRequestError),
    ],
)
async def test_what_the_provider_raises_is_raised_also_in_the_middle(
    calls: Calls, model: ScriptedModel, turn: Turn, kind: type[Exception], stream: bool
) -> None:
    model.add(Turn("", [LOAD]), turn)

    async def whole() -> None:
        made = await calls.messages("openai", model=KNOWN, container=asking("counter"), stream=stream)
        await ended(made, stream=stream)

    with pytest.raises(kind, match=turn.message):
        await whole()
    assert len(model.requests) == 2


async def test_a_failure_within_a_stream_is_raised(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("half of it", status=429, message="slow down", fails_after=5))
    stream = await calls.messages("openai", model=KNOWN, container=asking("counter"), stream=True)
    with pytest.raises(litellm.RateLimitError, match="slow down"):
        await streamed(stream)


async def test_native_skills_are_refused(calls: Calls, model: ScriptedModel) -> None:
    with pytest.raises(litellm.BadRequestError, match="Only Anthropic's own API has the skills 'pptx'"):
        await calls.messages("openai", container={"skills": [{"skill_id": "pptx"}]})
    assert not model.requests
