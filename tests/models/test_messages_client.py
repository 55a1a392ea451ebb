"""The real litellm's messages against the scripted server: as Anthropic itself, and through an adapter."""

from __future__ import annotations

import asyncio
import base64
import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.prompt.system import Section
from jupyter_skills.agent.router import Router
from jupyter_skills.agent.shelf import Shelf
from jupyter_skills.agent.tools import Toolbox
from jupyter_skills.agent.turn import Turn as AgentTurn
from jupyter_skills.errors import (
    ModelBrokeOff,
    ModelBusy,
    ModelFailed,
    ModelKeyMissing,
    ModelOverlong,
    ModelProblem,
    ModelRefused,
    ModelUnreachable,
)
from jupyter_skills.models.around import SameContainer
from jupyter_skills.models.client import ModelReply, ModelRequest, ReasoningDelta, TextDelta, Usage
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.models.litellm_messages import MessagesClient
from jupyter_skills.models.message_blocks import NATIVE, wrapped, wrapped_tool
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import LoadedSkill
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import write_skill
from tests.models.conftest import TOOL

HELLO = wrapped({"role": "user", "content": "Hello"})
CACHED = {"type": "text", "text": "Read this.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
SERVER_TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
THEIRS = {
    "name": "theirs",
    "input_schema": {"type": "object", "properties": {}},
    "cache_control": {"type": "ephemeral"},
}
NATIVE_SKILLS = [{"type": "anthropic", "skill_id": "xlsx", "version": "latest"}]
PAGE = {"type": "web_search_result", "url": "https://example.org", "title": "x", "encrypted_content": "eA=="}
PIXEL = base64.b64encode(b"not looked at").decode()


# litellm streams OpenAI's responses only of models that it knows; those of others it gets whole, and cuts up itself.
MODELS = {"openai": "openai/gpt-5-mini"}


@pytest.fixture(params=["anthropic", "hosted_vllm", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def request_to(model: ScriptedModel, provider: str = "anthropic", *, stream: bool = True, **more: Any) -> ModelRequest:
    base = model.root if provider == "anthropic" else model.url
    arguments = {"max_tokens": 1000, "api_base": base, **({"api_key": "k"} if provider == "openai" else {})}
    fields = {"messages": [HELLO], "tools": [TOOL], "timeout": 30.0, **more}
    arguments |= fields.pop("arguments", {})
    named = MODELS.get(provider, f"{provider}/scripted")
    return ModelRequest(named, stream=stream, arguments=arguments, **fields)


def client(**more: Any) -> MessagesClient:
    return MessagesClient(LitellmClient(), **more)


async def answer(request: ModelRequest, by: MessagesClient | None = None) -> tuple[list[Any], ModelReply]:
    *pieces, reply = [piece async for piece in (by or client()).answer(request)]
    assert isinstance(reply, ModelReply)
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == reply.text
    return pieces, reply


def result(call: Any, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text}


async def test_text_calls_and_usage_come_through(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn("I'll add, twice: ½ + ½.", [Call("add", {"x": "é"}), Call("add", {"y": [1, 2]})], usage=(7, 11)))
    _, reply = await answer(request_to(model, provider, stream=stream))
    assert reply.text == "I'll add, twice: ½ + ½."
    assert [json.loads(call.arguments) for call in reply.tool_calls] == [{"x": "é"}, {"y": [1, 2]}]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert [call["id"] for call in reply.message["tool_calls"]] == [call.id for call in reply.tool_calls]
    assert (reply.finish_reason, reply.usage) == ("tool_calls", Usage(7, 11))
    assert (reply.cost is None) == (provider not in MODELS), "nobody knows the price of a scripted model"
    assert (reply.raw["stop_reason"], reply.raw["role"]) == ("tool_use", "assistant")
    assert reply.message[NATIVE]["content"] == reply.raw["content"]


async def test_a_streamed_response_is_the_same_as_a_whole_one(model: ScriptedModel) -> None:
    said = Turn("½", [Call("add", {"x": 1}), Call("add", {})], reasoning="Hm.", container={"id": "c"}, piece=1)
    model.add(said, said)
    (_, whole), (_, streamed) = [await answer(request_to(model, stream=stream)) for stream in (False, True)]
    assert streamed.raw == whole.raw
    assert streamed == whole


async def test_text_comes_in_the_pieces_it_is_sent_in(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("abcdefgh", piece=2))
    pieces, _ = await answer(request_to(model, provider))
    assert pieces == [TextDelta(text) for text in ("ab", "cd", "ef", "gh")]


async def test_each_event_is_told_before_the_next_is_sent(model: ScriptedModel) -> None:
    model.add(Turn("first and last", piece=5, hold_after=3))
    told: list[dict[str, Any]] = []
    pieces = client(on_event=told.append).answer(request_to(model))
    assert await anext(pieces) == TextDelta("first")
    assert [event["type"] for event in told] == ["message_start", "content_block_start", "content_block_delta"]
    model.release()
    *_, reply = [piece async for piece in pieces]
    assert isinstance(reply, ModelReply)
    assert reply.text == "first and last"
    assert [event["type"] for event in told[-2:]] == ["message_delta", "message_stop"]


async def test_of_a_whole_response_no_event_is_told(model: ScriptedModel) -> None:
    model.add(Turn("hi", reasoning="Hm."))
    told: list[dict[str, Any]] = []
    pieces, _ = await answer(request_to(model, stream=False), client(on_event=told.append))
    assert pieces == [ReasoningDelta("Hm."), TextDelta("hi")]
    assert told == []


async def test_a_reply_goes_back_as_it_came_and_its_results_in_one_message_with_the_pictures(
    model: ScriptedModel, *, stream: bool
) -> None:
    model.add(Turn("So:", [Call("add", {"x": 1}), Call("add", {"x": 2})], reasoning="One and two."), Turn("done"))
    pieces, reply = await answer(request_to(model, stream=stream))
    assert "".join(piece.text for piece in pieces if isinstance(piece, ReasoningDelta)) == "One and two."
    first, second = reply.tool_calls
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    pictures = {"role": "user", "content": [{"type": "text", "text": "Pictures:"}, url]}
    messages = [HELLO, reply.message, result(first, "2"), result(second, "4"), pictures]
    _, last = await answer(request_to(model, stream=stream, messages=messages))
    assert last.text == "done"
    _, said, results = model.requests[1].body["messages"]
    assert said == {"role": "assistant", "content": reply.raw["content"]}
    assert said["content"][0]["signature"], "the server refuses thinking that lost it"
    assert results == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": first.id, "content": "2"},
            {"type": "tool_result", "tool_use_id": second.id, "content": "4"},
            {"type": "text", "text": "Pictures:"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        ],
    }


async def test_what_the_responses_api_encrypts_goes_back_to_it(model: ScriptedModel, *, stream: bool) -> None:
    model.add(Turn("So:", [Call("add", {"x": 1})], reasoning="One."), Turn("done"))
    _, reply = await answer(request_to(model, "openai", stream=stream))
    messages = [HELLO, reply.message, result(reply.tool_calls[0], "2")]
    _, last = await answer(request_to(model, "openai", stream=stream, messages=messages))
    assert last.text == "done"
    (thought,) = [item for item in model.requests[1].body["input"] if item["type"] == "reasoning"]
    assert thought["encrypted_content"] == Turn(reasoning="One.").signature


async def test_a_reply_through_an_adapter_can_be_sent_back_too(model: ScriptedModel, *, stream: bool) -> None:
    model.add(Turn("So:", [Call("add", {"x": 1})], reasoning="One."), Turn("done"))
    _, reply = await answer(request_to(model, "hosted_vllm", stream=stream))
    messages = [HELLO, reply.message, result(reply.tool_calls[0], "2")]
    _, last = await answer(request_to(model, "hosted_vllm", stream=stream, messages=messages))
    assert last.text == "done"
    assert [message["role"] for message in model.requests[1].body["messages"]] == ["user", "assistant", "tool"]


async def test_replies_of_others_are_translated(model: ScriptedModel) -> None:
    model.add(Turn("done"))
    call = {"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    answered = {"role": "tool", "tool_call_id": "a", "content": "2"}
    after = {"role": "assistant", "content": "Two."}
    await answer(request_to(model, messages=[HELLO, said, answered, after, HELLO]))
    assert model.requests[0].body["messages"] == [
        HELLO[NATIVE],
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "add", "input": {"x": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "2"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Two."}]},
        HELLO[NATIVE],
    ]


async def test_all_of_the_callers_is_in_each_request_of_a_turn(
    model: ScriptedModel, tmp_path: Path, *, stream: bool
) -> None:
    model.add(
        Turn("", [Call("load_skill", {"name": "counter"})], reasoning="A skill.", container={"id": "container_1"}),
        Turn("", [Call("theirs", {"x": 1})]),
    )
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    prompt = {"role": "user", "content": [CACHED, {**document, "citations": {"enabled": True}}]}
    parameters = {
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "metadata": {"user_id": "somebody"},
        "stop_sequences": ["###"],
        "max_tokens": 2000,
    }
    arguments = {
        **request_to(model).arguments,
        **parameters,
        "container": {"skills": NATIVE_SKILLS},
        "extra_headers": {"anthropic-beta": "code-execution-2025-08-25"},
    }
    skill = Skill.from_path(write_skill(tmp_path, "counter"))
    conversation = Conversation()
    turn = AgentTurn(
        model="anthropic/scripted",
        system=[Section("skills", "There are skills.")],
        toolbox=Toolbox(Shelf([LoadedSkill(skill)], conversation), Router(None), lambda _: None),
        client=SameContainer(client(system=[CACHED])),
        emit=lambda _: None,
        stream=stream,
        arguments=arguments,
        others=[wrapped_tool(THEIRS), wrapped_tool(SERVER_TOOL)],
        compacts=False,
    )
    before = repr((prompt, arguments, THEIRS, SERVER_TOOL, CACHED))
    taken = await turn.take([wrapped(prompt)], conversation)
    assert (taken.finish_reason, taken.calls[-1].name) == ("tool_calls", "theirs")
    assert repr((prompt, arguments, THEIRS, SERVER_TOOL, CACHED)) == before, "litellm writes into what it gets"
    for sent in model.requests:
        assert {name: sent.body[name] for name in parameters} == parameters
        assert sent.body["messages"][0] == prompt
        assert sent.body["system"] == [CACHED, {"type": "text", "text": "There are skills."}]
        assert sent.body["tools"][-2:] == [THEIRS, SERVER_TOOL]
        assert [tool["name"] for tool in sent.body["tools"][:-2]] == ["load_skill", "read_skill_file"]
        assert "code-execution-2025-08-25" in sent.headers["anthropic-beta"]
        assert sent.body["container"]["skills"] == NATIVE_SKILLS
    assert [sent.body["container"].get("id") for sent in model.requests] == [None, "container_1"]


@pytest.mark.parametrize("given", [None, "container_0"])
async def test_a_container_of_the_providers_is_kept(model: ScriptedModel, given: str | None, *, stream: bool) -> None:
    model.add(
        Turn("", [Call("add", {})], container={"id": "container_1"}), Turn("done", container={"id": "container_1"})
    )
    asked = request_to(model, stream=stream, arguments={"container": given} if given else {})
    by = SameContainer(client())
    _, reply = await answer(asked, by)
    answered = [HELLO, reply.message, result(reply.tool_calls[0], "2")]
    _, last = await answer(replace(asked, messages=answered), by)
    assert [sent.body.get("container") for sent in model.requests] == [given, "container_1"]
    assert last.raw["container"] == {"id": "container_1"}


OURS = {"role": "system", "content": "There are skills."}


@pytest.mark.parametrize(
    ("system", "messages", "sent"),
    [
        (None, [], None),
        ("", [], None),
        ("Be brief.", [], "Be brief."),
        ([CACHED], [], [CACHED]),
        (None, [OURS], "There are skills."),
        ("Be brief.", [OURS], "Be brief.\n\nThere are skills."),
        ([CACHED], [OURS], [CACHED, {"type": "text", "text": "There are skills."}]),
    ],
)
async def test_the_callers_system_stays_and_ours_follows_it(
    model: ScriptedModel, system: Any, messages: list[Any], sent: Any
) -> None:
    model.add(Turn("hi"))
    await answer(request_to(model, messages=[*messages, HELLO]), client(system=system))
    assert model.requests[0].body.get("system") == sent
    assert model.requests[0].body["messages"] == [HELLO[NATIVE]]


async def test_without_tools_none_are_sent(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("hi"))
    await answer(request_to(model, provider, tools=[]))
    assert "tools" not in model.requests[0].body


async def test_what_the_caller_gave_is_not_changed(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(Turn("hi"))
    given = {"role": "user", "content": [deepcopy(CACHED), {"type": "text", "text": ""}]}
    request = request_to(
        model,
        provider,
        stream=stream,
        messages=[OURS, wrapped(given)],
        tools=[TOOL, wrapped_tool(THEIRS)],
        arguments={"metadata": {"user_id": "b"}, "thinking": {"type": "enabled", "budget_tokens": 500}},
    )
    before = repr(request)
    await answer(request, client(system=[CACHED]))
    assert repr(request) == before


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, ModelRefused), (401, ModelKeyMissing), (429, ModelBusy), (500, ModelFailed), (529, ModelBusy)],
)
async def test_each_status_is_one_readable_line(
    model: ScriptedModel, provider: str, status: int, error: type[ModelProblem], *, stream: bool
) -> None:
    model.add(Turn(status=status, message="the kettle is empty", retry_after=7))
    with pytest.raises(error, match="the kettle is empty") as caught:
        await answer(request_to(model, provider, stream=stream))
    assert not any(mark in str(caught.value) for mark in ("\n", "litellm", "Exception", "{"))
    assert not isinstance(caught.value, ModelBusy) or caught.value.wait == 7
    assert len(model.requests) == 1, "nobody tries again in silence"


async def test_errors_hold_no_keys(model: ScriptedModel, *, stream: bool) -> None:
    model.add(Turn(status=401, message="Incorrect API key provided: hidden-word"))
    with pytest.raises(ModelKeyMissing, match=r"provided: \*\*\*"):
        await answer(request_to(model, stream=stream, arguments={"api_key": "hidden-word"}))


@pytest.mark.parametrize(
    ("status", "kind", "message", "error"),
    [
        (529, "overloaded_error", "Overloaded", ModelBusy),
        (429, "rate_limit_error", "Slow down", ModelBusy),
        (400, "invalid_request_error", "prompt is too long", ModelOverlong),
        (400, "invalid_request_error", "messages.0: no", ModelRefused),
        (401, "authentication_error", "invalid x-api-key", ModelKeyMissing),
        (500, "api_error", "Internal server error", ModelFailed),
    ],
)
@pytest.mark.parametrize("after", [0, 3])
async def test_an_error_within_a_stream_is_the_error_that_it_would_be_at_once(
    model: ScriptedModel, after: int, status: int, kind: str, message: str, error: type[ModelProblem]
) -> None:
    failure = Turn("half of it", status=status, error_type=kind, message=message)
    model.add(failure, replace(failure, fails_after=after))
    told: list[dict[str, Any]] = []
    lines = []
    for stream in (False, True):
        with pytest.raises(error) as caught:
            await answer(request_to(model, stream=stream), client(on_event=told.append))
        lines.append(str(caught.value))
    assert lines[0] == lines[1]
    assert len(told) == after, "an error is no event to hand on"


async def test_an_adapters_error_within_a_stream_says_what_the_provider_said(model: ScriptedModel) -> None:
    model.add(Turn("half of it", status=529, error_type="overloaded_error", message="Overloaded", fails_after=3))
    with pytest.raises(ModelBusy, match="asks to wait: Overloaded"):
        await answer(request_to(model, "hosted_vllm"))


@pytest.mark.parametrize("how", ["abort", "quiet"])
async def test_a_stream_that_breaks_off_is_an_error_and_not_an_answer(
    model: ScriptedModel, provider: str, how: Any
) -> None:
    model.add(Turn("this will never be said to its end", break_off=how))
    with pytest.raises(ModelBrokeOff, match="broke off in the middle"):
        await answer(request_to(model, provider))


async def test_silence_in_the_middle_of_a_stream_has_an_end(model: ScriptedModel, provider: str) -> None:
    model.add(Turn("first and never last", piece=5, hold_after=3))
    with pytest.raises(ModelUnreachable, match=r"sent nothing for 0\.5 s"):
        await answer(request_to(model, provider, timeout=0.5))


async def test_a_missing_key_is_named() -> None:
    with pytest.raises(ModelKeyMissing, match="Set ANTHROPIC_API_KEY in the environment"):
        await answer(ModelRequest("anthropic/claude-sonnet-4-5", [HELLO], arguments={"max_tokens": 10}))


async def test_a_parameter_that_a_request_says_itself_is_refused(model: ScriptedModel) -> None:
    with pytest.raises(ModelRefused, match="may not set messages"):
        await answer(request_to(model, arguments={"messages": []}))


@pytest.mark.parametrize("after", [0, 6])
async def test_giving_up_ends_the_request_at_once(model: ScriptedModel, provider: str, after: int) -> None:
    model.add(Turn("never to its end, however long one waits", piece=2, hold_after=after))
    first = asyncio.Event()

    async def read() -> None:
        async for _ in client().answer(request_to(model, provider)):
            first.set()

    task = asyncio.create_task(read())
    await (first.wait() if after else asyncio.to_thread(model.wait_for_requests, 1))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


async def test_input_that_is_no_json_is_told_as_it_was_written_and_does_not_end_the_conversation(
    model: ScriptedModel, provider: str
) -> None:
    model.add(Turn("", [Call("add", '{"x": ')]), Turn("done"))
    _, reply = await answer(request_to(model, provider))
    assert reply.tool_calls[0].arguments == '{"x": '
    messages = [HELLO, reply.message, result(reply.tool_calls[0], "That is no JSON")]
    assert (await answer(request_to(model, provider, messages=messages)))[1].text == "done"


@pytest.mark.parametrize(
    ("ending", "word"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("pause_turn", "pause_turn")],
)
async def test_why_it_ended_is_told_in_the_usual_words(
    model: ScriptedModel, ending: str, word: str, *, stream: bool
) -> None:
    model.add(Turn("So", finish=ending))
    _, reply = await answer(request_to(model, stream=stream))
    assert reply.finish_reason == word


async def test_what_a_cache_took_and_gave_is_paid_for(model: ScriptedModel) -> None:
    usage = {"input_tokens": 1000, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 300}
    said = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "id": "msg_1"}
    said |= {"model": "claude-sonnet-4-5", "stop_reason": "end_turn", "usage": {**usage, "output_tokens": 100}}
    model.add(Turn(raw=said), Turn(raw=said))
    asked = replace(request_to(model, stream=False), model="anthropic/claude-sonnet-4-5")
    _, reply = await answer(asked)
    assert reply.usage == Usage(1500, 100)
    assert reply.cost == pytest.approx((1000 * 3 + 200 * 3.75 + 300 * 0.3 + 100 * 15) / 1e6)
    own = {"input_cost_per_token": 0.5, "output_cost_per_token": 1.0}
    _, reply = await answer(replace(asked, arguments={**asked.arguments, **own}))
    assert reply.cost == 850.0
    assert "cost_per_token" not in json.dumps(model.requests[1].body)


async def test_blocks_that_nobody_here_knows_go_back_as_they_came(model: ScriptedModel) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
    content = [search, found, {"type": "text", "text": "So.", "citations": [{"type": "char_location"}]}]
    said = {"type": "message", "role": "assistant", "content": content, "id": "msg_1", "model": "m"}
    model.add(
        Turn(raw={**said, "stop_reason": "pause_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}), Turn("x")
    )
    _, reply = await answer(request_to(model, stream=False))
    assert reply.tool_calls == (), "the provider runs its own tools"
    await answer(request_to(model, messages=[HELLO, reply.message]))
    assert model.requests[1].body["messages"][1] == {"role": "assistant", "content": content}


async def test_tokens_are_counted_of_all_that_is_written_and_of_pictures_by_their_number(model: ScriptedModel) -> None:
    async def count(*content: dict[str, Any], **more: Any) -> int:
        message = wrapped({"role": "user", "content": list(content)})
        return await client(**more).count(request_to(model, messages=[message], tools=[]))

    words = "one two three four " * 50
    text = await count({"type": "text", "text": words})
    assert text > 190
    assert await count({"type": "thinking", "thinking": words}) == text
    assert (
        await count({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": words}]}) == text
    )
    assert await count({"type": "text", "text": "x"}, system=words) > text
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 10**6}}
    assert 500 < await count(image, image) < 5000


async def test_facts_and_drafts_are_those_of_the_client_that_knows_them(model: ScriptedModel) -> None:
    known, by = LitellmClient(), client()
    assert await by.facts("anthropic/claude-sonnet-4-5", {}) == await known.facts("anthropic/claude-sonnet-4-5", {})
    assert by.draft(request_to(model)) == known.draft(request_to(model))
