"""A conversation moves from one provider to another."""

from __future__ import annotations

from copy import deepcopy
from itertools import permutations
from typing import Any

import pytest

from jupyter_skills.models.messages import accepted_name, function_name, ids_in, media_tokens, portable, unused_ids
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.models.conftest import HELLO, answer, request_to

OWN: dict[str, Any] = {
    "reasoning_content": "hm",
    "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    "provider_specific_fields": {"thought_signatures": ["s"]},
}


def test_what_only_one_provider_understands_is_left_out() -> None:
    function = {"name": "add", "arguments": "{}", **OWN}
    call = {"id": "call_1", "type": "function", "function": function, **OWN}
    before = [*HELLO, {"role": "assistant", "content": "text", "tool_calls": [call], **OWN}]
    kept = deepcopy(before)
    after = portable(before)
    plain = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert after == [*HELLO, {"role": "assistant", "content": "text", "tool_calls": [plain]}]
    after[1]["tool_calls"][0]["function"]["name"] = "changed"
    assert before == kept


def test_names_of_calls_that_others_refuse_are_made_anew_for_call_and_result() -> None:
    long, other = "call_1__thought__" + "A+/=" * 50, "call_2__thought__" + "B+/=" * 50
    calls = [{"id": name, "type": "function", "function": {"name": "add", "arguments": "{}"}} for name in (long, other)]
    results = [{"role": "tool", "tool_call_id": name, "content": "1"} for name in (long, other)]
    after = portable([{"role": "assistant", "content": None, "tool_calls": calls}, *results])
    names = [call["id"] for call in after[0]["tool_calls"]]
    assert names == [result["tool_call_id"] for result in after[1:]]
    assert len(set(names)) == 2
    assert all(len(name) <= 40 and name.isascii() for name in names)
    assert after == portable([{"role": "assistant", "content": None, "tool_calls": calls}, *results])


def test_ids_made_here_are_unlike_all_in_the_conversation() -> None:
    said = [{"role": "assistant", "tool_calls": [{"id": "call_2"}]}, {"role": "tool", "tool_call_id": "call_1"}]
    fresh = unused_ids("call", ids_in(said))
    assert [next(fresh), next(fresh)] == ["call_3", "call_4"]
    assert next(unused_ids("call", ids_in(said))) == "call_3", "the same conversation gives the same ids"


def test_what_is_known_of_tools_and_parts() -> None:
    assert function_name({"type": "function", "function": {"name": "add"}}) == "add"
    assert function_name({"type": "web_search"}) == ""
    assert accepted_name("run_python-3") == "run_python-3"
    assert [accepted_name(odd) for odd in ("", "run-it!(x)", "a" * 200, "\u00e9")] == ["unknown"] * 4
    assert media_tokens({"type": "image_url", "image_url": {"url": "x" * 100_000}}) == 800
    pages = {"type": "file", "file": {"file_data": "x" * 80_000}}
    assert 2000 <= media_tokens(pages) <= 2010


@pytest.mark.parametrize(("first", "second"), [*permutations(["openai", "anthropic", "gemini"], 2)])
async def test_a_conversation_goes_on_with_another_provider(model: ScriptedModel, first: str, second: str) -> None:
    model.add(Turn("", [Call("add", {"x": 1}), Call("add", {"x": 2})], reasoning="hm"), Turn("three"), Turn("And on."))
    said = list(HELLO)
    for _ in range(2):
        _, reply = await answer(request_to(model, first, messages=said))
        said.append(reply.message)
        said += [{"role": "tool", "tool_call_id": call.id, "content": "3"} for call in reply.tool_calls]
    said.append({"role": "user", "content": "Go on"})
    _, reply = await answer(request_to(model, second, messages=portable(said)))
    assert reply.text == "And on."
