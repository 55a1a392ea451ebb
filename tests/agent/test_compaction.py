"""Making a conversation shorter: what goes, what stays, and that every provider would still take it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills import Skill
from jupyter_skills.agent.compaction import Exchange, compacted, size
from jupyter_skills.agent.events import Notice
from jupyter_skills.models.client import Message
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.agent.conftest import Talk

LONG = " ".join(map(str, range(700)))
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def call(number: int, tool: str, **arguments: str) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments)},
    }


def result(number: int, tool: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": f"c{number}", "name": tool, "content": text}


def worked(number: int, prompt: str, printed: str, answer: str = "Done.") -> Exchange:
    return [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": None, "tool_calls": [call(number, "run_python", code="1")]},
        result(number, "run_python", printed),
        {"role": "assistant", "content": answer},
    ]


def loaded(number: int, body: str) -> Exchange:
    return [
        {"role": "user", "content": "Use it"},
        {
            "role": "assistant",
            "content": "Both.",
            "tool_calls": [call(number, "load_skill", name="x"), call(number + 1, "run_python", code="1")],
        },
        result(number, "load_skill", body),
        result(number + 1, "run_python", "p" * 5000),
        {"role": "assistant", "content": "Loaded."},
    ]


def assert_answered(messages: list[Message]) -> None:
    """Every call has its result right after it, and no result is without its call."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls
            open_calls = [each["id"] for each in message.get("tool_calls") or ()]
    assert not open_calls


def flat(exchanges: list[Exchange]) -> list[Message]:
    return [message for exchange in exchanges for message in exchange]


def test_what_fits_stays_as_it_is() -> None:
    exchanges = [worked(1, "One", "x" * 5000), worked(2, "Two", "y")]
    assert compacted(exchanges, 100_000) == exchanges


def test_pictures_of_earlier_prompts_go_first() -> None:
    seen: Exchange = [
        {"role": "user", "content": [{"type": "text", "text": "[picture: a.png] What is it?"}, PICTURE]},
        {"role": "assistant", "content": "A ball."},
    ]
    exchanges = [seen, worked(1, "One", "x" * 3000)]
    first, second = compacted(exchanges, 4000)
    assert first[0]["content"] == "[picture: a.png] What is it? [not sent again]"
    assert second == exchanges[1]


def test_then_the_middle_of_long_results() -> None:
    exchanges = [worked(1, "One", "a" * 5000 + "z"), worked(2, "Two", "y" * 500)]
    first, second = compacted(exchanges, 2000)
    assert "characters left out" in first[2]["content"]
    assert first[2]["content"].startswith("aaa")
    assert first[2]["content"].endswith("z")
    assert second == exchanges[1]


def test_then_whole_exchanges_of_which_a_line_is_left() -> None:
    exchanges = [worked(n, f"Question {n}", "", f"Answer {n} " + "w" * 3000) for n in range(4)]
    short = compacted(exchanges, 5000)
    assert short[0][0]["content"].splitlines()[1].startswith("- The user said: Question 0 You answered: Answer 0 www")
    assert short[-1] == exchanges[-1]
    assert size(flat(short)) <= 5000


def test_then_long_results_within_the_last_one_but_never_its_prompt() -> None:
    exchanges = [worked(1, "P" * 3000, "x" * 9000)]
    (only,) = compacted(exchanges, 4000)
    assert only[0] == exchanges[0][0]
    assert "characters left out" in only[2]["content"]


def test_what_a_loaded_skill_says_is_never_lost() -> None:
    body = '<skill_content name="x">\n' + "Do it so. " * 300
    exchanges = [loaded(1, body), *(worked(n, "Go on", "x" * 9000) for n in range(3, 9))]
    short = compacted(exchanges, 1000)
    kept = [message for message in flat(short) if message.get("name") == "load_skill"]
    assert [message["content"] for message in kept] == [body]
    assert_answered(flat(short))


def test_shortened_once_more_it_keeps_what_was_kept() -> None:
    body = '<skill_content name="x">\nDo it so.'
    once = compacted([loaded(1, body), *(worked(n, f"Q{n}", "x", "a" * 2000) for n in range(3, 6))], 3000)
    twice = compacted([*once, worked(9, "Q9", "x", "a" * 2000)], 2500)
    summary = twice[0][0]["content"]
    assert [f"Q{n}" in summary for n in (3, 4, 5)] == [True] * 3
    assert summary.count("Earlier in this conversation") == 1
    assert [m["content"] for m in flat(twice) if m.get("name") == "load_skill"] == [body]


def test_the_newer_text_of_a_skill_that_was_loaded_twice_is_kept() -> None:
    old, new = ('<skill_content name="x">\nOld.', '<skill_content name="x">\nNew.')
    short = compacted([loaded(1, old), loaded(4, new), worked(9, "Q", "x", "a" * 900)], 1200)
    assert [m["content"] for m in flat(short) if m.get("name") == "load_skill"] == [new]


def test_skills_are_kept_apart_where_the_provider_numbers_each_replys_calls_anew() -> None:
    exchange: Exchange = [{"role": "user", "content": "Use both"}]
    for name in ("alpha", "beta"):
        exchange += [
            {"role": "assistant", "content": None, "tool_calls": [call(0, "load_skill", name=name)]},
            result(0, "load_skill", f'<skill_content name="{name}">\nDo it.'),
        ]
    short = compacted([[*exchange, {"role": "assistant", "content": "a" * 5000}], worked(9, "Q", "x")], 1000)
    kept = [message["content"] for message in flat(short) if message.get("name") == "load_skill"]
    assert [text.partition("\n")[0] for text in kept] == ['<skill_content name="alpha">', '<skill_content name="beta">']
    assert_answered(flat(short))


def test_a_long_conversation_is_read_a_few_times_only() -> None:
    reads = 0

    class Counted(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            nonlocal reads
            reads += key == "content"
            return super().get(key, default)

    exchanges: list[Exchange] = [
        [Counted(role="user", content=f"{number} {LONG}"), Counted(role="assistant", content=LONG)]
        for number in range(400)
    ]
    short = compacted(exchanges, 200 * len(LONG))
    assert len(short) < len(exchanges)
    assert reads < 20 * len(flat(exchanges))


def test_the_files_of_a_skill_are_kept_as_long_as_there_is_room() -> None:
    read: Exchange = [
        {"role": "user", "content": "Read it"},
        {"role": "assistant", "content": None, "tool_calls": [call(1, "read_skill_file", skill="x", path="ref.md")]},
        result(1, "read_skill_file", "r" * 2000),
        {"role": "assistant", "content": "a" * 5000},
    ]
    for room, there in ((4000, 2000), (1000, 0)):
        short = compacted([read, worked(9, "Q", "x")], room)
        kept = [message["content"] for message in flat(short) if message.get("name") == "read_skill_file"]
        assert sum(map(len, kept)) == there


def test_nothing_is_given_up_for_a_prompt_that_is_too_long_by_itself() -> None:
    exchanges = [worked(1, "One", "x" * 5000), worked(2, "P" * 9000, "y")]
    assert compacted(exchanges, 8000) == exchanges


@given(
    st.lists(
        st.tuples(st.sampled_from(["worked", "loaded"]), st.integers(0, 4000), st.text(max_size=30)),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 20_000),
)
def test_whatever_is_left_out_every_call_keeps_its_result(kinds: list[tuple[str, int, str]], room: int) -> None:
    exchanges = [
        worked(3 * n, text, "x" * long)
        if kind == "worked"
        else loaded(3 * n, f'<skill_content name="{n}">' + "b" * long)
        for n, (kind, long, text) in enumerate(kinds)
    ]
    before = copy.deepcopy(exchanges)
    short = compacted(exchanges, room)
    assert exchanges == before, "what was given is not changed"
    assert_answered(flat(short))
    assert short[-1][0] == exchanges[-1][0]
    assert size(flat(short)) <= max(room, size(flat(exchanges)))


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
async def test_a_long_conversation_is_shortened_before_it_overflows(
    model: ScriptedModel, provider: str, skill: Skill
) -> None:
    talk = Talk(model, provider)
    talk.settings.completion_kwargs = {"api_key": "any"}
    talk.settings.context = 4000
    model.add(Turn("", [Call("load_skill", {"name": "counter"})]), Turn("I know it."))
    await talk.ask("Read it", skills=[skill])
    for number in range(8):
        model.add(Turn(f"{number} {LONG}", usage=(1000, 500)))
        await talk.ask(f"Question {number}?", skills=[skill])
    notices = [event.text for event in talk.events if isinstance(event, Notice)]
    assert any("shortened" in notice for notice in notices)
    last = json.dumps(model.requests[-1].body)
    assert "Earlier in this conversation" in last
    assert "Question 0?" in last
    assert "<skill_content" in last, "what the skill says is still there"
    assert len(last) < 4 * 4000


async def test_what_the_provider_calls_too_long_is_made_shorter_and_sent_again(talk: Talk) -> None:
    for number in range(4):
        talk.model.add(Turn(f"{number} {LONG}"))
        await talk.ask(f"Question {number}?")
    says = "This model's maximum context length is 2048 tokens"
    too_long = Turn(status=400, message=says, error_code="context_length_exceeded")
    talk.model.add(too_long, Turn("Fine."))
    answer = await talk.ask("And now?")
    assert answer.text == "Fine."
    assert len(json.dumps(talk.model.requests[-1].body)) < len(json.dumps(talk.model.requests[-2].body))
