"""What the tests of the proxy share: one with skills of two users, and the ways to ask it."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import TEXT
from jupyter_skills.store.records import Visibility
from jupyter_skills.store.store import SkillStore
from jupyter_skills.testing import Call, Exchange, ScriptedModel, Turn
from tests.conftest import write_skill
from tests.litellm_hook.proxy import HOOK, LISTENER, Proxy

KEYS = {
    "sk-ann": {"user_id": "ann"},
    "sk-ben": {"user_id": "ben"},
    "sk-team": {"team_id": "ann"},  # a team may be called as a user is
    "sk-nobody": {},
}

# Two calls: the second needs what the first has left, and both need a file of the skill.
COUNT = "total = len(open('/skills/{name}/figures.txt').read())"
WRITE = "open('total.txt', 'w').write(f'{{total}} ' + open('/skills/{name}/figures.txt').read())"


@dataclass(frozen=True)
class Said:
    """What came of a request, whatever shape it came in.

    Args:
        text: The answer.
        files: The files, by their paths.
        usage: Tokens that went in, and that came out.
    """

    text: str
    files: Mapping[str, bytes]
    usage: tuple[int, int]


@dataclass(frozen=True)
class House:
    """A proxy, the model behind it, and the store beside it.

    Args:
        proxy: The proxy.
        model: What answers in the providers' place.
        store: The store's address.
        ids: The ids of the stored skills, by owner and name.
    """

    proxy: Proxy
    model: ScriptedModel
    store: str
    ids: Mapping[str, str]

    def sent(self, prompt: str) -> list[dict[str, Any]]:
        """The bodies of the requests that the model got on a prompt."""
        return [request.body for request in self.model.requests if prompt in json.dumps(request.body["messages"])]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    """The model behind the proxies of this module; it answers by the prompt, so in any order."""
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> Iterator[House]:
    """A proxy with skills of two users."""
    folder = tmp_path_factory.mktemp("proxy")
    write_skill(folder / ".agents" / "skills", "planted")
    url = f"sqlite:///{folder / 'skills.sqlite'}"
    ids = asyncio.run(filled(url))
    with Proxy(folder, model, KEYS, environment={"JUPYTER_SKILLS_DB": url}) as proxy:
        yield House(proxy, model, url, ids)


@pytest.fixture(scope="module")
def engineless(tmp_path_factory: pytest.TempPathFactory, house: House) -> Iterator[Proxy]:
    """Another proxy with the same skills, on a machine without a Docker engine, and with a further callback."""
    folder = tmp_path_factory.mktemp("engineless")
    nowhere = {"JUPYTER_SKILLS_DB": house.store, "DOCKER_HOST": "tcp://127.0.0.1:9"}
    with Proxy(folder, house.model, KEYS, callbacks=[HOOK, LISTENER], environment=nowhere) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def log(request: pytest.FixtureRequest, house: House) -> Iterator[None]:
    """What the proxies say during a test is shown if that fails."""
    other = [request.getfixturevalue("engineless")] if "engineless" in request.fixturenames else []
    for proxy in (house.proxy, *other):
        proxy.said()
    yield
    for proxy in (house.proxy, *other):
        sys.stdout.write(proxy.said())


async def filled(url: str) -> dict[str, str]:
    """Puts the skills into the store that the tests ask for; gives their ids."""
    made: list[tuple[str, str, Visibility]] = [
        ("ann", "sums", "private"),
        ("ben", "sums", "private"),
        ("ann", "diary", "private"),
        ("ann", "notes", "shared"),
        ("ann", "tables", "public"),
    ]
    store = SkillStore(url, user="ann")
    try:
        return {
            f"{owner}/{name}": (await store.for_user(owner).create(skill(owner, name), visibility=visibility)).id
            for owner, name, visibility in made
        }
    finally:
        await store.close()


def skill(owner: str, name: str) -> Skill:
    manifest = f"---\nname: {name}\ndescription: The {name} of {owner}.\n---\nSee figures.txt.\n"
    files = {"SKILL.md": manifest, "figures.txt": figures(owner, name)}
    entries = {path: FileEntry(text.encode()) for path, text in files.items()}
    return Skill.from_files(MemoryFiles(entries), None, TEXT)


def figures(owner: str, name: str) -> str:
    return f"{owner}: {name}"


def container(*ids: str, **more: Any) -> dict[str, Any]:
    return {"skills": [{"type": "custom", "skill_id": word, "version": "latest"} for word in ids], **more}


def user_says(prompt: str) -> list[Any]:
    return [{"role": "user", "content": prompt}]


def script(house: House, prompt: str, name: str) -> None:
    """Has the model answer a prompt by calls for a skill and for code that uses it, and a last word."""
    load, count = Call("load_skill", {"name": name}), Call("run_python", {"code": COUNT.format(name=name)})
    turns = [
        Turn("First,", [load, count], usage=(10, 1)),
        Turn("then", [Call("run_python", {"code": WRITE.format(name=name)})], usage=(20, 2)),
        Turn("It is all in total.txt.", usage=(30, 3)),
    ]
    house.model.add(Exchange(prompt, turns))


def unpacked(entries: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    assert len({entry["path"] for entry in entries}) == len(entries)
    return {entry["path"]: base64.b64decode(entry["content_base64"]) for entry in entries}


def chat(proxy: Proxy, key: str, prompt: str, **more: Any) -> Said:
    """Asks by chat completions, for the whole answer."""
    made = proxy.openai(key).chat.completions.create(model="chat", messages=user_says(prompt), extra_body=more)
    assert made.choices[0].finish_reason == "stop"
    assert made.usage
    files = unpacked(made.to_dict()["_litellm_generated_files"])  # type: ignore[arg-type]
    return Said(made.choices[0].message.content or "", files, (made.usage.prompt_tokens, made.usage.completion_tokens))


def chat_streamed(proxy: Proxy, key: str, prompt: str, **more: Any) -> Said:
    """Asks by chat completions, for a stream."""
    text, usage, files, reasons = "", (0, 0), [], []
    for chunk in proxy.openai(key).chat.completions.create(
        model="chat",
        messages=user_says(prompt),
        stream=True,
        stream_options={"include_usage": True},
        extra_body=more,
    ):
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
        reasons += [choice.finish_reason for choice in chunk.choices if choice.finish_reason]
        files += [chunk.to_dict()["_litellm_generated_files"]] if "_litellm_generated_files" in chunk.to_dict() else []
        usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens) if chunk.usage else usage
    assert reasons == ["stop"]
    (entries,) = files
    return Said(text, unpacked(entries), usage)  # type: ignore[arg-type]


def messages(proxy: Proxy, key: str, prompt: str, **more: Any) -> Said:
    """Asks by Anthropic's messages, for the whole answer."""
    made = proxy.anthropic(key).messages.create(
        model="claude", max_tokens=500, messages=user_says(prompt), extra_body=more
    )
    assert made.stop_reason == "end_turn"
    text = "".join(block.text for block in made.content if block.type == "text")
    files = unpacked(made.to_dict()["_litellm_generated_files"])  # type: ignore[arg-type]
    return Said(text, files, (made.usage.input_tokens, made.usage.output_tokens))


def messages_streamed(proxy: Proxy, key: str, prompt: str, **more: Any) -> Said:
    """Asks by Anthropic's messages, for a stream."""
    with proxy.anthropic(key).messages.stream(
        model="claude", max_tokens=500, messages=user_says(prompt), extra_body=more
    ) as stream:
        files = [event.to_dict()["_litellm_generated_files"] for event in stream if event.type == "message_delta"]
        made = stream.get_final_message()
    assert made.stop_reason == "end_turn"
    text = "".join(block.text for block in made.content if block.type == "text")
    (entries,) = files
    return Said(text, unpacked(entries), (made.usage.input_tokens, made.usage.output_tokens))  # type: ignore[arg-type]


Way = Callable[..., Said]
WAYS = (chat, chat_streamed, messages, messages_streamed)
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def refusal(proxy: Proxy, key: str, skill_id: str, path: str = "/v1/chat/completions", **more: Any) -> tuple[int, str]:
    """Status and words of a refusal; the skill's id is taken out of them."""
    body = {"model": "chat", "messages": user_says("Refuse."), "container": container(skill_id), **more}
    response = proxy.post(path, key, body)
    assert response.status_code != 200, response.text
    return response.status_code, words(response).replace(skill_id, "ID").replace(skill_id.partition(":")[2], "ID")


def words(response: httpx.Response) -> str:
    return str(response.json()["error"]["message"])
