"""A stream of Anthropic's messages, read from bytes and put together."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills.models.client import ReasoningDelta, TextDelta
from jupyter_skills.models.message_blocks import reply_of
from jupyter_skills.models.message_events import EventError, StreamedMessage, piece_in
from jupyter_skills.models.server_sent_events import EventReader

CITATION = {"type": "web_search_result_location", "url": "https://example.org", "cited_text": "½"}
FOUND = [{"type": "web_search_result", "url": "https://example.org", "encrypted_content": "x"}]
USAGE = {"input_tokens": 5, "cache_read_input_tokens": 30, "server_tool_use": {"web_search_requests": 1}}

BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "One — two.", "signature": "c2lnbmVk"},
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "½ cup"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND},
    {"type": "text", "text": "Half a cup. 🥤", "citations": [CITATION, CITATION]},
    {"type": "from_tomorrow", "wisdom": "Who knows?", "depth": 3},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"x": "é", "y": [1, 2]}},
]
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
CONTAINER = {"id": "container_1", "expires_at": "2030-01-01T00:00:00Z"}
WHOLE = {
    **MESSAGE,
    "stop_reason": "tool_use",
    "content": BLOCKS,
    "usage": {**USAGE, "output_tokens": 9},
    "container": CONTAINER,
    "context_management": {"applied_edits": []},
}


def deltas(index: int, *added: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "content_block_delta", "index": index, "delta": delta} for delta in added]


def events() -> list[dict[str, Any]]:
    starts = [
        {**BLOCKS[0], "thinking": "", "signature": ""},
        BLOCKS[1],
        {**BLOCKS[2], "input": {}},
        BLOCKS[3],
        {"type": "text", "text": ""},
        {**BLOCKS[5], "wisdom": "", "depth": 0},
        {**BLOCKS[6], "input": {}},
    ]
    grown = [
        [
            {"type": "thinking_delta", "thinking": "One — "},
            {"type": "thinking_delta", "thinking": "two."},
            {"type": "signature_delta", "signature": "c2lnbmVk"},
        ],
        [],
        [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"query": ', '"½ cup"}')],
        [],
        [
            {"type": "citations_delta", "citation": CITATION},
            {"type": "text_delta", "text": "Half a cup. "},
            {"type": "text_delta", "text": "🥤"},
            {"type": "citations_delta", "citation": CITATION},
        ],
        [{"type": "wisdom_delta", "wisdom": "Who "}, {"type": "wisdom_delta", "wisdom": "knows?", "depth": 3}],
        [{"type": "input_json_delta", "partial_json": part} for part in ('{"x": "\\u00', 'e9", "y"', ": [1, 2]}")],
    ]
    told: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {**MESSAGE, "stop_reason": None, "content": [], "usage": {**USAGE, "output_tokens": 1}},
        },
        {"type": "ping"},
    ]
    for index, (start, added) in enumerate(zip(starts, grown, strict=True)):
        told.append({"type": "content_block_start", "index": index, "content_block": start})
        told += deltas(index, *added)
        told.append({"type": "content_block_stop", "index": index})
    told.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None, "container": CONTAINER},
            "usage": {"output_tokens": 9, "input_tokens": None},
            "context_management": {"applied_edits": []},
        }
    )
    return [*told, {"type": "message_stop"}]


def put_together(told: list[dict[str, Any]]) -> StreamedMessage:
    message = StreamedMessage()
    for event in told:
        message.add(event)
    return message


def test_a_streamed_message_becomes_what_it_would_have_been_whole() -> None:
    message = put_together(events())
    assert message.complete
    assert message.response == WHOLE


def test_events_are_not_changed_by_what_follows_them() -> None:
    told = events()
    put_together(told)
    assert told == events()


def test_all_blocks_of_a_reply_go_back_as_they_came() -> None:
    reply = reply_of(put_together(events()).response, [])
    assert reply.message["anthropic"] == {"role": "assistant", "content": BLOCKS}
    assert [(call.id, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("toolu_1", {"x": "é", "y": [1, 2]})
    ]
    assert reply.usage.prompt_tokens == 35, "what was read from the cache was sent too"


def test_text_and_thinking_are_told_and_nothing_else() -> None:
    pieces = [piece for event in events() if (piece := piece_in(event)) is not None]
    assert pieces == [ReasoningDelta("One — "), ReasoningDelta("two."), TextDelta("Half a cup. "), TextDelta("🥤")]


@pytest.mark.parametrize("end", range(len(events()) - 2))
def test_a_message_is_incomplete_until_it_says_why_it_ends(end: int) -> None:
    assert not put_together(events()[: end + 1]).complete


def test_input_that_is_no_json_is_kept_as_it_was_written_and_goes_back_as_an_empty_object() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {**BLOCKS[6], "input": {}}}
    told = [events()[0], start, *deltas(0, {"type": "input_json_delta", "partial_json": '{"x": '}), *events()[-2:]]
    message = put_together(told)
    reply = reply_of(message.response, [], message.inputs)
    assert [call.arguments for call in reply.tool_calls] == ['{"x": ']
    assert reply.message["anthropic"]["content"][0]["input"] == {}
    assert reply.message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_calls_without_an_id_of_their_own_get_one_and_odd_names_go_back_as_unknown() -> None:
    call = {"type": "tool_use", "id": "", "name": "no such name", "input": {}}
    said = {"role": "assistant", "anthropic": {"content": [{"type": "tool_use", "id": "call_1"}]}}
    reply = reply_of({**WHOLE, "content": [call, {**call, "id": "a"}, {**call, "id": "a"}]}, [said])
    assert [call.id for call in reply.tool_calls] == ["call_2", "a", "call_3"]
    assert [block["id"] for block in reply.message["anthropic"]["content"]] == ["call_2", "a", "call_3"]
    assert reply.tool_calls[0].name == "no such name"
    assert reply.message["anthropic"]["content"][0]["name"] == "unknown"


def test_text_that_no_provider_takes_back_is_left_out() -> None:
    reply = reply_of({**WHOLE, "content": [{"type": "text", "text": " \n"}, BLOCKS[6]]}, [])
    assert reply.message["anthropic"]["content"] == [BLOCKS[6]]
    assert reply.raw["content"][0] == {"type": "text", "text": " \n"}


def test_an_error_event_is_raised_with_the_status_it_stands_for() -> None:
    with pytest.raises(EventError, match="Overloaded") as caught:
        StreamedMessage().add({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert caught.value.status_code == 529


def written(told: list[dict[str, Any]], end: str) -> bytes:
    """Events as servers write them, with a comment and an end that is no JSON."""
    lines = [": keep-alive", ""]
    for event in told:
        lines += [f"event: {event['type']}", f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    return end.join([*lines, "data: [DONE]", "", ""]).encode()


@given(ends=st.sampled_from(["\n", "\r\n", "\r"]), cuts=st.lists(st.integers(min_value=0), max_size=60))
def test_bytes_cut_anywhere_give_the_same_events_and_the_same_message(ends: str, cuts: list[int]) -> None:
    text = written(events(), ends)
    places = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
    reader = EventReader()
    read = [event for at, to in pairwise(places) for event in reader.feed(text[at:to])]
    assert read == events()
    assert put_together(read).response == WHOLE


@given(end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_bytes_that_come_one_by_one_give_the_same_events(end: str) -> None:
    reader = EventReader()
    assert [event for byte in written(events(), end) for event in reader.feed(bytes([byte]))] == events()


def test_text_and_events_that_were_read_already_are_taken_too() -> None:
    reader = EventReader()
    assert list(reader.feed('data: {"type": "ping"}\n')) == []
    assert list(reader.feed("\n")) == [{"type": "ping"}]
    assert list(reader.feed({"type": "message_stop"})) == [{"type": "message_stop"}]


def test_data_in_several_lines_is_one_and_takes_the_events_name() -> None:
    assert list(EventReader().feed('event: ping\ndata: {"a":\ndata:1}\n\n')) == [{"type": "ping", "a": 1}]


def test_data_that_is_no_json_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        list(EventReader().feed("data: {half\n\n"))
