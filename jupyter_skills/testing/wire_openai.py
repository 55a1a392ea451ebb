"""A turn as OpenAI's chat completions put it on the wire.

Source: OpenAI API reference, "Create chat completion" and "The chat completion chunk object".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jupyter_skills.testing.script import Turn

_ID = "chatcmpl-scripted"


def position(body: dict[str, Any]) -> tuple[str, int]:
    """The user's last message in a request, and how many answers came since."""
    prompt, step = "", 0
    for message in body.get("messages", []):
        if message["role"] == "user":
            prompt, step = _text(message.get("content")), 0
        elif message["role"] == "assistant":
            step += 1
    return prompt, step


def whole(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    """The response to a request without ``stream``."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {"id": _call_id(body, i), "type": "function", "function": {"name": call.tool, "arguments": call.json}}
            for i, call in enumerate(turn.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": turn.finish_reason}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": _usage(turn)}


def events(turn: Turn, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each as name and data; OpenAI's have no names."""
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> tuple[str, Any]:
        return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(turn.text, turn.piece):
        yield chunk({"content": piece})
    for i, call in enumerate(turn.calls):
        function = {"name": call.tool, "arguments": ""}
        yield chunk({"tool_calls": [{"index": i, "id": _call_id(body, i), "type": "function", "function": function}]})
        for piece in pieces(call.json, turn.piece):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    yield chunk({}, turn.finish_reason)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield "", {**head, "choices": [], "usage": _usage(turn)}
    yield "", "[DONE]"


def failure(turn: Turn) -> dict[str, Any]:
    """The body of a response that is an error."""
    return {"error": {"message": turn.message, "type": "scripted_error", "param": None, "code": None}}


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of so many characters."""
    return (text[at : at + size] for at in range(0, len(text), size))


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": _ID, "object": kind, "created": 1_700_000_000, "model": body.get("model", "scripted")}


def _usage(turn: Turn) -> dict[str, int]:
    prompt, completion = turn.usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _call_id(body: dict[str, Any], number: int) -> str:
    return f"call_{len(body.get('messages', []))}_{number}"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if isinstance(part, dict))
