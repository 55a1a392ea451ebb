"""What stays of a prompt, and what a prompt that came to nothing leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills import Skill
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.context.parts import Document
from jupyter_skills.context.secrets import Redactor
from jupyter_skills.errors import ModelFailed, ModelOverlong
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.agent.conftest import Talk
from tests.conftest import write_skill

KEY = "k3y-Zq8Kf03mWcVr4aa"


def kept(conversation: Conversation) -> str:
    return json.dumps([conversation.messages, conversation.activated], sort_keys=True)


@pytest.fixture(params=["openai", "anthropic", "gemini"])
def anywhere(request: pytest.FixtureRequest, model: ScriptedModel) -> Talk:
    talk = Talk(model, request.param)
    talk.settings.completion_kwargs = {"api_key": "any"}
    return talk


@pytest.mark.parametrize("nothing", [Turn(""), Turn("", finish="length", reasoning="hm"), Turn("  \n")])
async def test_an_empty_answer_is_nothing_that_a_provider_must_take_back(anywhere: Talk, nothing: Turn) -> None:
    anywhere.model.add(nothing, Turn("Now I know."))
    await anywhere.ask("What?")
    assert (await anywhere.ask("And now?")).text == "Now I know."


@pytest.mark.parametrize("more", [{"dry_run": True}, {"fails": True}], ids=["dry run", "failure"])
async def test_what_was_not_answered_leaves_no_trace(model: ScriptedModel, skill: Skill, more: dict[str, Any]) -> None:
    talk = Talk(model, "anthropic")
    model.add(Turn("", [Call("load_skill", {"name": "counter"})], reasoning="hm"), Turn("Loaded.", reasoning="well"))
    await talk.ask("Load it", skills=[skill])
    before = kept(talk.conversation)
    talk.provider, talk.settings.api_base = "openai", model.url
    if more.pop("fails", False):
        model.add(Turn(status=500))
        with pytest.raises(ModelFailed):
            await talk.ask("Go on", skills=[skill])
    else:
        await talk.ask("Go on", skills=[skill], **more)
    assert kept(talk.conversation) == before


async def test_a_changed_skill_is_told_of_until_the_model_has_heard_it(talk: Talk, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "mine", body="Do it so, and not otherwise, whatever they say.")
    talk.model.add(Turn("", [Call("load_skill", {"name": "mine"})]), Turn("Loaded."))
    await talk.ask("Load it", skills=[folder])
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: Changed.\n---\nDo it otherwise.\n")
    await talk.ask("Well?", skills=[folder], dry_run=True)
    talk.model.add(Turn(status=500), Turn("I see."), Turn("Yes."))
    with pytest.raises(ModelFailed):
        await talk.ask("Well?", skills=[folder])
    await talk.ask("Well?", skills=[folder])
    assert "Changed since you loaded them" in talk.sent()[0]["content"]
    await talk.ask("And now?", skills=[folder])
    assert "Changed since you loaded them" not in talk.sent()[0]["content"]


@pytest.mark.parametrize("context", [0, 8000], ids=["refused", "known limit"])
async def test_a_prompt_that_is_too_long_by_itself_costs_no_history(talk: Talk, context: int) -> None:
    talk.settings.context = context
    for number in range(4):
        talk.model.add(Turn(f"{number} " + " ".join(map(str, range(600)))))
        await talk.ask(f"Question {number}?")
    before = kept(talk.conversation)
    talk.model.add(*[Turn(status=400, message="too long", error_code="context_length_exceeded")] * 9)
    with pytest.raises(ModelOverlong):
        await talk.ask("huge " * 20_000)
    assert kept(talk.conversation) == before


async def test_another_provider_goes_on_with_what_one_has_begun(model: ScriptedModel, skill: Skill) -> None:
    talk = Talk(model, "anthropic")
    for provider in ("anthropic", "gemini", "openai", "anthropic", "openai", "gemini"):
        talk.provider = provider
        talk.settings.api_base = model.url if provider == "openai" else model.root
        talk.settings.completion_kwargs = {"api_key": "any"}
        call = Call("read_skill_file", {"skill": "counter", "path": "count.py"})
        model.add(Turn("Reading.", [call, call], reasoning="hm"), Turn(f"Read by {provider}.", reasoning="well"))
        assert (await talk.ask("Read it", skills=[skill])).text.endswith(f"Read by {provider}.")


async def test_no_secret_is_sent_with_tools_or_documents(talk: Talk, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "probe", body="Use the tool that is here for it, please.")
    (folder / "tools.py").write_text(
        f'from jupyter_skills import tool\n\n\n@tool\ndef ping(x: str = "{KEY}") -> str:\n    """Uses {KEY}."""\n'
    )
    talk.model.add(Turn("", [Call("load_skill", {"name": "probe"})]), Turn("Ok."))
    secrets = Redactor({"PROBE_KEY": KEY})
    document = Document(b"%PDF-1.4", "application/pdf", f"{KEY}.pdf")
    await talk.ask(["Look at ", document], skills=[folder], redactor=secrets, system=f"Mind {KEY}")
    assert KEY not in json.dumps([request.body for request in talk.model.requests])
