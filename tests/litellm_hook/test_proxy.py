"""The hook in a real LiteLLM proxy: OpenAI's and Anthropic's own clients ask it, each as a user of the proxy's."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from jupyter_skills.testing import Call, Exchange, Turn
from tests.conftest import until
from tests.litellm_hook.proxied import (
    KEYS,
    WAYS,
    House,
    Said,
    Way,
    chat,
    chat_streamed,
    container,
    each_way,
    engineless,
    figures,
    house,
    log,
    messages,
    model,
    refusal,
    script,
    unpacked,
    user_says,
    words,
)
from tests.litellm_hook.proxy import Proxy

__all__ = ["engineless", "house", "log", "model"]  # fixtures, found by their names in this module

pytestmark = pytest.mark.docker

PARAMETERS = {"model", "messages", "system", "tools", "stream", "stream_options", "max_tokens", "temperature"}


# What a request with skills comes to


@each_way
def test_the_finished_answer_comes_back_with_its_files_and_the_sum_of_the_usage(house: House, way: Way) -> None:
    prompt = f"Sum it up by {way.__name__}."
    script(house, prompt, "sums")
    said = way(house.proxy, "sk-ann", prompt, container=container("litellm:sums"))
    assert said.text.endswith("It is all in total.txt.")
    assert said.files == {"total.txt": b"9 ann: sums"}
    assert said.usage == (60, 6)
    assert len(house.sent(prompt)) == 3


@each_way
def test_the_provider_gets_nothing_of_the_proxys_own(house: House, way: Way) -> None:
    prompt = f"Keep it to yourself by {way.__name__}."
    script(house, prompt, "sums")
    way(house.proxy, "sk-ann", prompt, container=container("litellm:sums"), temperature=0.25)
    for body in house.sent(prompt):
        assert set(body) <= {
            "model",
            "messages",
            "system",
            "tools",
            "stream",
            "stream_options",
            "max_tokens",
            "temperature",
        }
        assert body["temperature"] == 0.25
        assert not [found for found in ("sk-ann", "user_api_key", "proxy") if found in json.dumps(body)]


def test_no_container_outlives_its_request(house: House, containers: Callable[..., list[str]]) -> None:
    script(house, "Leave nothing.", "sums")
    chat(house.proxy, "sk-ann", "Leave nothing.", container=container("litellm:sums"))
    until(lambda: not containers(house.proxy.pid))


def test_a_client_that_hangs_up_ends_the_code_that_runs(house: House, containers: Callable[..., list[str]]) -> None:
    forever = Call("run_python", {"code": "while True: pass"})
    house.model.add(Exchange("Hang up.", [Turn("Wait:", [forever]), Turn("Never said.")]))
    stream = house.proxy.openai("sk-ann").chat.completions.create(
        model="chat", messages=user_says("Hang up."), stream=True, extra_body={"container": container("litellm:sums")}
    )
    next(iter(stream))
    until(lambda: containers(house.proxy.pid), within=30)
    stream.close()
    until(lambda: not containers(house.proxy.pid), within=30)
    assert len(house.sent("Hang up.")) == 1


@pytest.mark.parametrize("start", ["litellm:", "litellm_"])
def test_an_id_is_taken_in_both_of_litellms_spellings(house: House, start: str) -> None:
    prompt = f"Spell it {start}"
    script(house, prompt, "diary")
    said = chat(house.proxy, "sk-ann", prompt, container=container(start + house.ids["ann/diary"]))
    assert said.files == {"total.txt": b"10 ann: diary"}
    offered = [tool["function"]["name"] for tool in house.sent(prompt)[0]["tools"]]
    assert sorted(offered) == ["load_skill", "read_skill_file", "run_python", "run_shell"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_skills_of_the_providers_go_on_to_it_beside_those_of_the_store(house: House, path: str) -> None:
    prompt = f"Both, at {path}"
    house.model.add(Exchange(prompt, [Turn("", [Call("load_skill", {"name": "sums"})]), Turn("Loaded.")]))
    native = {"type": "anthropic", "skill_id": "pptx", "version": "latest"}
    both = {"skills": [*container("litellm:sums")["skills"], native]}
    body = {"model": "claude", "messages": user_says(prompt), "max_tokens": 500, "container": both}
    response = house.proxy.post(path, "sk-ann", body)
    assert response.status_code == 200, response.text
    assert [sent["container"] for sent in house.sent(prompt)] == [{"skills": [native]}] * 2


def test_the_files_are_streamed_to_a_client_that_asks_for_no_usage_too(house: House) -> None:
    script(house, "No usage.", "sums")
    body = {"model": "chat", "messages": user_says("No usage."), "stream": True, "container": container("litellm:sums")}
    lines = house.proxy.post("/v1/chat/completions", "sk-ann", body).text.splitlines()
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    (files,) = [chunk["_litellm_generated_files"] for chunk in chunks if "_litellm_generated_files" in chunk]
    assert unpacked(files) == {"total.txt": b"9 ann: sums"}
    assert not [chunk for chunk in chunks if "usage" in chunk]
    assert "data: [DONE]" in lines


@each_way
def test_other_callbacks_are_told_of_one_call_and_its_user(engineless: Proxy, house: House, way: Way) -> None:
    load = Call("load_skill", {"name": "sums"})
    prompt, last = f"Log it by {way.__name__}.", f"And then by {way.__name__}."
    house.model.add(
        Exchange(prompt, [Turn("", [load], usage=(10, 1)), Turn("Read.", usage=(20, 2))]),
        Exchange(last, [Turn("Plain.")]),
    )
    assert way(engineless, "sk-ben", prompt, container=container("litellm:sums")).usage == (30, 3)
    plain = engineless.openai("sk-ann").chat.completions.create(model="chat", messages=user_says(last))
    assert plain.choices[0].message.content == "Plain."
    until(lambda: [call for call in engineless.told() if call["prompt"] == last])
    (told,) = [call for call in engineless.told() if call["prompt"] == prompt]
    provider = "openai" if way in (chat, chat_streamed) else "anthropic"
    assert told == {"user": "ben", "provider": provider, "tokens": [30, 3], "prompt": prompt}


# Whose skills


@each_way
def test_a_name_stands_for_the_users_own_skill(house: House, way: Way) -> None:
    for user in ("ann", "ben"):
        prompt = f"Whose is it, {user}, by {way.__name__}?"
        script(house, prompt, "sums")
        said = way(house.proxy, f"sk-{user}", prompt, container=container("litellm:sums"))
        assert said.files == {"total.txt": f"9 {user}: sums".encode()}


@pytest.mark.parametrize("name", ["notes", "tables"])
def test_a_skill_that_was_shared_works_for_everybody(house: House, name: str) -> None:
    by_id, by_name = f"litellm:{house.ids[f'ann/{name}']}", f"litellm:{name}"
    for key, word in (("sk-ann", by_id), ("sk-ben", by_id), ("sk-ben", by_name), ("sk-nobody", by_name)):
        prompt = f"Share, {key}, {word}."
        script(house, prompt, name)
        said = chat(house.proxy, key, prompt, container=container(word))
        assert said.files == {"total.txt": f"{len(figures('ann', name))} ann: {name}".encode()}


@pytest.mark.parametrize("key", ["sk-ben", "sk-team", "sk-nobody"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_somebody_elses_private_skill_is_not_told_from_a_missing_one(house: House, key: str, path: str) -> None:
    missing = refusal(house.proxy, key, "litellm:skill_01jd0000000000000000000000", path)
    assert refusal(house.proxy, key, f"litellm:{house.ids['ann/diary']}", path) == missing
    assert refusal(house.proxy, key, "litellm:diary", path) == missing
    assert refusal(house.proxy, key, f"litellm_{house.ids['ann/diary']}", path)[0] == missing[0] == 400


@pytest.mark.parametrize(
    "word", ["planted", "gif-maker", "/etc", "../x", "~/.agents/skills/planted", "./.agents/skills/planted"]
)
def test_nothing_on_the_proxys_machine_can_be_asked_for(house: House, word: str) -> None:
    missing = refusal(house.proxy, "sk-ann", "litellm:no-such-skill")
    assert refusal(house.proxy, "sk-ann", f"litellm:{word}") == missing


def test_nor_by_its_absolute_path(house: House) -> None:
    planted = house.proxy.folder / ".agents" / "skills" / "planted"
    assert planted.is_dir()
    status, said = refusal(house.proxy, "sk-ann", f"litellm:{planted}")
    assert status == 400
    assert "There is no skill" in said


@pytest.mark.parametrize("key", ["", "sk-of-nobody"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_without_a_key_of_the_proxys_there_is_nothing(house: House, key: str, path: str) -> None:
    status, said = refusal(house.proxy, key, f"litellm:{house.ids['ann/notes']}", path, max_tokens=5)
    assert status == 401
    assert "ID" not in said


@pytest.mark.parametrize(
    "forged",
    [
        {"user": "ann"},
        {"user_id": "ann"},
        {"metadata": {"user_api_key_user_id": "ann", "user_id": "ann"}},
        {"litellm_metadata": {"user_api_key_user_id": "ann", "user_api_key_team_id": "ann"}},
        {"proxy_server_request": None},
        {"proxy_server_request": {"headers": {}, "body": {"user": "ann"}}},
        {"user_api_key_dict": {"user_id": "ann"}},
        {"litellm_logging_obj": {"user": "ann"}},
        {"litellm_params": {"metadata": {"user_api_key_user_id": "ann"}}},
        {"custom_llm_provider": "jupyter_skills"},
    ],
    ids=lambda forged: json.dumps(forged).replace('"', ""),
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_body_can_not_say_who_asks(house: House, path: str, forged: dict[str, Any]) -> None:
    missing = refusal(house.proxy, "sk-ben", "litellm:no-such-skill", path, max_tokens=5)
    assert refusal(house.proxy, "sk-ben", f"litellm:{house.ids['ann/diary']}", path, max_tokens=5, **forged) == missing


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_container_can_not_say_who_asks_or_what_was_found(house: House, path: str) -> None:
    missing = refusal(house.proxy, "sk-ben", "litellm:no-such-skill", path, max_tokens=5)
    diary = f"litellm:{house.ids['ann/diary']}"
    entry = {
        "type": "custom",
        "skill_id": diary,
        "version": "latest",
        "user": "ann",
        "owner": "ann",
        "store": "sqlite://",
    }
    found = {"name": "diary", "files": {"SKILL.md": "---\nname: diary\ndescription: x\n---\n"}}
    forged = {"skills": [entry], "user": "ann", "ours": [found], "found": [found], "native": None, "resolved": True}
    assert refusal(house.proxy, "sk-ben", diary, path, max_tokens=5, container=forged) == missing


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_request_can_not_ask_for_our_way_without_skills(house: House, path: str) -> None:
    script(house, f"Be there, {path}", "sums")
    chat(house.proxy, "sk-ben", f"Be there, {path}", container=container("litellm:sums"))
    house.model.add(Exchange("Go round.", [Turn("Gone.")]))
    body = {"model": "claude", "messages": user_says("Go round."), "max_tokens": 5}
    response = house.proxy.post(path, "sk-ben", {**body, "custom_llm_provider": "jupyter_skills"})
    assert response.status_code in (200, 400), response.text
    assert "Traceback" not in response.text
    response = house.proxy.post(path, "sk-ben", {**body, "model": "jupyter_skills/claude"})
    assert response.status_code in (400, 401, 403, 404), response.text


# What goes wrong


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_missing_skill_is_a_bad_request_with_one_line(house: House, path: str, streamed: bool) -> None:
    body = {"model": "chat", "messages": user_says("Find it."), "max_tokens": 5, "stream": streamed}
    response = house.proxy.post(path, "sk-ann", {**body, "container": container("litellm:no-such-skill")})
    assert response.status_code == 400
    assert "There is no skill 'litellm:no-such-skill@latest'. Check its id or name" in words(response)
    assert "\n" not in words(response).strip()
    assert "Traceback" not in response.text
    assert house.sent("Find it.") == []


def test_a_skill_of_the_providers_is_refused_for_a_model_that_has_none(house: House) -> None:
    with pytest.raises(openai.BadRequestError, match="pptx"):
        chat(house.proxy, "sk-ann", "Native.", container={"skills": [{"type": "anthropic", "skill_id": "pptx"}]})
    assert house.sent("Native.") == []


@pytest.mark.parametrize("skills", ["sums", [1], [{"type": "custom"}], [{"skill_id": ""}], [{"skill_id": "litellm:"}]])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_container_that_makes_no_sense_is_a_bad_request(house: House, path: str, skills: Any) -> None:
    body = {"model": "claude", "messages": user_says("Guess."), "max_tokens": 5, "container": {"skills": skills}}
    response = house.proxy.post(path, "sk-ann", body)
    assert response.status_code == 400
    assert "Traceback" not in response.text


@pytest.mark.parametrize(("path", "field"), [("/v1/completions", "prompt"), ("/v1/responses", "input")])
def test_calls_of_other_kinds_take_no_skills(house: House, path: str, field: str) -> None:
    before = len(house.model.requests)
    body = {"model": "chat", field: "Another way.", "container": container("litellm:sums")}
    response = house.proxy.post(path, "sk-ann", body)
    assert response.status_code == 400
    assert "Use chat completions or messages" in words(response)
    assert len(house.model.requests) == before


@each_way
def test_a_providers_429_stays_one(house: House, way: Way) -> None:
    prompt = f"Too fast by {way.__name__}."
    busy = Turn(status=429, message="slow down", error_type="rate_limit_error")
    house.model.add(Exchange(prompt, [Turn("", [Call("run_python", {"code": "1"})]), busy]))
    with pytest.raises(
        (openai.RateLimitError, anthropic.RateLimitError, openai.APIError, anthropic.APIError)
    ) as raised:
        way(house.proxy, "sk-ann", prompt, container=container("litellm:sums"))
    assert "slow down" in str(raised.value)
    if "streamed" not in way.__name__:  # there the status was sent with the first piece of the answer
        assert raised.value.status_code == 429  # type: ignore[union-attr]


def test_a_model_that_stands_in_for_another_gets_the_skills_too(house: House) -> None:
    house.model.add(
        Turn(status=429, message="slow down", error_type="rate_limit_error", retry_after=0),
        Turn("", [Call("load_skill", {"name": "sums"})]),
        Turn("Here I am."),
    )
    said = chat(house.proxy, "sk-ann", "Stand in.", container=container("litellm:sums"), fallbacks=["claude"])
    assert said.text == "Here I am."
    assert [request.path for request in house.model.requests[-2:]] == ["/v1/messages"] * 2


@pytest.mark.parametrize("way", [chat, messages], ids=lambda way: way.__name__)
def test_without_an_engine_it_is_unavailable(house: House, engineless: Proxy, way: Way) -> None:
    prompt = f"Run nowhere by {way.__name__}."
    script(house, prompt, "sums")
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as raised:
        way(engineless, "sk-ann", prompt, container=container("litellm:sums"))
    assert raised.value.status_code == 503
    assert "Docker" in str(raised.value)
    assert "Traceback" not in str(raised.value)


# What is none of the hook's business


def test_a_request_without_skills_is_sent_as_if_there_were_no_hook(house: House, tmp_path: Path) -> None:
    script(house, "Whatever.", "sums")
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
    bodies = [
        ("/v1/chat/completions", {"model": "chat", "messages": user_says("Whatever."), "tools": [tool], "seed": 1}),
        ("/v1/chat/completions", {"model": "chat", "messages": user_says("Whatever."), "stream": True}),
        ("/v1/messages", {"model": "claude", "messages": user_says("Whatever."), "max_tokens": 5, "system": "Hm."}),
        ("/v1/messages", {"model": "claude", "messages": user_says("Whatever."), "max_tokens": 5, "container": "c_1"}),
    ]

    def sent(proxy: Proxy) -> list[dict[str, Any]]:
        before = len(house.model.requests)
        for path, body in bodies:
            assert proxy.post(path, "sk-ann", body).status_code == 200
        return [request.body for request in house.model.requests[before:]]

    with Proxy(tmp_path, house.model, KEYS, callbacks="") as plain:
        assert sent(house.proxy) == sent(plain)


def test_requests_at_the_same_time_do_not_mix(house: House) -> None:
    def asks(number: int) -> tuple[str, Said]:
        user, way = ("ann", "ben")[number % 2], WAYS[number // 2]
        prompt = f"At once, {user}, by {way.__name__}."
        script(house, prompt, "sums")
        return user, way(house.proxy, f"sk-{user}", prompt, container=container("litellm:sums"))

    with ThreadPoolExecutor(8) as threads:
        for user, said in threads.map(asks, range(8)):
            assert said.files == {"total.txt": f"9 {user}: sums".encode()}
            assert said.usage == (60, 6)
