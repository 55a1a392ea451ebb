"""The same conversation through every wire gives the same answer, the same files and the same executions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jupyter_skills import Skill
from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.executor import Isolated
from jupyter_skills.agent.router import Router
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.agent.conftest import Talk

DRAW = """\
from PIL import Image
Image.new("RGB", (40, 30), "red").save("red.png")
text = '''
```
a fence within the code
```
'''
len(text)
"""
FIRST = [
    Turn("I'll see how it is done.", [Call("load_skill", {"name": "counter"})], usage=(11, 3)),
    Turn(
        "",
        [
            Call("run_python", {"code": DRAW}),
            Call("run_shell", {"command": "ls\necho ½"}),
            Call("read_skill_file", {"skill": "counter", "path": "count.py"}),
        ],
        usage=(21, 5),
    ),
    Turn("", [Call("run_python", {"code": "1 / 0"}), Call("fly", {"to": "the moon"})], usage=(31, 7)),
    Turn("Here it **is**: `red.png`.", usage=(41, 9)),
]
SECOND = [Turn("", [Call("run_python", {"code": "len(text)"})], usage=(51, 1)), Turn("Still there.", usage=(61, 2))]

WIRES = [
    "openai plain",
    "openai sse",
    "anthropic plain",
    "anthropic sse",
    "gemini plain",
    "gemini sse",
    "text",
    "text sse",
]


def in_text(turn: Turn) -> Turn:
    """What a model without function calling writes for the same."""
    raw = {"load_skill": "name", "run_python": "code", "run_shell": "command"}
    blocks = [turn.text] if turn.text else []
    for call in turn.calls:
        arguments: Any = call.arguments
        body = arguments[raw[call.tool]] if call.tool in raw else call.json
        blocks.append(f"````tool {call.tool}\n{body}\n````")
    return replace(turn, text="\n\n".join(blocks), calls=())


def without_ids(answer: Answer) -> list[dict[str, Any]]:
    """The exchange as it is the same everywhere: providers name calls as they like."""
    return [
        {
            "role": message["role"],
            "content": message.get("content") or "",
            "calls": [call["function"]["name"] for call in message.get("tool_calls") or ()],
        }
        for message in answer.messages
    ]


@pytest.fixture
def converse(model: ScriptedModel, skill: Skill) -> Callable[[str], Any]:
    async def run(wire: str) -> tuple[Answer, Answer]:
        sandbox = IsolatedKernel(DockerSandbox())
        try:
            return await talk_through(wire, Router(Isolated(sandbox, 30)))
        finally:
            await sandbox.stop()

    async def talk_through(wire: str, isolated: Router) -> tuple[Answer, Answer]:
        provider = "openai" if wire.startswith("text") else wire.split()[0]
        talk = Talk(model, provider)
        talk.settings.completion_kwargs = {"api_key": "any"}
        if wire.startswith("text"):
            talk.settings.tool_calls = "text"
        write = in_text if wire.startswith("text") else replace
        stream = wire.endswith("sse")
        model.add(*map(write, FIRST))
        first = await talk.ask("Draw it", skills=[skill], router=isolated, stream=stream)
        model.add(*map(write, SECOND))
        second = await talk.ask("Is it still there?", skills=[skill], router=isolated, stream=stream)
        return first, second

    return run


@pytest.mark.docker
@pytest.mark.parametrize("wire", WIRES)
async def test_a_conversation_is_the_same_on_every_wire(converse: Callable[[str], Any], wire: str) -> None:
    first, second = await converse(wire)
    assert first.text == "I'll see how it is done.\n\nHere it **is**: `red.png`."
    assert [(file.path, file.image.width, file.image.height) for file in first.files] == [("red.png", 40, 30)]
    assert [(run.tool, run.outcome) for run in (*first.code, *second.code)] == [
        ("run_python", "ok"),
        ("run_shell", "ok"),
        ("run_python", "error"),
        ("run_python", "ok"),
    ]
    assert [call.name for call in first.calls] == [
        *["load_skill", "run_python", "run_shell", "read_skill_file"],
        *["run_python", "fly"],
    ]
    assert (first.finish_reason, second.finish_reason) == ("stop", "stop")
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (104, 24)
    results = {message["content"].partition("\n")[0] for message in first.messages if message["role"] == "tool"}
    assert {"run_python: ok", "run_shell: ok", "run_python: error", "print('one, two')"} < results
    assert second.text == "Still there."
    assert second.messages[2]["content"] == "run_python: ok\n\n33"


@pytest.mark.docker
async def test_the_exchanges_are_alike_to_the_byte_but_for_the_names_of_calls(
    converse: Callable[[str], Any],
) -> None:
    """What one wire leaves in the conversation, any other can go on with."""
    told = {}
    for wire in ("openai plain", "anthropic sse", "gemini plain", "text sse"):
        first, second = await converse(wire)
        told[wire] = [*without_ids(first), *without_ids(second)]
    plain = told.pop("openai plain")
    for wire, other in told.items():
        assert other == plain, wire
