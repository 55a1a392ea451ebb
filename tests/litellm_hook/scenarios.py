"""What a scenario is: one thing that a skills hook has to do, tried on one side, and what is known of LiteLLM's."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_skills.testing import ScriptedModel
from jupyter_skills.testing.wire_openai import text_of
from tests.litellm_hook.sides import KEY, Side

HOLDS = "holds"
_BODY = "Add the numbers one after the other, from the first to the last, and say what they come to."
MESSAGES = [{"role": "user", "content": "What is 6 times 7?"}]


class Broken(AssertionError):
    """What a side did in place of the right thing, in a few words."""


@dataclass(frozen=True)
class Scenario:
    """One thing that a hook has to do.

    Args:
        number: The defect of LiteLLM's hook that it is about, in the list of eighteen.
        defect: That defect in a sentence.
        theirs: What the scenario says on LiteLLM's side; ``HOLDS`` for what this release does right.
        run: Does it; raises ``Broken``, or what the side raised, if the side does not do the right thing.
        docker: Whether code runs.
        steps: How many answers of the model a request may take.
    """

    number: int
    defect: str
    theirs: str
    run: Callable[[Side], Awaitable[None]]
    docker: bool
    steps: int

    @property
    def name(self) -> str:
        """As the test is called."""
        return self.run.__name__.replace("_", "-")

    async def outcome(self, side: Callable[..., Any]) -> str:
        """What one side does: ``HOLDS``, or what went wrong there in a few words."""
        with ScriptedModel() as model:
            try:
                async with side(model, steps=self.steps) as there:
                    await self.run(there)
            except Broken as broken:
                return str(broken)
            except Exception as error:  # noqa: BLE001 -- whatever a side raises is what it does
                return f"raises {type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
        return HOLDS


SCENARIOS: list[Scenario] = []


def scenario(
    number: int, defect: str, theirs: str, *, docker: bool = False, steps: int = 10
) -> Callable[[Callable[[Side], Awaitable[None]]], None]:
    """Makes a scenario of a function, and adds it to ``SCENARIOS``; see ``Scenario`` for the arguments."""

    def add(run: Callable[[Side], Awaitable[None]]) -> None:
        SCENARIOS.append(Scenario(number, defect, theirs, run, docker, steps))

    return add


def expect(so: object, otherwise: str) -> None:
    """Raises ``Broken`` with ``otherwise`` unless it is so."""
    if not so:
        raise Broken(otherwise)


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, content in files.items():
            packed.writestr(path, content)
    return buffer.getvalue()


def skill(name: str = "sums", *, body: str = _BODY, files: Mapping[str, str] | None = None) -> bytes:
    """A zip of a skill in a folder of its name, with further files."""
    head = f"---\nname: {name}\ndescription: Reckons for {name}.\n---\n{body}\n"
    return archive({f"{name}/SKILL.md": head, **{f"{name}/{path}": content for path, content in (files or {}).items()}})


def container(*skills: str) -> dict[str, Any]:
    """``container`` with these skills."""
    return {"skills": [{"type": "custom", "skill_id": each, "version": "latest"} for each in skills]}


def chat(side: Side, *skills: str, **rest: Any) -> Awaitable[Any]:
    """A chat completion with these skills from a model in OpenAI's shape."""
    return side.acompletion(
        **{
            "model": "openai/gpt-scripted",
            "api_base": side.model.url,
            "api_key": KEY,
            "messages": MESSAGES,
            "container": container(*skills),
            **rest,
        }
    )


def messages(side: Side, *skills: str, **rest: Any) -> Awaitable[Any]:
    """A request in Anthropic's shape with these skills."""
    return side.messages(
        **{
            "model": "anthropic/claude-scripted",
            "api_base": side.model.root,
            "api_key": KEY,
            "max_tokens": 500,
            "messages": MESSAGES,
            "container": container(*skills),
            **rest,
        }
    )


def system(body: Mapping[str, Any]) -> str:
    """What a request says in the system's place, whichever its shape."""
    said = [body.get("system", "")]
    said += [message["content"] for message in body["messages"] if message["role"] in ("system", "developer")]
    return "\n".join(map(text_of, said))


def everything(body: Mapping[str, Any]) -> str:
    """A whole request as text."""
    return json.dumps(body, ensure_ascii=False)


def results(body: Mapping[str, Any]) -> list[str]:
    """What a request tells the model of its calls, whichever its shape."""
    found = []
    for message in body["messages"]:
        if message["role"] == "tool":
            found.append(text_of(message["content"]))
        elif isinstance(message.get("content"), list):
            found += [text_of(part["content"]) for part in message["content"] if part.get("type") == "tool_result"]
    return found


def text(answer: Mapping[str, Any]) -> str:
    """The text of a response in Anthropic's shape."""
    return text_of(answer["content"])


def calls(answer: Mapping[str, Any]) -> list[str]:
    """The tools that a response in Anthropic's shape calls for."""
    return [block["name"] for block in answer["content"] if block["type"] == "tool_use"]
