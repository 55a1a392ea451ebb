"""``litellm.anthropic.messages.acreate`` with ``container``, once the hook is installed."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import litellm
import pytest

from jupyter_skills import SkillStore, install_litellm_hook, remove_litellm_hook
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.litellm_hook.conftest import HELLO, KEY, Calls, Listener, all_of, asking, events_in, heard, python
from tests.litellm_hook.tasks import our_tasks_are_over

GET = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
LOAD = Call("load_skill", {"name": "counter"})


def files_of(answer: dict[str, Any]) -> dict[str, bytes]:
    return {file["path"]: base64.b64decode(file["content_base64"]) for file in answer["_litellm_generated_files"]}


def text_of(answer: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in answer["content"])


async def streamed(stream: Any) -> list[dict[str, Any]]:
    return events_in([chunk async for chunk in stream])


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["anthropic", "hosted_vllm"])
@pytest.mark.usefixtures("installed")
async def test_the_finished_message_comes_back_with_the_files(
    calls: Calls, model: ScriptedModel, provider: str
) -> None:
    model.add(
        Turn("Reading.", [LOAD], usage=(10, 1)),
        Turn("", [python("n = 20")], usage=(20, 2)),
        Turn("", [python("print(n + 1); open('a.pptx', 'w').write('one')")], usage=(30, 3)),
        Turn("Done.", usage=(40, 4)),
    )
    answer = await calls.messages(provider, container=asking("counter"))
    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "end_turn")
    assert [block["type"] for block in answer["content"]] == ["text"]
    assert text_of(answer) == "Done."
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (100, 10)
    assert files_of(answer) == {"a.pptx": b"one"}
    assert "21" in json.dumps(calls.bodies()[-1])
    json.dumps(answer)


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["anthropic", "hosted_vllm"])
@pytest.mark.usefixtures("installed")
async def test_a_stream_is_one_message_with_the_files_in_its_last_event_but_one(
    calls: Calls, model: ScriptedModel, provider: str
) -> None:
    model.add(
        Turn("Reading.", [LOAD], usage=(10, 1)),
        Turn("", [python("open('a.txt', 'w').write('one')")], usage=(20, 2)),
        Turn("Done.", usage=(30, 3)),
    )
    events = await streamed(await calls.messages(provider, container=asking("counter"), stream=True))
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


@pytest.mark.usefixtures("installed")
async def test_anthropics_own_client_reads_the_stream(calls: Calls, model: ScriptedModel) -> None:
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    model.add(Turn("Reading.", [LOAD], reasoning="Hm."), Turn("Done.", [Call("get_weather", {"city": "Rome"})]))
    stream = await calls.messages(container=asking("counter"), tools=[GET], stream=True)
    message: Any = None
    written: dict[int, bytes] = {}
    for event in await streamed(stream):
        parsed = TypeAdapter(RawMessageStreamEvent).validate_python(event)
        message = accumulate_event(event=parsed, current_snapshot=message, json_bufs=written)
    assert [block.type for block in message.content] == ["thinking", "text", "text", "tool_use"]
    assert message.content[-1].input == {"city": "Rome"}
    assert message.stop_reason == "tool_use"


@pytest.mark.usefixtures("installed")
async def test_the_text_of_a_stream_does_not_wait_for_its_end(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("One two three four five six seven.", hold_after=3))
    stream = await calls.messages(container=asking("counter"), stream=True)
    seen = b""
    while b"text_delta" not in seen:
        seen += await anext(stream)
    model.release()
    assert b"message_stop" in b"".join([chunk async for chunk in stream])


@pytest.mark.usefixtures("installed")
async def test_who_leaves_a_stream_early_stops_the_model(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("One two three four five six.", [LOAD], hold_after=3), Turn("A turn that goes on gets here."))
    stream = await calls.messages(container=asking("counter"), stream=True)
    assert b"message_start" in await anext(stream)
    await stream.aclose()
    model.release()
    await our_tasks_are_over()
    assert len(model.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.usefixtures("installed")
async def test_all_the_caller_gave_goes_with_each_request_as_it_is(
    calls: Calls, model: ScriptedModel, listener: Listener, stream: bool
) -> None:
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    given = {
        "messages": [{"role": "user", "content": [{**cached, "text": "Hello"}]}],
        "system": [cached],
        "tools": [copy.deepcopy(GET), {"type": "web_search_20250305", "name": "web_search"}],
        "container": asking("counter"),
        "temperature": 1.0,
        "top_k": 5,
        "stop_sequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "max_tokens": 2000,
        "metadata": {"user_id": "somebody"},
        "extra_headers": {"x-team": "blue"},
    }
    before = copy.deepcopy(given)
    model.add(Turn("Reading.", [LOAD], reasoning="Hm."), Turn("Ok.", reasoning="So."))
    made = await calls.messages(stream=stream, **given)
    if stream:
        await streamed(made)
    await heard(calls, listener.succeeded)  # litellm's logs write into what they get
    assert given == before
    *requests, _ = model.requests
    assert len(requests) == 2
    for request in requests:
        body = request.body
        assert body["system"][0] == cached
        assert "Knows all about counter." in body["system"][1]["text"]
        assert body["messages"][0] == before["messages"][0]
        assert (body["temperature"], body["top_k"], body["stop_sequences"]) == (1.0, 5, ["END"])
        assert (body["thinking"], body["max_tokens"]) == ({"type": "enabled", "budget_tokens": 1024}, 2000)
        assert [tool for tool in body["tools"] if tool["name"] in ("get_weather", "web_search")] == before["tools"]
        assert (request.headers["x-team"], request.headers["x-api-key"]) == ("blue", KEY)
        assert "container" not in body


@pytest.mark.usefixtures("installed")
async def test_a_system_text_stays_before_ours(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Ok."))
    await calls.messages(container=asking("counter"), system="Be brief.")
    assert json.dumps(calls.bodies()[0]["system"]).index("Be brief.") < json.dumps(calls.bodies()[0]["system"]).index(
        "Knows all about counter."
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_the_callers_own_tools_come_back_with_what_was_done_until_then(
    calls: Calls, model: ScriptedModel, stream: bool
) -> None:
    own = Call("get_weather", {"city": "Rome"})
    model.add(Turn("Two things.", [python("open('a.txt', 'w').write('one')"), own]), Turn("Sunny."))
    made = await calls.messages(container=asking("counter"), tools=[GET], stream=stream)
    events = await streamed(made) if stream else []
    answer = events[-2] if stream else made
    reason = answer["delta"]["stop_reason"] if stream else answer["stop_reason"]
    assert reason == "tool_use"
    blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    (call,) = [block for block in (blocks if stream else answer["content"]) if block["type"] == "tool_use"]
    assert call["name"] == "get_weather"
    assert files_of(answer) == {"a.txt": b"one"}
    messages = [*HELLO, *answer["_jupyter_skills"]["messages"]]
    messages[-1]["content"].append({"type": "tool_result", "tool_use_id": call["id"], "content": "sun"})
    answer = await calls.messages(container=asking("counter"), tools=[GET], messages=messages)
    assert text_of(answer) == "Sunny."
    assert "run_python: ok" in json.dumps(calls.bodies()[-1])


@pytest.mark.usefixtures("installed")
async def test_what_the_model_has_loaded_before_it_has_still(
    calls: Calls, model: ScriptedModel, installed: SkillStore
) -> None:
    text = "---\nname: adder\ndescription: Adds.\ntools:\n  add: {script: add.py}\n---\n" + "Add. " * 100
    from jupyter_skills import Skill
    from jupyter_skills.skills.files import FileEntry, MemoryFiles

    files = MemoryFiles({"SKILL.md": FileEntry(text.encode()), "add.py": FileEntry(b"print(1)")})
    await installed.create(Skill("adder", "Adds.", "", files).to_zip())
    model.add(Turn("", [Call("load_skill", {"name": "adder"}), Call("get_weather", {"city": "Rome"})]), Turn("Ok."))
    answer = await calls.messages(container=asking("adder"), tools=[GET])
    messages = [*HELLO, *answer["_jupyter_skills"]["messages"]]
    messages[-1]["content"].append(
        {"type": "tool_result", "tool_use_id": answer["content"][-1]["id"], "content": "sun"}
    )
    await calls.messages(container=asking("adder"), tools=[GET], messages=messages)
    assert "adder__add" in [tool["name"] for tool in calls.bodies()[-1]["tools"]]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_loop_without_end_is_ended_and_says_so(
    store: SkillStore, calls: Calls, model: ScriptedModel, stream: bool
) -> None:
    install_litellm_hook(max_steps=2)
    try:
        model.add(*[Turn("On.", [LOAD]) for _ in range(2)])
        made = await calls.messages(container=asking("counter"), stream=stream)
        end = (await streamed(made))[-2] if stream else made
    finally:
        remove_litellm_hook()
    assert (end["delta"] if stream else end)["stop_reason"] == "pause_turn"
    assert end["_jupyter_skills"]["stopped_by"] == "max_steps"
    assert stream or [block["type"] for block in end["content"]] == ["text"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.usefixtures("installed")
async def test_native_skills_and_the_containers_id_stay_with_anthropic(
    calls: Calls, model: ScriptedModel, stream: bool
) -> None:
    native = {"type": "anthropic", "skill_id": "pptx", "version": "latest"}
    container = {"id": "container_1", "skills": [native, *asking("counter")["skills"]]}
    kept = {"id": "container_9", "expires_at": "later"}
    model.add(Turn("", [LOAD], container=kept), Turn("Ok.", container=kept))
    made = await calls.messages(container=container, stream=stream)
    end = (await streamed(made))[-2]["delta"] if stream else made
    first, second = (body["container"] for body in calls.bodies())
    assert first == {"id": "container_1", "skills": [native]}
    assert second == {"id": "container_9", "skills": [native]}
    assert end["container"] == kept


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Turn(status=429, message="slow down"), litellm.RateLimitError),
        (Turn(status=401, message="no such key"), litellm.AuthenticationError),
        (Turn(status=400, message="bad thing"), litellm.BadRequestError),
    ],
)
@pytest.mark.usefixtures("installed")
async def test_what_the_provider_raises_is_raised_also_in_the_middle(
    calls: Calls, model: ScriptedModel, turn: Turn, kind: type[Exception], stream: bool
) -> None:
    model.add(Turn("", [LOAD]), turn)

    with pytest.raises(kind, match=turn.message):
        await all_of(calls.messages(container=asking("counter"), stream=stream), stream)
    assert len(model.requests) == 2


@pytest.mark.usefixtures("installed")
async def test_what_can_not_be_had_is_a_bad_request_in_one_line(calls: Calls, model: ScriptedModel) -> None:
    for container, words in (
        (asking("nothing"), "There is no skill 'litellm:nothing'"),
        ({"skills": "litellm:counter"}, "not a list"),
    ):
        with pytest.raises(litellm.BadRequestError, match=words):
            await calls.messages(container=container)
    with pytest.raises(litellm.BadRequestError, match="Only Anthropic's own API has the skills 'pptx'"):
        await calls.messages("hosted_vllm", container={"skills": [{"skill_id": "pptx"}]})
    assert not model.requests
