"""The scripted server as OpenAI's Responses API, asked by OpenAI's own client."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from jupyter_skills.testing import Call, Exchange, ScriptedModel, Turn
from jupyter_skills.testing.script import signature

HELLO = {"role": "user", "content": "Hello"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "2"}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"}


def asked(model: ScriptedModel) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=model.url, api_key="k", max_retries=0)


async def response_to(model: ScriptedModel, given: Any, **more: Any) -> Any:
    async with asked(model) as client:
        return await client.responses.create(model="scripted", input=given, **more)


async def test_openais_own_client_puts_the_stream_together_to_the_whole_response(model: ScriptedModel) -> None:
    turn = Turn("Two: ½ + ½.", [Call("add", {"x": 1}), Call("add", {})], reasoning="Hm.", usage=(7, 11), piece=2)
    model.add(turn, turn)
    include: Any = ["reasoning.encrypted_content"]
    whole = await response_to(model, "Hello", include=include)
    async with (
        asked(model) as client,
        client.responses.stream(model="scripted", input="Hello", include=include) as kept,
    ):
        events = [event async for event in kept]
        streamed = await kept.get_final_response()
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call", "function_call"]
    assert (whole.output_text, whole.status) == ("Two: ½ + ½.", "completed")
    assert (whole.usage.input_tokens, whole.usage.output_tokens, whole.usage.total_tokens) == (7, 11, 18)
    assert whole.output[0].encrypted_content == signature("Hm.")
    assert streamed.output_text == whole.output_text
    assert [item.id for item in streamed.output] == [item.id for item in whole.output]
    assert [call.arguments for call in streamed.output[2:]] == ['{"x": 1}', "{}"]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Two: ½ + ½."
    numbers = [event.sequence_number for event in events if hasattr(event, "sequence_number")]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
async def test_what_is_cut_off_is_incomplete(model: ScriptedModel, finish: str, reason: str) -> None:
    model.add(Turn("So", finish=finish))
    response = await response_to(model, "Hello")
    assert (response.status, response.incomplete_details.reason) == ("incomplete", reason)


async def test_a_refusal_is_a_part_of_its_own(model: ScriptedModel) -> None:
    model.add(Turn(refusal="I can't help with that"))
    (message,) = (await response_to(model, "Hello")).output
    assert [(part.type, part.refusal) for part in message.content] == [("refusal", "I can't help with that")]


async def test_encrypted_thinking_comes_only_to_those_who_ask_for_it(model: ScriptedModel) -> None:
    model.add(Turn("So.", reasoning="Hm."))
    assert (await response_to(model, "Hello")).output[0].encrypted_content is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "must be given"),
        ([HELLO, OUTPUT], "no function call came before the output with call_id call_1"),
        ([HELLO, CALL], "no function call output answers call_1"),
        ([HELLO, CALL, OUTPUT, OUTPUT], "no function call came before"),
        ([HELLO, {**CALL, "name": "a b"}, OUTPUT], "no such name: a b"),
        ([HELLO, {**CALL, "call_id": "c" * 65}, {**OUTPUT, "call_id": "c" * 65}], "more than 64 characters"),
        ([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}], "can't hold input_text"),
        ([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}], "can't hold output_text"),
        (
            [
                HELLO,
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "Hm."}],
                    "encrypted_content": "eA==",
                },
            ],
            "could not be verified",
        ),
    ],
)
async def test_a_history_that_the_provider_refuses_is_refused(model: ScriptedModel, given: Any, words: str) -> None:
    model.add(Turn("Ok."))
    with pytest.raises(openai.BadRequestError, match=words):
        await response_to(model, given)


async def test_the_script_follows_the_last_prompt_over_calls_and_pictures(model: ScriptedModel) -> None:
    model.add(Exchange("Hello", [Turn(f"step {step}") for step in range(3)]))
    pictures = {"role": "user", "content": [{"type": "input_text", "text": "Pictures:"}, PICTURE]}
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]}
    again = [{**CALL, "call_id": "call_2"}, {**OUTPUT, "call_id": "call_2"}]
    for step, given in enumerate(([HELLO], [HELLO, CALL, said, OUTPUT, pictures])):
        assert (await response_to(model, given)).output_text == f"step {step}"
    assert (await response_to(model, [HELLO, CALL, said, OUTPUT, *again])).output_text == "step 2"
