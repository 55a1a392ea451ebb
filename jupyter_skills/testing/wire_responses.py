"""A turn as OpenAI's responses put it on the wire.

Source: OpenAI API reference, "Create a model response" and "Streaming events"; its guides "Function calling" and
"Reasoning models".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from jupyter_skills.testing.script import Turn, signature
from jupyter_skills.testing.wire_openai import failure, odd_names, pieces, streams, text_of

__all__ = ["events", "failure", "failure_event", "position", "refusal", "streams", "whole"]

_ID = "resp_scripted"
_LONGEST_ID = 64
_ENCRYPTED = "reasoning.encrypted_content"
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_CODES = {400: "invalid_prompt", 429: "rate_limit_exceeded"}
_FAILED = "server_error"
_RESULT, _RESULT_END = "<tool_result", "</tool_result>"


def position(body: dict[str, Any]) -> tuple[str, int]:
    """The user's last message in a request, and how many answers came since; see ``wire_openai.position``.

    Items of the model's that follow each other are one answer.
    """
    prompt, step, after_results, answering = "", 0, False, False
    for item in _input(body):
        if _is_models(item):
            step, after_results, answering = step + (not answering), False, True
            continue
        answering = False
        if item["type"] == "function_call_output":
            after_results = True
        elif item["role"] == "user":
            text = text_of(item["content"])
            after_results = after_results or text.startswith(_RESULT)
            text = text.rpartition(_RESULT_END)[2] if text.startswith(_RESULT) else text
            if text.strip() and not (after_results and _holds_pictures(item)):
                prompt, step, after_results = text, 0, False
    return prompt, step


def refusal(body: dict[str, Any]) -> str:
    """Why the provider would not take this history; empty if it would."""
    items = _input(body)
    if not items:
        return "one of 'input' or 'previous_response_id' or 'prompt' must be given"
    open_calls: list[str] = []
    for at, item in enumerate(items):
        match item["type"]:
            case "function_call":
                if len(item["call_id"]) > _LONGEST_ID:
                    return f"input[{at}].call_id: the id of a call has more than {_LONGEST_ID} characters"
                if odd := odd_names([item["name"]]):
                    return f"input[{at}].name: the name of a function is no such name: {odd}"
                open_calls.append(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in open_calls:
                    return f"input[{at}]: no function call came before the output with call_id {item['call_id']}"
                open_calls.remove(item["call_id"])
            case "reasoning":
                thought = "".join(part["text"] for part in item["summary"])
                if item.get("encrypted_content") not in (None, signature(thought)):
                    return f"input[{at}].encrypted_content: the encrypted content could not be verified"
            case "message":
                if odd := _odd_parts(item):
                    return f"input[{at}].content: a message of the {item['role']}'s can't hold {odd}"
    return f"no function call output answers {', '.join(open_calls)}" if open_calls else ""


def whole(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    """The response to a request without ``stream``."""
    reason = _INCOMPLETE.get(turn.finish_reason)
    return {
        **_response(body, "incomplete" if reason else "completed"),
        "incomplete_details": {"reason": reason} if reason else None,
        "output": _output(turn, body),
        "usage": _usage(turn),
    }


def events(turn: Turn, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each as name and data."""
    numbers = count()

    def event(kind: str, **fields: Any) -> tuple[str, Any]:
        return f"response.{kind}", {"type": f"response.{kind}", "sequence_number": next(numbers), **fields}

    yield event("created", response=_response(body, "in_progress"))
    yield event("in_progress", response=_response(body, "in_progress"))
    for index, item in enumerate(_output(turn, body)):
        place = {"item_id": item["id"], "output_index": index}
        yield event("output_item.added", output_index=index, item=_begun(item))
        for kind, fields in _grown(item, turn.piece):
            yield event(kind, **place, **fields)
        yield event("output_item.done", output_index=index, item=item)
    response = whole(turn, body)
    yield event(response["status"], response=response)


def failure_event(turn: Turn) -> tuple[str, Any]:
    """A failure within a stream."""
    error = {"code": turn.error_code or _CODES.get(turn.status, _FAILED), "message": turn.message}
    response = {**_response({}, "failed"), "error": error}
    return "response.failed", {"type": "response.failed", "sequence_number": 0, "response": response}


def _input(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a request; a text alone is a message of the user's, and a message need not say that it is one."""
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [{"type": "message", **item} for item in items]


def _is_models(item: dict[str, Any]) -> bool:
    return item["type"] in ("reasoning", "function_call") or item.get("role") == "assistant"


def _holds_pictures(item: dict[str, Any]) -> bool:
    content = item["content"]
    return isinstance(content, list) and any(part["type"] == "input_image" for part in content)


def _odd_parts(item: dict[str, Any]) -> str:
    """The kinds of content that a message of its role can't have."""
    content = item["content"]
    kinds = {part["type"] for part in content} if isinstance(content, list) else set()
    said = {"output_text", "refusal"}
    return ", ".join(sorted(kinds - said if item["role"] == "assistant" else kinds & said))


def _output(turn: Turn, body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model makes, as items."""
    items: list[dict[str, Any]] = []
    at = len(_input(body))
    if turn.reasoning:
        thought = {"type": "reasoning", "id": f"rs_{at}", "summary": [_part("summary_text", turn.reasoning)]}
        items.append({**thought, **({"encrypted_content": turn.signature} if _ENCRYPTED in _included(body) else {})})
    content = [_part("output_text", turn.text)] if turn.text else []
    content += [{"type": "refusal", "refusal": turn.refusal}] if turn.refusal else []
    status = "incomplete" if turn.finish_reason in _INCOMPLETE else "completed"
    if content:
        items.append({"type": "message", "id": f"msg_{at}", "role": "assistant", "status": status, "content": content})
    items += [
        {
            "type": "function_call",
            "id": f"fc_{at}_{number}",
            "call_id": f"call_{at}_{number}",
            "name": call.tool,
            "arguments": call.json,
            "status": status,
        }
        for number, call in enumerate(turn.calls)
    ]
    return items


def _included(body: dict[str, Any]) -> list[str]:
    return body.get("include") or []


def _part(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "text": text, **({"annotations": [], "logprobs": []} if kind == "output_text" else {})}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    """An item before anything is in it."""
    emptied: dict[str, Any] = {"summary": [], "content": [], "arguments": "", "status": "in_progress"}
    return {name: emptied.get(name, value) for name, value in item.items() if name != "encrypted_content"}


def _grown(item: dict[str, Any], size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events, without their places, that an item grows by."""
    if item["type"] == "function_call":
        yield from _written("function_call_arguments", {}, "arguments", item["arguments"], size)
    for index, part in enumerate(item.get("summary", ())):
        at = {"summary_index": index}
        yield "reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        yield from _written("reasoning_summary_text", at, "text", part["text"], size)
        yield "reasoning_summary_part.done", {**at, "part": part}
    for index, part in enumerate(item.get("content", ())):
        at = {"content_index": index}
        name = "refusal" if part["type"] == "refusal" else "text"
        yield "content_part.added", {**at, "part": {**part, name: ""}}
        yield from _written(part["type"], at, name, part[name], size)
        yield "content_part.done", {**at, "part": part}


def _written(kind: str, at: dict[str, int], name: str, text: str, size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for piece in pieces(text, size):
        yield f"{kind}.delta", {**at, "delta": piece}
    yield f"{kind}.done", {**at, name: text}


def _response(body: dict[str, Any], status: str) -> dict[str, Any]:
    return {
        "id": _ID,
        "object": "response",
        "created_at": 1_700_000_000,
        "model": body.get("model", "scripted"),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "usage": None,
    }


def _usage(turn: Turn) -> dict[str, Any] | None:
    if turn.usage is None:
        return None
    prompt, completion = turn.usage
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }
