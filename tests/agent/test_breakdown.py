"""Where the tokens of a request went: each part is named, and the sums are the provider's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills import Skill
from jupyter_skills.agent.prompt.breakdown import Share, apportioned, shares
from jupyter_skills.models.client import Message, ModelReply, Usage
from jupyter_skills.store.loaded import LoadedSkill
from jupyter_skills.testing import Call, Turn
from tests.agent.conftest import Talk


def named(shares: tuple[Share, ...]) -> dict[tuple[str, str], Share]:
    return {(share.part, share.skill): share for share in shares}


@given(st.integers(0, 10**7), st.lists(st.integers(0, 10**6), min_size=1, max_size=40))
def test_parts_add_up_to_the_whole(whole: int, weights: list[int]) -> None:
    parts = apportioned(whole, weights)
    assert sum(parts) == whole
    assert all(part >= 0 for part in parts)
    if total := sum(weights):
        assert all(abs(part - whole * weight / total) <= 1 for part, weight in zip(parts, weights, strict=True))


def test_instructions_are_told_apart_where_the_provider_numbers_each_replys_calls_anew() -> None:
    said: list[Message] = [{"role": "user", "content": "Go"}]
    for name in ("alpha", "beta"):
        function = {"name": "load_skill", "arguments": json.dumps({"name": name})}
        said.append({"role": "assistant", "content": None, "tool_calls": [{"id": "0", "function": function}]})
        said.append({"role": "tool", "tool_call_id": "0", "content": name * 10})
    reply = ModelReply({"role": "assistant", "content": "Done."}, (), "stop", Usage(100, 1))
    parts = named(shares((), (), (), said, reply))
    assert parts["instructions", "alpha"].size == len("alpha" * 10)
    assert parts["instructions", "beta"].size == len("beta" * 10)


async def test_each_part_of_the_last_request_is_named(talk: Talk, skill: Skill) -> None:
    talk.model.add(Turn("Hello."))
    await talk.ask("Hi", skills=[skill])
    talk.model.add(
        Turn(
            "",
            [
                Call("load_skill", {"name": "counter"}),
                Call("read_skill_file", {"skill": "counter", "path": "count.py"}),
            ],
        ),
        Turn("It counts.", usage=(1001, 7)),
    )
    answer = await talk.ask("What does it do?", skills=[skill], system="Be brief.")
    parts = named(answer.shares)
    assert list(parts) == [
        ("how to answer", ""),
        ("list of skills", ""),
        ("your system text", ""),
        ("tools", ""),
        ("earlier conversation", ""),
        ("your prompt", ""),
        ("the model's own words", ""),
        ("instructions", "counter"),
        ("results of calls", ""),
        ("the model's answer", ""),
    ]
    assert parts["your prompt", ""].size == len("What does it do?")
    assert parts["your system text", ""].size == len("Be brief.")
    assert sum(share.tokens for share in answer.shares) == 1008
    assert parts["the model's answer", ""].tokens == 7
    assert all(share.cost is None for share in answer.shares)


async def test_bytes_are_those_that_are_sent(talk: Talk, skill: Skill) -> None:
    talk.model.add(Turn("é", usage=(100, 1)))
    answer = await talk.ask("ünï", skills=[LoadedSkill(skill, pinned=True)])
    parts = named(answer.shares)
    sent = talk.sent()
    opening, counter = parts["how to answer", ""], parts["instructions", "counter"]
    assert opening.size + len("\n\n") + counter.size == len(sent[0]["content"].encode())
    assert (parts["your prompt", ""].size, parts["the model's answer", ""].size) == (5, 2)


async def test_costs_add_up_to_what_was_reported(talk: Talk) -> None:
    talk.settings.completion_kwargs = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
    talk.model.add(Turn("Ok.", usage=(100, 20)))
    answer = await talk.ask("Hi")
    assert answer.cost == pytest.approx(0.3)
    assert sum(share.cost or 0 for share in answer.shares) == pytest.approx(0.3)
    assert named(answer.shares)["the model's answer", ""].cost == pytest.approx(0.2)
