"""A turn as Anthropic's messages put it on the wire.

Source: Anthropic API reference, "Messages" and "Streaming messages".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jupyter_skills.testing.script import Turn
from jupyter_skills.testing.wire_openai import pieces

_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def position(body: dict[str, Any]) -> tuple[str, int]:
    """The user's last message in a request, and how many answers came since. Tool results are no such message."""
    prompt, step = "", 0
    for message in body.get("messages", []):
        if message["role"] == "assistant":
            step += 1
        elif text := _text(message["content"]):
            prompt, step = text, 0
    return prompt, step


def whole(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    """The response to a request without ``stream``."""
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": _call_id(body, i), "name": call.tool, "input": json.loads(call.json)}
        for i, call in enumerate(turn.calls)
    ]
    return {**_message(turn, body), "content": content, "stop_reason": _stop_reason(turn), "usage": _usage(turn)}


def events(turn: Turn, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each as name and data."""

    def event(kind: str, **fields: Any) -> tuple[str, Any]:
        return kind, {"type": kind, **fields}

    start = {**_message(turn, body), "content": [], "usage": {**_usage(turn), "output_tokens": 1}}
    yield event("message_start", message=start)
    index = 0
    if turn.text:
        yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in pieces(turn.text, turn.piece):
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=index)
        index += 1
    for i, call in enumerate(turn.calls):
        block = {"type": "tool_use", "id": _call_id(body, i), "name": call.tool, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for piece in pieces(call.json, turn.piece):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": turn.usage[1]})
    yield event("message_stop")


def failure(turn: Turn) -> dict[str, Any]:
    """The body of a response that is an error."""
    return {"type": "error", "error": {"type": "scripted_error", "message": turn.message}}


def _message(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(turn: Turn) -> dict[str, int]:
    return {"input_tokens": turn.usage[0], "output_tokens": turn.usage[1]}


def _stop_reason(turn: Turn) -> str:
    return _STOP_REASONS.get(turn.finish_reason, turn.finish_reason)


def _call_id(body: dict[str, Any], number: int) -> str:
    return f"toolu_{len(body.get('messages', []))}_{number}"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content if block.get("type") == "text")
