"""``litellm.acompletion`` with ``container``, once the hook is installed."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
from typing import Any

import litellm
import pytest

from jupyter_skills import SkillStore
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import until
from tests.litellm_hook.conftest import HELLO, KEY, Calls, Listener, all_of, asking, heard, python, skill
from tests.litellm_hook.tasks import our_tasks_are_over

GET = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
AGAIN = "print(n + 1)\nopen('a.txt', 'w').write('two'); open('b.docx', 'wb').write(b'w')"
KINDS = ["docx", "xlsx", "pptx", "html", "svg", "txt", "gif", "bin"]


def files_of(answer: Any) -> dict[str, bytes]:
    return {file["path"]: base64.b64decode(file["content_base64"]) for file in answer._litellm_generated_files}


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
@pytest.mark.usefixtures("installed")
async def test_the_finished_answer_comes_back_with_the_files(calls: Calls, model: ScriptedModel, provider: str) -> None:
    model.add(
        Turn("Reading.", [Call("load_skill", {"name": "counter"})], usage=(10, 1)),
        Turn("", [python("n = 20\nopen('a.txt', 'w').write('one')")], usage=(20, 2)),
        Turn(
            "",
            [python("print(n + 1)\nopen('a.txt', 'w').write('two'); open('b.docx', 'wb').write(b'w')")],
            usage=(30, 3),
        ),
        Turn("Done.", usage=(40, 4)),
    )
    answer = await calls.chat(provider, container=asking("counter"))
    assert type(answer).__name__ == "ModelResponse"
    assert answer.choices[0].message.content == "Done."
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (100, 10)
    assert files_of(answer) == {"a.txt": b"two", "b.docx": b"w"}
    assert answer._jupyter_skills["stopped_by"] == ""
    assert [run["outcome"] for run in answer._jupyter_skills["code"]] == ["ok", "ok"]
    assert "21" in json.dumps(calls.bodies()[-1])


@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_every_type_of_file_comes_once_with_its_name_type_and_size(calls: Calls, model: ScriptedModel) -> None:
    code = f"import os\nos.mkdir('sub')\nfor kind in {KINDS}: open('sub/made.' + kind, 'wb').write(b'123')"
    model.add(Turn("", [python(code), python("open('made.txt', 'w').write('12345')")]), Turn("Done."))
    answer = await calls.chat(container=asking("counter"))
    made = {file["path"]: file for file in answer._litellm_generated_files}
    assert sorted(made) == sorted(["made.txt", *(f"sub/made.{kind}" for kind in KINDS)])
    assert {file["name"] for file in made.values()} == {f"made.{kind}" for kind in KINDS}
    assert (made["made.txt"]["size"], made["sub/made.txt"]["size"]) == (5, 3)
    assert made["sub/made.html"]["mime_type"] == "text/html"
    assert set(made["made.txt"]) == {"name", "path", "mime_type", "size", "content_base64"}


@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_a_stream_tells_the_text_as_it_comes_and_the_files_before_its_end(
    calls: Calls, model: ScriptedModel
) -> None:
    model.add(Turn("Making it.", [python("open('a.txt', 'w').write('one')")]), Turn("Done."))
    stream = await calls.chat(container=asking("counter"), stream=True, stream_options={"include_usage": True})
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Making it.\n\nDone."
    (carrier,) = [chunk for chunk in chunks if hasattr(chunk, "_litellm_generated_files")]
    assert files_of(carrier) == {"a.txt": b"one"}
    assert json.loads(carrier.model_dump_json())["_litellm_generated_files"] == carrier._litellm_generated_files
    assert [reason for chunk in chunks if (reason := chunk.choices[0].finish_reason)] == ["stop"]
    assert [chunk.usage.total_tokens for chunk in chunks if getattr(chunk, "usage", None)] == [240]
    assert [body.get("stream") for body in calls.bodies()] == [True, True]


@pytest.mark.usefixtures("installed")
async def test_the_text_of_a_stream_does_not_wait_for_its_end(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("One two three four five six seven.", hold_after=2))
    stream = await calls.chat(container=asking("counter"), stream=True)
    first = await anext(stream)
    assert first.choices[0].delta.content
    model.release()
    rest = [chunk async for chunk in stream]
    assert rest


@pytest.mark.usefixtures("installed")
async def test_who_leaves_a_stream_early_stops_the_model(calls: Calls, model: ScriptedModel) -> None:
    held = Turn("One two three four five six seven.", [Call("load_skill", {"name": "counter"})], hold_after=2)
    model.add(held, Turn("A turn that goes on gets here."))
    stream = await calls.chat(container=asking("counter"), stream=True)
    await anext(stream)
    await stream.completion_stream.aclose()
    model.release()
    await our_tasks_are_over()
    assert len(model.requests) == 1


@pytest.mark.usefixtures("installed")
async def test_all_the_caller_gave_goes_with_each_request_and_nothing_of_it_is_changed(
    calls: Calls, model: ScriptedModel, listener: Listener
) -> None:
    messages = [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, *HELLO]
    given = {
        "messages": messages,
        "tools": [copy.deepcopy(GET)],
        "container": asking("counter", "painter"),
        "temperature": 0.25,
        "top_p": 0.5,
        "stop": ["END"],
        "seed": 7,
        "extra_headers": {"x-team": "blue"},
        "extra_body": {"own": {"a": 1}},
        "metadata": {"a": "b"},
    }
    before = copy.deepcopy(given)
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Ok."))
    await calls.chat(**given)
    await heard(calls, listener.succeeded)  # litellm's logs write into what they get
    assert given == before
    *requests, _ = model.requests
    assert len(requests) == 2
    for request in requests:
        body = request.body
        assert (body["temperature"], body["top_p"], body["stop"], body["seed"]) == (0.25, 0.5, ["END"], 7)
        assert (request.headers["x-team"], request.headers["authorization"]) == ("blue", f"Bearer {KEY}")
        assert body["own"] == {"a": 1}
        assert "get_weather" in [tool["function"]["name"] for tool in body["tools"]]
        assert "Be brief." in json.dumps(body["messages"])
        assert "Knows all about painter." in json.dumps(body["messages"])
        assert "container" not in body


@pytest.mark.usefixtures("installed")
async def test_model_and_messages_may_be_given_by_place(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Ok."))
    answer = await litellm.acompletion(
        "openai/scripted", HELLO, api_base=model.url, api_key=KEY, container=asking("counter")
    )
    assert answer.choices[0].message.content == "Ok."
    assert "Knows all about counter." in json.dumps(calls.bodies()[0])


@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_the_callers_own_tools_come_back_with_what_was_done_until_then(
    calls: Calls, model: ScriptedModel
) -> None:
    own = Call("get_weather", {"city": "Rome"})
    model.add(Turn("Two things.", [python("open('a.txt', 'w').write('one')"), own]), Turn("Sunny."))
    answer = await calls.chat(container=asking("counter"), tools=[GET])
    assert answer.choices[0].finish_reason == "tool_calls"
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Rome"})
    assert files_of(answer) == {"a.txt": b"one"}
    result = {"role": "tool", "tool_call_id": call.id, "content": "sun"}
    again = [*HELLO, *answer._jupyter_skills["messages"], result]
    answer = await calls.chat(container=asking("counter"), tools=[GET], messages=again)
    assert answer.choices[0].message.content == "Sunny."
    assert "run_python: ok" in json.dumps(calls.bodies()[-1])


@pytest.mark.usefixtures("installed")
async def test_the_callers_own_tools_come_back_in_a_stream_too(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Wait.", [Call("load_skill", {"name": "counter"}), Call("get_weather", {"city": "Rome"})]))
    chunks = [c async for c in await calls.chat(container=asking("counter"), tools=[GET], stream=True)]
    built = litellm.stream_chunk_builder(chunks)
    assert built.choices[0].finish_reason == "tool_calls"
    assert [call.function.name for call in built.choices[0].message.tool_calls] == ["get_weather"]


async def test_a_loop_without_end_is_ended_and_says_so(store: SkillStore, calls: Calls, model: ScriptedModel) -> None:
    from jupyter_skills import install_litellm_hook, remove_litellm_hook

    install_litellm_hook(max_steps=2)
    try:
        model.add(*[Turn("On.", [Call("load_skill", {"name": "counter"})]) for _ in range(2)])
        answer = await calls.chat(container=asking("counter"))
    finally:
        remove_litellm_hook()
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.tool_calls is None
    assert answer._jupyter_skills["stopped_by"] == "max_steps"


async def test_a_version_is_the_one_that_was_asked_for(
    installed: SkillStore, calls: Calls, model: ScriptedModel
) -> None:
    counter = await installed.find("counter")
    await installed.create_version(counter.id, skill("counter", "Count backwards. " * 30), default=False)
    for version, words in ((None, "slowly"), ("1", "slowly"), ("2", "backwards"), ("latest", "backwards")):
        model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Ok."))
        entry = {"type": "custom", "skill_id": f"litellm:{counter.id}", **({"version": version} if version else {})}
        await calls.chat(container={"skills": [entry]})
        assert words in calls.bodies()[-1]["messages"][-1]["content"]


async def test_many_skills_are_no_trouble(installed: SkillStore, calls: Calls, model: ScriptedModel) -> None:
    names = [f"skill-{number}" for number in range(30)]
    for name in names:
        await installed.create(skill(name))
    model.add(Turn("Ok."))
    await calls.chat(container=asking(*names))
    sent = json.dumps(calls.bodies()[0]["messages"])
    assert all(f"Knows all about {name}." in sent for name in names)


@pytest.mark.usefixtures("installed")
async def test_skills_that_came_with_packages_are_found_by_name(calls: Calls, model: ScriptedModel) -> None:
    model.add(Turn("Ok."))
    await calls.chat(container=asking("gif-maker"))
    assert "gif-maker" in json.dumps(calls.bodies()[0]["messages"])


@pytest.mark.usefixtures("installed")
async def test_native_skills_and_the_containers_id_stay_with_anthropic(calls: Calls, model: ScriptedModel) -> None:
    native = {"type": "anthropic", "skill_id": "pptx", "version": "latest"}
    container = {"skills": [native, *asking("counter")["skills"]]}
    model.add(
        Turn("", [Call("load_skill", {"name": "counter"})], container={"id": "container_9", "expires_at": "later"}),
        Turn("Ok.", container={"id": "container_9", "expires_at": "later"}),
    )
    answer = await calls.chat("anthropic", container=container)
    first, second = calls.bodies()
    assert first["container"] == {"skills": [native]}
    assert second["container"] == {"skills": [native], "id": "container_9"}
    assert answer.choices[0].message.provider_specific_fields["container"]["id"] == "container_9"


@pytest.mark.usefixtures("installed")
async def test_a_request_with_native_skills_only_is_left_alone(calls: Calls, model: ScriptedModel) -> None:
    native = {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}
    model.add(Turn("Ok."))
    answer = await calls.chat("anthropic", container=native)
    assert calls.bodies()[0]["container"] == native
    assert "tools" not in calls.bodies()[0]
    assert not hasattr(answer, "_litellm_generated_files")


@pytest.mark.parametrize(
    ("container", "words"),
    [
        (asking("nothing"), "There is no skill 'litellm:nothing'"),
        (asking("counter@9"), "There is no skill 'litellm:counter@9'"),
        (asking("../counter"), "There is no skill 'litellm:../counter'"),
        (asking("/etc"), "There is no skill 'litellm:/etc'"),
        (asking("store:counter"), "There is no skill 'litellm:store:counter'"),
        ({"skills": [{"skill_id": None}]}, "Entry 1 of container.skills names no skill_id"),
        ({"skills": [{"type": "anthropic", "skill_id": "pptx"}]}, "Only Anthropic's own API has the skills 'pptx'"),
    ],
)
@pytest.mark.usefixtures("installed")
async def test_what_can_not_be_had_is_a_bad_request_in_one_line(
    calls: Calls, model: ScriptedModel, container: Any, words: str
) -> None:
    with pytest.raises(litellm.BadRequestError) as caught:
        await calls.chat(container=container)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not model.requests


async def test_two_skills_of_one_name_are_refused(store: SkillStore, calls: Calls) -> None:
    from jupyter_skills import install_litellm_hook, remove_litellm_hook

    other = await store.for_user("somebody-else").create(skill("counter", "Another body."), visibility="public")
    install_litellm_hook()
    try:
        with pytest.raises(litellm.BadRequestError, match="another skill of the name 'counter'"):
            await calls.chat(container=asking("counter", other.id))
    finally:
        remove_litellm_hook()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Turn(status=429, message="slow down"), litellm.RateLimitError),
        (Turn(status=401, message="no such key"), litellm.AuthenticationError),
        (Turn(status=400, message="bad thing"), litellm.BadRequestError),
        (Turn(status=500, message="oh no"), litellm.InternalServerError),
    ],
)
@pytest.mark.usefixtures("installed")
async def test_what_the_provider_raises_is_raised_also_in_the_middle(
    calls: Calls, model: ScriptedModel, turn: Turn, kind: type[Exception], stream: bool
) -> None:
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), turn)
    wrapped = litellm.exceptions.MidStreamFallbackError  # litellm's own word for what comes in the middle of a stream
    with pytest.raises((kind, wrapped) if stream else kind, match=turn.message) as caught:
        await all_of(calls.chat(container=asking("counter"), stream=stream), stream)
    assert type(getattr(caught.value, "original_exception", caught.value)) is kind
    assert len(model.requests) == 2


@pytest.mark.usefixtures("installed")
async def test_without_an_engine_it_is_said(
    calls: Calls, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    model.add(Turn("", [python("1")]))
    with pytest.raises(litellm.APIConnectionError, match="Docker") as caught:
        await calls.chat(container=asking("counter"))
    assert caught.value.status_code == 503
    assert "%%ask" not in str(caught.value)
    assert "-r live" not in str(caught.value)


@pytest.mark.usefixtures("installed")
async def test_several_answers_at_once_are_refused(calls: Calls) -> None:
    with pytest.raises(litellm.BadRequestError, match="several answers"):
        await calls.chat(container=asking("counter"), n=2)


@pytest.mark.docker
@pytest.mark.usefixtures("installed")
async def test_a_call_that_is_given_up_leaves_no_sandbox(calls: Calls, model: ScriptedModel, containers: Any) -> None:
    model.add(Turn("", [python("1")]), Turn("Long.", delay=30))
    before = set(containers())
    call = asyncio.create_task(calls.chat(container=asking("counter")))
    assert await asyncio.to_thread(model.wait_for_requests, 2)
    assert set(containers()) - before
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    until(lambda: set(containers()) == before)
