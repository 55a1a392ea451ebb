"""One turn, through real litellm, the scripted server and a real container."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_skills import Skill, ask
from jupyter_skills.agent.events import CallFinished, CallStarted, TextDone
from jupyter_skills.agent.router import Router
from jupyter_skills.errors import EngineMissing, ModelFailed, ModelNotChosen, SkillNotFound, UsageProblem
from jupyter_skills.models.client import TextDelta, Usage
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.agent.conftest import Talk
from tests.conftest import until


@pytest.mark.docker
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_code_runs_and_its_result_goes_back_until_the_model_has_finished(
    model: ScriptedModel, isolated: Router, provider: str, *, stream: bool
) -> None:
    talk = Talk(model, provider)
    model.add(
        Turn("First a number.", [Call("run_python", {"code": "x = 6 * 7\nx"})], usage=(10, 1)),
        Turn("", [Call("run_python", {"code": "print(x)"}), Call("run_shell", {"command": "echo hi"})], usage=(20, 2)),
        Turn("It is 42.", usage=(30, 3)),
    )
    answer = await talk.ask("What is it?", router=isolated, stream=stream)
    assert answer.text == "First a number.\n\nIt is 42."
    assert (answer.finish_reason, answer.usage, answer.cost) == ("stop", Usage(60, 6), None)
    assert [(run.language, run.place, run.consent, run.outcome) for run in answer.code] == [
        ("python", "docker", "not needed", "ok"),
        ("python", "docker", "not needed", "ok"),
        ("shell", "docker", "not needed", "ok"),
    ]
    assert [call.name for call in answer.calls] == ["run_python", "run_python", "run_shell"]
    results = [message["content"] for message in answer.messages if message["role"] == "tool"]
    assert results == ["run_python: ok\n\n42", "run_python: ok\n\n42", "run_shell: ok\n\nhi"]


@pytest.mark.docker
async def test_what_code_made_is_told_and_given(talk: Talk, isolated: Router) -> None:
    code = "from PIL import Image\nImage.new('RGB', (3, 2)).save('dot.gif')\nImage.new('L', (4, 4))"
    talk.model.add(Turn("", [Call("run_python", {"code": code})]), Turn("There."))
    answer = await talk.ask(router=isolated)
    assert [file.path for file in answer.files] == ["dot.gif"]
    assert [(image.mime_type, image.width) for image in answer.images] == [("image/png", 4), ("image/gif", 3)]
    told = talk.sent()[-1]["content"]
    assert "Figures shown to the user: 4x4 px" in told
    assert f"- dot.gif (image/gif, {answer.files[0].size} bytes)" in told


@pytest.mark.docker
async def test_code_that_fails_is_told_and_the_model_may_mend_it(talk: Talk, isolated: Router) -> None:
    talk.model.add(
        Turn("", [Call("run_python", {"code": "1 / 0"})]),
        Turn("", [Call("run_python", {"code": "1 / 1"})]),
        Turn("Mended."),
    )
    answer = await talk.ask(router=isolated)
    assert [run.outcome for run in answer.code] == ["error", "ok"]
    assert "ZeroDivisionError: division by zero" in talk.sent(1)[-1]["content"]


@pytest.mark.docker
async def test_variables_are_kept_from_turn_to_turn(talk: Talk, isolated: Router) -> None:
    talk.model.add(Turn("", [Call("run_python", {"code": "x = 1"})]), Turn("Set."))
    talk.model.add(Turn("", [Call("run_python", {"code": "x"})]), Turn("It is 1."))
    await talk.ask("Set x", router=isolated)
    await talk.ask("Show x", router=isolated)
    assert [message["role"] for message in talk.sent()] == [
        "system",
        *["user", "assistant", "tool", "assistant"],
        *["user", "assistant", "tool"],
    ]
    assert talk.sent()[-1]["content"] == "run_python: ok\n\n1"


async def test_the_model_sees_the_catalog_and_gets_instructions_when_it_asks(talk: Talk, skill: Skill) -> None:
    talk.model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("I see."))
    await talk.ask(skills=[skill])
    system = talk.sent(0)[0]["content"]
    assert "<name>counter</name>\n<description>Counts &lt;things&gt; &amp; more.</description>" in system
    assert "count.py" not in system, "instructions wait to be asked for"
    assert talk.tools() == ["load_skill", "read_skill_file"]
    loaded = talk.sent()[-1]["content"]
    assert loaded.startswith('<skill_content name="counter">')
    assert "<file>SKILL.md</file>\n<file>count.py</file>" in loaded


@pytest.mark.docker
async def test_the_path_that_a_skill_names_is_where_its_files_lie(talk: Talk, skill: Skill, isolated: Router) -> None:
    talk.model.add(
        Turn("", [Call("load_skill", {"name": "counter"})]),
        Turn("", [Call("run_shell", {"command": "python3 /skills/counter/count.py"})]),
        Turn("Counted."),
    )
    await talk.ask(skills=[skill], router=isolated)
    assert "Use /skills/counter/count.py." in talk.sent(1)[-1]["content"]
    assert talk.sent()[-1]["content"] == "run_shell: ok\n\none, two"


async def test_files_of_a_skill_can_be_read_and_others_can_not(talk: Talk, skill: Skill) -> None:
    paths = ["count.py", "../../etc/passwd", "nothing"]
    talk.model.add(Turn("", [Call("read_skill_file", {"skill": "counter", "path": p}) for p in paths]), Turn("Read."))
    await talk.ask(skills=[skill])
    one, two, three = (message["content"] for message in talk.sent()[-3:])
    assert one == "print('one, two')\n"
    assert "has no file '../../etc/passwd'" in two
    assert "has no file 'nothing'" in three


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (Call("fly", {}), "there is no tool 'fly'. The tools are: load_skill, read_skill_file"),
        (Call("load_skill", "{not json"), "not valid JSON"),
        (Call("load_skill", {}), "takes the text arguments name"),
        (Call("load_skill", {"name": 3}), "takes the text arguments name"),
        (Call("load_skill", "[]"), "are not a JSON object"),
        (Call("load_skill", {"name": "other"}), "No skill 'other' is loaded. These are: counter"),
        (Call("run_python", {"code": "1"}), "there is no tool 'run_python'"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered_and_the_turn_goes_on(
    talk: Talk, skill: Skill, call: Call, says: str
) -> None:
    talk.model.add(Turn("", [call]), Turn("Sorry."))
    answer = await talk.ask(skills=[skill])
    assert answer.text == "Sorry."
    assert says in talk.sent()[-1]["content"]
    assert [event.ok for event in talk.events if isinstance(event, CallFinished)] == [False]


async def test_a_pinned_skill_is_in_every_request(talk: Talk, skill: Skill) -> None:
    from jupyter_skills.store.loaded import LoadedSkill

    talk.model.add(Turn("Ok."))
    await talk.ask(skills=[LoadedSkill(skill, pinned=True)])
    system = talk.sent(0)[0]["content"]
    assert '<skill_content name="counter">' in system
    assert "available_skills" not in system


async def test_without_skills_and_without_a_place_to_run_code_there_are_no_tools(talk: Talk) -> None:
    talk.model.add(Turn("Hello."))
    await talk.ask()
    assert "tools" not in talk.model.requests[0].body
    assert "skill" not in talk.sent(0)[0]["content"]


async def test_the_same_skills_make_the_same_bytes(talk: Talk, skill: Skill) -> None:
    talk.model.add(Turn("One."), Turn("Two."))
    await talk.ask(skills=[skill])
    await talk.ask(skills=[skill])
    first, second = (request.body for request in talk.model.requests)
    assert (first["messages"][0], first["tools"]) == (second["messages"][0], second["tools"])


async def test_settings_and_system_text_are_sent_with_every_request(talk: Talk, skill: Skill) -> None:
    talk.settings.completion_kwargs = {"temperature": 0.5, "max_tokens": 7}
    talk.model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("Ok."))
    await talk.ask(skills=[skill], system="Answer in verse.")
    for request in talk.model.requests:
        assert (request.body["temperature"], request.body["max_tokens"]) == (0.5, 7)
        assert request.body["messages"][0]["content"].endswith("\n\nAnswer in verse.")


async def test_events_tell_the_turn_in_order(talk: Talk, skill: Skill) -> None:
    talk.model.add(Turn("Look.", [Call("load_skill", {"name": "counter"})]), Turn("Done."))
    await talk.ask(skills=[skill])
    told = [event for event in talk.events if isinstance(event, TextDelta | TextDone | CallStarted | CallFinished)]
    kinds = [type(event).__name__ for event in told]
    assert kinds == ["TextDelta", "TextDone", "CallStarted", "CallFinished", "TextDelta", "TextDone"]
    assert isinstance(told[2], CallStarted)
    assert (told[2].tool, told[2].about) == ("load_skill", "counter")


async def test_the_last_step_is_said_to_be_the_last_and_leaves_no_call_open(talk: Talk, skill: Skill) -> None:
    talk.model.add(*[Turn("", [Call("load_skill", {"name": "counter"})])] * 2, Turn("Now I can answer."))
    answer = await talk.ask(skills=[skill], max_steps=2)
    assert answer.finish_reason == "max_steps"
    assert [message["role"] for message in answer.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert (await talk.ask("Go on", skills=[skill])).text == "Now I can answer."


async def test_a_prompt_without_any_answer_is_not_kept(talk: Talk) -> None:
    talk.model.add(*[Turn(status=400)], Turn("Hello."))
    from jupyter_skills.errors import ModelRefused

    with pytest.raises(ModelRefused):
        await talk.ask("First try")
    assert len(talk.conversation) == 0
    await talk.ask("Second try")
    assert [message["content"] for message in talk.sent()[1:]] == ["Second try"]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_turn_that_fails_half_way_leaves_a_conversation_that_goes_on(
    model: ScriptedModel, skill: Skill, provider: str
) -> None:
    talk = Talk(model, provider)
    talk.model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn(status=500))
    with pytest.raises(ModelFailed):
        await talk.ask("Begin", skills=[skill])
    talk.model.add(Turn("I go on."))
    assert (await talk.ask("Continue", skills=[skill])).text == "I go on."
    assert [message["role"] for message in talk.conversation.messages] == [
        *["user", "assistant", "tool"],
        *["user", "assistant"],
    ]


async def test_a_turn_without_an_engine_fails_and_leaves_every_call_answered(
    talk: Talk, isolated: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    talk.model.add(Turn("", [Call("run_python", {"code": "1"}), Call("run_python", {"code": "2"})]))
    with pytest.raises(EngineMissing):
        await talk.ask(router=isolated)
    assert [message["role"] for message in talk.conversation.messages] == ["user", "assistant", "tool", "tool"]


async def test_without_a_model_the_error_says_how_to_choose_one() -> None:
    with pytest.raises(ModelNotChosen, match=r"Name one with -m, or set JupyterSkills\.model or JUPYTER_SKILLS_MODEL"):
        await ask("Hello", run="off")


async def test_bad_arguments_are_said_before_anything_is_sent(talk: Talk) -> None:
    with pytest.raises(UsageProblem, match="nothing to ask"):
        await talk.ask("  \n ")
    with pytest.raises(SkillNotFound, match="no skill 'nothing'"):
        await talk.ask("Hello", skills=["nothing"])
    with pytest.raises(UsageProblem, match="Code can't run in 'live' here"):
        await talk.ask("Hello", run="live")
    assert talk.model.requests == []


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("arguments", ['{"name": "cou', "[1]", "null", "[" * 5000, '{"name": "\\ud800"}'])
async def test_a_call_cut_off_in_the_middle_does_not_end_the_conversation(
    model: ScriptedModel, skill: Skill, provider: str, arguments: str
) -> None:
    talk = Talk(model, provider)
    talk.model.add(Turn("", [Call("load_skill", arguments), Call("fly away!", {})]), Turn("Again."), Turn("Fine."))
    assert (await talk.ask("Begin", skills=[skill])).text == "Again."
    assert (await talk.ask("Go on", skills=[skill])).text == "Fine."


@pytest.mark.docker
async def test_a_command_that_can_not_be_started_is_told(talk: Talk, isolated: Router) -> None:
    commands = ["echo " + "x" * 200_000, "echo \0"]
    talk.model.add(Turn("", [Call("run_shell", {"command": command}) for command in commands]), Turn("Sorry."))
    answer = await talk.ask(router=isolated)
    assert [run.outcome for run in answer.code] == ["error", "error"]
    assert "Argument list too long" in talk.sent()[-2]["content"]
    assert "null byte" in talk.sent()[-1]["content"]


@pytest.mark.docker
async def test_ask_without_a_notebook_makes_its_own_sandbox_and_ends_it(talk: Talk, containers: Any) -> None:
    talk.model.add(Turn("", [Call("run_python", {"code": "6 * 7"})]), Turn("42."))
    await talk.ask(run="docker")
    assert talk.sent()[-1]["content"] == "run_python: ok\n\n42"
    until(lambda: not containers())


async def test_an_answer_reads_well(talk: Talk) -> None:
    talk.model.add(Turn("**Hello**"))
    answer = await talk.ask()
    assert (str(answer), answer._repr_html_()) == ("**Hello**", "<p><strong>Hello</strong></p>\n")
    assert repr(answer) == "<Answer of openai/scripted: 9 characters, stop>"
