"""A turn as OpenAI's chat completions put it on the wire.

Source: OpenAI API reference, "Create chat completion" and "The chat completion chunk object"; reasoning as
DeepSeek's reference has it, which other servers of this shape follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jupyter_skills.testing.script import Turn

_ID = "chatcmpl-scripted"
_LONGEST_ID = 40
_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
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
            if odd := odd_names(call["function"]["name"] for call in message.get("tool_calls") or ()):
                return f"messages[{at}].tool_calls: the name of a function is no such name: {odd}"
    return f"no tool message answered {', '.join(open_calls)}" if open_calls else ""


def odd_names(names: Iterable[str]) -> str:
    """Those of some functions' names that no provider takes; empty if it takes all."""
    return ", ".join(name[:80] or "''" for name in names if not _NAME.fullmatch(name))


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
    if turn.refusal:
        message["refusal"] = turn.refusal
    choice = {"index": 0, "message": message, "finish_reason": turn.finish_reason}
    return {**_head(body, "chat.completion"), "choices": [choice], **_usage(turn)}


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
    for piece in pieces(turn.refusal, turn.piece):
        yield chunk({"refusal": piece})
    for i, call in enumerate(turn.calls):
        function = {"name": call.tool, "arguments": ""}
        yield chunk({"tool_calls": [{"index": i, "id": _call_id(body, i), "type": "function", "function": function}]})
        for piece in pieces(call.json, turn.piece):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    yield chunk({}, turn.finish_reason)
    if turn.usage and (body.get("stream_options") or {}).get("include_usage"):
        yield "", {**head, "choices": [], **_usage(turn)}
    yield "", "[DONE]"


def failure(turn: Turn) -> dict[str, Any]:
    """The body of a response that is an error."""
    return {"error": {"message": turn.message, "type": turn.error_type, "param": None, "code": turn.error_code}}


def failure_event(turn: Turn) -> tuple[str, Any]:
    """A failure within a stream, as OpenRouter and others of this shape tell it: the status stands in ``code``."""
    return "", {"error": {**failure(turn)["error"], "code": turn.error_code or turn.status}}


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


def _usage(turn: Turn) -> dict[str, dict[str, int]]:
    if turn.usage is None:
        return {}
    prompt, completion = turn.usage
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}}


def _call_id(body: dict[str, Any], number: int) -> str:
    return f"call_{len(body.get('messages', []))}_{number}"
