"""What providers and callers do that nobody would think of, once the hook is installed."""

from __future__ import annotations

from typing import Any

import litellm
import pytest

from jupyter_skills import install_litellm_hook, remove_litellm_hook
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.litellm_hook.conftest import HELLO, KEY, Calls, Listener, asking, heard, python

GET = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
LOAD = Call("load_skill", {"name": "counter"})
SERVER_TOOL = [
    {"type": "text", "text": "Making it."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}},
    {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "bash_code_execution_result", "stdout": "deck.pptx", "stderr": "", "return_code": 0},
    },
    {"type": "text", "text": "Here is your deck."},
]


def native(content: list[dict[str, Any]], reason: str = "end_turn") -> Turn:
    """An answer of Anthropic's as it stands on the wire."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content}
    usage = {"input_tokens": 10, "output_tokens": 5}
    return Turn(raw={**message, "stop_reason": reason, "stop_sequence": None, "usage": usage})


@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.usefixtures("installed")
async def test_what_the_provider_did_by_itself_is_not_done_again(
    calls: Calls, model: ScriptedModel, shape: str
) -> None:
    model.add(native(SERVER_TOOL))
    answer = await getattr(calls, shape)("anthropic", container=asking("counter"))
    assert len(model.requests) == 1
    if shape == "chat":
        assert answer.choices[0].message.content == "Making it.Here is your deck."
        assert answer.choices[0].finish_reason == "stop"
    else:
        assert answer["content"] == SERVER_TOOL


@pytest.mark.usefixtures("installed")
async def test_a_paused_answer_of_the_providers_comes_back_to_be_gone_on_with(
    calls: Calls, model: ScriptedModel
) -> None:
    model.add(native(SERVER_TOOL[1:3], "pause_turn"), native([{"type": "text", "text": "Done."}]))
    answer = await calls.messages(container=asking("counter"))
    assert (answer["stop_reason"], answer["_jupyter_skills"]["stopped_by"]) == ("pause_turn", "")
    added = answer["_jupyter_skills"]["messages"]
    assert added == [{"role": "assistant", "content": SERVER_TOOL[1:3]}]


@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_results_of_the_callers_may_come_in_a_message_of_their_own(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Two.", [python("print(1)"), Call("get_weather", {"city": "Rome"})]), Turn("Sunny."))
    answer = await calls.messages(container=asking("counter"), tools=[GET])
    (call,) = [block for block in answer["content"] if block["type"] == "tool_use"]
    theirs = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "sun"}]}
    again = [*HELLO, *answer["_jupyter_skills"]["messages"], theirs]
    answer = await calls.messages(container=asking("counter"), tools=[GET], messages=again)
    assert answer["content"][0]["text"] == "Sunny."
    assert [message["role"] for message in calls.bodies()[-1]["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.usefixtures("installed")
async def test_an_empty_answer_is_not_filled_with_an_older_one(
    calls: Calls, model: ScriptedModel, stream: bool
) -> None:
    model.add(Turn("Let me look.", [LOAD]), Turn(""))
    made = await calls.chat(container=asking("counter"), stream=stream)
    if stream:
        made = litellm.stream_chunk_builder([chunk async for chunk in made])
        assert made.choices[0].message.content == "Let me look."
    else:
        assert not made.choices[0].message.content
    assert made.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", ["chat", "messages"])
async def test_a_call_that_may_cost_nothing_says_so_in_full(
    store: Any, calls: Calls, model: ScriptedModel, shape: str, stream: bool
) -> None:
    install_litellm_hook(max_cost=0.0000001)
    name = "openai/gpt-4o" if shape == "chat" else "anthropic/claude-sonnet-4-5"
    try:
        made = await getattr(calls, shape)(model=name, container=asking("counter"), stream=stream)
        chunks = [chunk async for chunk in made] if stream else []
    finally:
        remove_litellm_hook()
    assert not model.requests
    if stream:
        assert "max_cost" in "".join(
            chunk.decode() if isinstance(chunk, bytes) else chunk.model_dump_json() for chunk in chunks
        )
    elif shape == "chat":
        assert made.usage.total_tokens == 0
        assert made.choices[0].finish_reason == "length"
    else:
        assert made["usage"] == {"input_tokens": 0, "output_tokens": 0}
        assert (made["stop_reason"], made["stop_sequence"]) == ("pause_turn", None)


@pytest.mark.usefixtures("installed")
async def test_tools_in_anthropics_form_are_the_callers_in_chat_too(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("", [Call("get_weather", {"city": "Rome"})]))
    answer = await calls.chat("anthropic", container=asking("counter"), tools=[GET])
    assert [call.function.name for call in answer.choices[0].message.tool_calls] == ["get_weather"]


@pytest.mark.usefixtures("installed")
async def test_no_engine_puts_no_deployment_out_of_a_router(
    calls: Calls, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"model": "openai/scripted", "api_base": model.url, "api_key": KEY}
    router = litellm.Router(model_list=[{"model_name": "mine", "litellm_params": given}], allowed_fails=0)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    for _ in range(2):
        model.add(Turn("", [python("1")]))
        with pytest.raises(litellm.APIConnectionError, match="Docker"):
            await router.acompletion("mine", HELLO, container=asking("counter"))
    model.add(Turn("Ok."))
    assert (await router.acompletion("mine", HELLO)).choices[0].message.content == "Ok."


@pytest.mark.usefixtures("installed")
async def test_who_hangs_up_before_the_end_of_a_message_has_paid_for_it(
    calls: Calls, model: ScriptedModel, listener: Listener
) -> None:
    model.add(Turn("", [LOAD], usage=(1000, 10)), Turn("One two three four five six.", hold_after=4))
    stream = await calls.messages(container=asking("counter"), stream=True)
    seen = b""
    while b"text_delta" not in seen:
        seen += await anext(stream)
    await stream.aclose()
    model.release()
    assert [tokens for _, tokens, _ in await heard(calls, listener.succeeded)] == [1010]


@pytest.mark.parametrize("messages", ["hello", ["hello"], [], [["user", "hello"]]])
@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.usefixtures("installed")
async def test_what_is_no_conversation_is_a_bad_request(calls: Calls, shape: str, messages: Any) -> None:
    with pytest.raises(litellm.BadRequestError):
        await getattr(calls, shape)(container=asking("counter"), messages=messages)


@pytest.mark.usefixtures("installed")
async def test_words_without_end_are_not_repeated(calls: Calls) -> None:
    for entry in ({"skill_id": "litellm:" + "x" * 10_000}, {"skill_id": "litellm:x", "version": "9" * 10_000}):
        with pytest.raises(litellm.BadRequestError) as caught:
            await calls.chat(container={"skills": [entry]})
        assert len(str(caught.value)) < 400


@pytest.mark.docker
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.usefixtures("installed")
async def test_a_refusal_is_an_answer_and_takes_nothing_back(calls: Calls, model: ScriptedModel, stream: bool) -> None:
    model.add(Turn("", [python("open('a.txt', 'w').write('one')")]), Turn(refusal="I won't.", finish="content_filter"))
    made = await calls.chat(container=asking("counter"), stream=stream)
    chunks = [chunk async for chunk in made] if stream else [made]
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == "content_filter"
    (carrier,) = [chunk for chunk in chunks if hasattr(chunk, "_litellm_generated_files")]
    assert [file["path"] for file in carrier._litellm_generated_files] == ["a.txt"]


@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_code_learns_nothing_of_the_environment_by_guessing(
    calls: Calls, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-0123456789abcdef")
    model.add(Turn("", [python("print('sk-0123456789' + 'abcdef')")]), Turn("Ok."))
    await calls.chat(container=asking("counter"))
    (result,) = [message for message in calls.bodies()[-1]["messages"] if message["role"] == "tool"]
    assert "sk-0123456789abcdef" in result["content"]
    assert "OTHER_API_KEY" not in str(calls.bodies())


@pytest.mark.usefixtures("installed")
async def test_a_message_without_a_role_goes_where_litellm_sends_it(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Ok."), Turn("Ok."))
    for container in (None, asking("counter")):
        await calls.chat(container=container, messages=[{"content": "Hello"}])
    plain, ours = calls.bodies()
    assert ours["messages"][-1] == plain["messages"][-1]
