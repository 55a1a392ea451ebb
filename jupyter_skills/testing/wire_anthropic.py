"""A turn as Anthropic's messages put it on the wire.

Source: Anthropic API reference, "Messages", "Streaming messages", "Extended thinking" and "Tool use".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jupyter_skills.testing.script import Turn, signature
from jupyter_skills.testing.wire_openai import holds_pictures, odd_names, pieces

_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
_RESULT, _RESULT_END = "<tool_result", "</tool_result>"

# The end of a call's name that was made after thinking: it must come back with that.
_THOUGHT = "_t"


def position(body: dict[str, Any]) -> tuple[str, int]:
    """The user's last message in a request, and how many answers came since; see ``wire_openai.position``."""
    prompt, step = "", 0
    for message in body.get("messages", []):
        if message["role"] == "assistant":
            step += 1
            continue
        text = _text(message["content"])
        results = bool(_blocks(message, "tool_result")) or text.startswith(_RESULT)
        text = text.rpartition(_RESULT_END)[2] if text.startswith(_RESULT) else text
        if text.strip() and not (results and holds_pictures(message["content"])):
            prompt, step = text, 0
    return prompt, step


def refusal(body: dict[str, Any]) -> str:
    """Why the provider would not take this history; empty if it would."""
    messages = body.get("messages", [])
    if not messages or messages[0]["role"] != "user":
        return "messages: the first message must use the user role"
    asked: list[str] = []
    for at, message in enumerate(messages):
        content = message["content"] if isinstance(message["content"], list) else [message["content"]]
        kinds = [block["type"] if isinstance(block, dict) else "text" for block in content]
        if not all(_filled(block) for block in content) or not content:
            return f"messages.{at}: text content blocks must be non-empty"
        answered = [block["tool_use_id"] for block in _blocks(message, "tool_result")]
        if sorted(answered) != sorted(asked):
            return f"messages.{at}: tool_result blocks for {answered}, tool_use blocks for {asked} before them"
        if "tool_result" in kinds[len(answered) :]:
            return f"messages.{at}: tool_result blocks must come first"
        asked = [block["id"] for block in _blocks(message, "tool_use")]
        if odd := odd_names(block["name"] for block in _blocks(message, "tool_use")):
            return f"messages.{at}: tool_use.name should match '^[a-zA-Z0-9_-]{{1,64}}$': {odd}"
        for block in _blocks(message, "thinking"):
            if block.get("signature") != signature(block["thinking"]):
                return f"messages.{at}: invalid signature in thinking block"
    if asked:
        return f"tool_use ids without tool_result blocks directly after them: {asked}"
    return _thoughtless(messages)


def _thoughtless(messages: list[dict[str, Any]]) -> str:
    """Thinking may be left out of what is over, but not of the calls whose results are on their way."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message["role"] == "assistant":
            thought_of = any(block["id"].endswith(_THOUGHT) for block in _blocks(message, "tool_use"))
            if thought_of and message["content"][0]["type"] != "thinking":
                return f"messages.{at}.content.0: expected thinking, found {message['content'][0]['type']}"
        elif not _blocks(message, "tool_result"):
            break
    return ""


def streams(path: str, body: dict[str, Any]) -> bool:
    """Whether a request asks for a stream."""
    return bool(body.get("stream"))


def whole(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    """The response to a request without ``stream``."""
    content: list[dict[str, Any]] = []
    if turn.reasoning:
        content.append({"type": "thinking", "thinking": turn.reasoning, "signature": turn.signature})
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    content += [
        {"type": "tool_use", "id": _call_id(turn, body, i), "name": call.tool, "input": json.loads(call.json)}
        for i, call in enumerate(turn.calls)
    ]
    end = {"stop_reason": _stop_reason(turn), **_container(turn)}
    return {**_message(turn, body), "content": content, **end, "usage": _usage(turn)}


def events(turn: Turn, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each as name and data."""

    def event(kind: str, **fields: Any) -> tuple[str, Any]:
        return kind, {"type": kind, **fields}

    start = {**_message(turn, body), "content": [], "usage": {**_usage(turn), "output_tokens": 1 if turn.usage else 0}}
    yield event("message_start", message=start)
    for index, (block, deltas) in enumerate(_streamed(turn, body)):
        yield event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None, **_container(turn)}
    yield event("message_delta", delta=delta, usage={"output_tokens": _usage(turn)["output_tokens"]})
    yield event("message_stop")


def _streamed(turn: Turn, body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each block as it starts, with what is added to it."""
    if turn.reasoning:
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(turn.reasoning, turn.piece)]
        signed = {"type": "signature_delta", "signature": turn.signature}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if turn.text:
        said = [{"type": "text_delta", "text": piece} for piece in pieces(turn.text, turn.piece)]
        yield {"type": "text", "text": ""}, said
    for i, call in enumerate(turn.calls):
        block = {"type": "tool_use", "id": _call_id(turn, body, i), "name": call.tool, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(call.json, turn.piece)]


def failure(turn: Turn) -> dict[str, Any]:
    """The body of a response that is an error."""
    return {"type": "error", "error": {"type": turn.error_type, "message": turn.message}}


def failure_event(turn: Turn) -> tuple[str, Any]:
    """A failure within a stream."""
    return "error", failure(turn)


def _message(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "stop_reason": None,
        "stop_sequence": None,
    }


def _container(turn: Turn) -> dict[str, Any]:
    return {} if turn.container is None else {"container": dict(turn.container)}


def _usage(turn: Turn) -> dict[str, int]:
    prompt, completion = turn.usage or (0, 0)  # these fields can't be left out
    return {"input_tokens": prompt, "output_tokens": completion}


def _stop_reason(turn: Turn) -> str:
    return "refusal" if turn.refusal else _STOP_REASONS.get(turn.finish_reason, turn.finish_reason)


def _call_id(turn: Turn, body: dict[str, Any], number: int) -> str:
    return f"toolu_{len(body.get('messages', []))}_{number}{_THOUGHT if turn.reasoning else ''}"


def _blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message["content"]
    return [block for block in content if block.get("type") == kind] if isinstance(content, list) else []


def _filled(block: Any) -> bool:
    text = block if isinstance(block, str) else block.get("text", "-")
    return bool(text.strip())


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content if block.get("type") == "text")
