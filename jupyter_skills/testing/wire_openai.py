"""A turn as OpenAI's chat completions put it on the wire.

Source: OpenAI API reference, "Create chat completion" and "The chat completion chunk object"; reasoning as
DeepSeek's reference has it, which other servers of this shape follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jupyter_skills.testing.script import Turn

_ID = "chatcmpl-scripted"
_LONGEST_ID = 40
_RESULT, _RESULT_END = "<tool_result", "</tool_result>"


def position(body: dict[str, Any]) -> tuple[str, int]:
    """The user's last message in a request, and how many answers came since.

    Tool results are no such message, whether they come as messages of their own or in words, nor are the
    pictures that follow them.
    """
    prompt, step, after_results = "", 0, False
    for message in body.get("messages", []):
        if message["role"] == "assistant":
            step, after_results = step + 1, False
        elif message["role"] == "tool":
            after_results = True
        elif message["role"] == "user":
            text = text_of(message.get("content"))
            after_results = after_results or text.startswith(_RESULT)
            text = text.rpartition(_RESULT_END)[2] if text.startswith(_RESULT) else text
            if text.strip() and not (after_results and holds_pictures(message.get("content"))):
                prompt, step, after_results = text, 0, False
    return prompt, step


def refusal(body: dict[str, Any]) -> str:
    """Why the provider would not take this history; empty if it would."""
    open_calls: list[str] = []
    for at, message in enumerate(body.get("messages", [])):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{at}]: a tool message must answer a call of the assistant message before it"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"messages[{at}]: no tool message answered {', '.join(open_calls)}"
        if message["role"] == "assistant":
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
            if message.get("content") is None and not open_calls:
                return f"messages[{at}]: an assistant message needs content or tool_calls"
            if any(len(call) > _LONGEST_ID for call in open_calls):
                return f"messages[{at}]: the id of a call has more than {_LONGEST_ID} characters"
    return f"no tool message answered {', '.join(open_calls)}" if open_calls else ""


def streams(path: str, body: dict[str, Any]) -> bool:
    """Whether a request asks for a stream."""
    return bool(body.get("stream"))


def whole(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    """The response to a request without ``stream``."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
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
    for piece in pieces(turn.reasoning, turn.piece):
        yield chunk({"reasoning_content": piece})
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
    return {"error": {"message": turn.message, "type": turn.error_type, "param": None, "code": turn.error_code}}


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of so many characters."""
    return (text[at : at + size] for at in range(0, len(text), size))


def text_of(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if isinstance(part, dict))


def holds_pictures(content: Any) -> bool:
    """Whether there is a picture in a message's content."""
    return isinstance(content, list) and any(part.get("type") in ("image_url", "image") for part in content)


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": _ID, "object": kind, "created": 1_700_000_000, "model": body.get("model", "scripted")}


def _usage(turn: Turn) -> dict[str, int]:
    prompt, completion = turn.usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _call_id(body: dict[str, Any], number: int) -> str:
    return f"call_{len(body.get('messages', []))}_{number}"
