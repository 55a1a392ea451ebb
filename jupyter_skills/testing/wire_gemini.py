"""A turn as Gemini's ``generateContent`` puts it on the wire.

Source: Gemini API reference, "Generating content", "Function calling" and "Thought signatures".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jupyter_skills.testing.script import Call, Turn
from jupyter_skills.testing.wire_openai import odd_names, pieces

_FINISH_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_RESULT, _RESULT_END = "<tool_result", "</tool_result>"

# The end of a call's name that was made after thinking: it must come back signed.
_THOUGHT = "_t"


def position(body: dict[str, Any]) -> tuple[str, int]:
    """The user's last message in a request, and how many answers came since; see ``wire_openai.position``."""
    prompt, step, after_results = "", 0, False
    for content in body.get("contents", []):
        if content.get("role") == "model":
            step, after_results = step + 1, False
            continue
        text = "".join(part.get("text", "") for part in content["parts"])
        after_results = after_results or bool(_held(content, "functionResponse")) or text.startswith(_RESULT)
        text = text.rpartition(_RESULT_END)[2] if text.startswith(_RESULT) else text
        if text.strip() and not (after_results and _held(content, "inlineData")):
            prompt, step, after_results = text, 0, False
    return prompt, step


def refusal(body: dict[str, Any]) -> str:
    """Why the provider would not take this history; empty if it would."""
    contents = body.get("contents", [])
    if not contents:
        return "contents is not specified"
    calls: list[dict[str, Any]] = []
    for at, content in enumerate(contents):
        if not content.get("parts") or any(part.get("text") == "" for part in content["parts"]):
            return f"contents[{at}]: a part must hold something"
        if content.get("role") == "model" and at == 0 and _held(content, "functionCall"):
            return "a function call must come after a user turn or a function response turn"
        responses = _held(content, "functionResponse")
        if len(responses) != len(calls):
            return f"contents[{at}]: {len(responses)} function response parts for {len(calls)} function call parts"
        calls = _held(content, "functionCall")
        if odd := odd_names(call["name"] for call in calls):
            return f"contents[{at}]: invalid function name: {odd}"
    return "function calls without their responses" if calls else _unsigned(contents)


def _unsigned(contents: list[dict[str, Any]]) -> str:
    """Signatures may be left out of what is over, but not of the calls whose results are on their way."""
    for at in range(len(contents) - 1, -1, -1):
        content = contents[at]
        if content.get("role") == "model":
            for part in content["parts"]:
                call = _field(part, "functionCall") or {}
                if str(call.get("id", "")).endswith(_THOUGHT) and not part.get("thoughtSignature"):
                    return f"contents[{at}]: function call '{call['name']}' is missing a thought_signature"
        elif not _held(content, "functionResponse"):
            break
    return ""


def streams(path: str, body: dict[str, Any]) -> bool:
    """Whether a request asks for a stream."""
    return path.endswith(":streamGenerateContent")


def whole(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    """The response to ``generateContent``."""
    thought = [{"text": turn.reasoning, "thought": True}] if turn.reasoning else []
    text = [{"text": turn.text}] if turn.text else []
    if turn.refusal and not turn.text:
        return _blocked(turn)
    return _response(turn, [*thought, *text, *_calls(turn, body)], last=True)


def events(turn: Turn, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each as name and data; Gemini's have no names, and no mark at the end."""
    if turn.refusal and not turn.text:
        yield "", _blocked(turn)
        return
    for piece in pieces(turn.reasoning, turn.piece):
        yield "", _response(turn, [{"text": piece, "thought": True}])
    for piece in pieces(turn.text, turn.piece):
        yield "", _response(turn, [{"text": piece}])
    for part in _calls(turn, body):
        yield "", _response(turn, [part])
    yield "", _response(turn, [{"text": ""}], last=True)


def failure(turn: Turn) -> dict[str, Any]:
    """The body of a response that is an error."""
    error: dict[str, Any] = {
        "code": turn.status,
        "message": turn.message,
        "status": _STATUSES.get(turn.status, "INTERNAL"),
    }
    if turn.asked_wait is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{turn.asked_wait}s"}]
    return {"error": error}


def failure_event(turn: Turn) -> tuple[str, Any]:
    """A failure within a stream."""
    return "", failure(turn)


def _blocked(turn: Turn) -> dict[str, Any]:
    """The response to a prompt that is not answered at all: there are no candidates."""
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": turn.refusal}
    return {"promptFeedback": feedback, **_about(turn)}


def _response(turn: Turn, parts: list[dict[str, Any]], *, last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = _FINISH_REASONS.get(turn.finish_reason, turn.finish_reason)
    if last and not parts:
        del candidate["content"]
    return {"candidates": [candidate], **_about(turn)}


def _about(turn: Turn) -> dict[str, Any]:
    about: dict[str, Any] = {"modelVersion": "scripted", "responseId": "response-scripted"}
    if turn.usage is not None:
        prompt, completion = turn.usage
        counts = {"promptTokenCount": prompt, "candidatesTokenCount": completion}
        about["usageMetadata"] = {**counts, "totalTokenCount": prompt + completion}
    return about


def _calls(turn: Turn, body: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for number, call in enumerate(turn.calls):
        # Of several calls at once, only the first is signed.
        signed = bool(turn.reasoning) and number == 0
        name = f"call_{len(body.get('contents', []))}_{number}{_THOUGHT if signed else ''}"
        part: dict[str, Any] = {"functionCall": {"id": name, "name": call.tool, "args": _arguments(call)}}
        parts.append({**part, "thoughtSignature": turn.signature} if signed else part)
    return parts


def _arguments(call: Call) -> dict[str, Any]:
    try:
        arguments = json.loads(call.json)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _held(content: dict[str, Any], name: str) -> list[dict[str, Any]]:
    fields = [_field(part, name) for part in content.get("parts", ())]
    return [field for field in fields if field is not None]


def _field(part: dict[str, Any], name: str) -> dict[str, Any] | None:
    """A field of a part, under either of the two names that the API takes."""
    other = re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", name)
    found: dict[str, Any] | None = part.get(name, part.get(other))
    return found
