"""Conversations in OpenAI's form as Anthropic's messages, and their replies back.

Source: Anthropic API reference, "Messages" and "Tool use".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jupyter_skills.models.client import Message, ModelReply, ToolCall, Usage
from jupyter_skills.models.messages import accepted_name, copied, ids_in, object_in, text_in, unused_ids

NATIVE = "anthropic"
"""Under this key a message, or a tool, holds itself in Anthropic's form; only that is sent."""

_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_SAID = ("text", "tool_use", "thinking", "redacted_thinking")
_MEDIA = ("image", "document")


def wrapped(message: Mapping[str, Any]) -> Message:
    """A message of Anthropic's for a conversation in OpenAI's form; it is sent as it is.

    Args:
        message: The message; it is not changed, and not copied.
    """
    return {"role": message.get("role", ""), "content": _text(message.get("content")), NATIVE: message}


def wrapped_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of Anthropic's among tools in OpenAI's form; it is sent as it is.

    Args:
        tool: The tool, be it one that the provider runs; it is not changed, and not copied.
    """
    return {"type": "function", "function": {"name": str(tool.get("name", ""))}, NATIVE: tool}


def system_of(given: str | Sequence[Mapping[str, Any]] | None, messages: Iterable[Message]) -> Any:
    """The ``system`` parameter; None if there is nothing to say.

    Args:
        given: That of the caller, which comes first.
        messages: The conversation, of which the system messages follow.
    """
    ours = "\n\n".join(text_in(message.get("content")) for message in messages if _is_system(message))
    if not ours or not given:
        return copied(given) or ours or None
    if isinstance(given, str):
        return f"{given}\n\n{ours}"
    return [*copied(given), {"type": "text", "text": ours}]


def messages_of(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """A conversation without its system messages.

    Results of calls come together in one message of the user's, and with them what of ours follows as the user's:
    after a call the provider takes nothing else than one message with all results.
    """
    made: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    for message in messages:
        if NATIVE in message:
            native = copied(message[NATIVE])
            if made and _has_results(native) and _has_results(made[-1]):  # whoever went on has put theirs after ours
                made[-1]["content"] += native["content"]
            else:
                made.append(native)
            results = None
        elif message["role"] == "tool":
            if results is None:
                results = []
                made.append({"role": "user", "content": results})
            results.append(_result(message))
        elif message["role"] == "user" and results is not None:
            results += _blocks(message.get("content"))
        elif not _is_system(message):
            calls = [_tool_use(call) for call in message.get("tool_calls") or ()]
            made.append({"role": message["role"], "content": [*_blocks(message.get("content")), *calls]})
            results = None
    return made


def tools_of(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools, in their order."""
    return [copied(tool[NATIVE]) if NATIVE in tool else _tool(tool["function"]) for tool in tools]


def counted_as(messages: Iterable[Message]) -> list[Message]:
    """Messages in OpenAI's form, with all that tokens are counted of in their contents."""
    return [_counted(message[NATIVE]) if NATIVE in message else message for message in messages]


def tools_counted_as(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools in OpenAI's form; what the provider itself adds for those that it runs is not known."""
    return [{"type": "function", "function": _function(tool[NATIVE])} if NATIVE in tool else {**tool} for tool in tools]


def reply_of(
    response: Mapping[str, Any],
    messages: Iterable[Message],
    inputs: Mapping[int, str] | None = None,
    cost: float | None = None,
) -> ModelReply:
    """A whole answer.

    Args:
        response: The message that came; it is not changed.
        messages: The conversation so far: a call without an id of its own gets one that isn't there.
        inputs: What was written as input of the calls, by the places of their blocks, where it may be no JSON.
        cost: US dollars, if known.
    """
    blocks: list[dict[str, Any]] = copied(response.get("content") or ())
    fresh = unused_ids("call", _ids(messages))
    calls: list[ToolCall] = []
    for place, block in enumerate(blocks):
        if block.get("type") != "tool_use":
            continue
        given = block.get("input")
        arguments = (inputs or {}).get(place) or json.dumps({} if given is None else given, ensure_ascii=False)
        if not block.get("id") or block["id"] in [call.id for call in calls]:
            block["id"] = next(fresh)
        call = ToolCall(block["id"], str(block.get("name") or ""), arguments)
        calls.append(call)
        # What the provider would not take back would end the conversation for good.
        block |= {"name": accepted_name(call.name), "input": given if isinstance(given, dict) else {}}
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    message: Message = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    message[NATIVE] = {"role": "assistant", "content": [block for block in blocks if not _is_empty(block)]}
    reason = response.get("stop_reason") or "end_turn"
    return ModelReply(
        message=message,
        tool_calls=tuple(calls),
        finish_reason=_FINISH_REASONS.get(reason, reason),
        usage=usage_of(response),
        cost=cost,
        raw=response,
        has_more=any(block.get("type") not in _SAID for block in blocks),
    )


def usage_of(response: Mapping[str, Any]) -> Usage:
    """The tokens that a response came to; those of the prompt with what was read from a cache, and written into it."""
    counted = response.get("usage") or {}
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(sum(counted.get(kind) or 0 for kind in kinds), counted.get("output_tokens") or 0)


def thinking_in(response: Mapping[str, Any]) -> str:
    """What the model thought, where the provider shows it."""
    return "".join(str(block.get("thinking") or "") for block in response.get("content") or ())


def _is_system(message: Message) -> bool:
    return message["role"] == "system" and NATIVE not in message


def _has_results(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if message.get("role") == "user" and isinstance(content, list) else ()
    return any(isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks)


def _is_empty(block: Mapping[str, Any]) -> bool:
    """Whether it is a text block that no provider takes back."""
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _blocks(content: Any) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return [
        _picture(part) if part.get("type") == "image_url" else copied(part) for part in parts if not _is_empty(part)
    ]


def _picture(part: Mapping[str, Any]) -> dict[str, Any]:
    url = part["image_url"]["url"]
    if data := _DATA_URL.fullmatch(url):
        return {"type": "image", "source": {"type": "base64", "media_type": data[1], "data": data[2]}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def _result(message: Message) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text_in(message.get("content"))}


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": call["id"],
        "name": function["name"],
        "input": object_in(function["arguments"]) or {},
    }


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = "{}" if object_in(call.arguments) is None else call.arguments
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": accepted_name(call.name), "arguments": arguments},
    }


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = copied(function.get("parameters")) or {"type": "object", "properties": {}}
    described = {"description": function["description"]} if function.get("description") else {}
    return {"name": function["name"], **described, "input_schema": schema}


def _function(tool: Mapping[str, Any]) -> dict[str, Any]:
    name, description = (str(tool.get(key) or "") for key in ("name", "description"))
    return {"name": name, "description": description, "parameters": tool.get("input_schema") or {}}


def _ids(messages: Iterable[Message]) -> set[str]:
    messages = list(messages)
    contents = [message[NATIVE].get("content") for message in messages if NATIVE in message]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return ids_in(messages) | {str(block.get("id")) for block in blocks if isinstance(block, Mapping)}


def _counted(message: Mapping[str, Any]) -> Message:
    content = message.get("content")
    text = {"type": "text", "text": _text(content)}
    return {"role": message.get("role", ""), "content": [text, *map(copied, _media(content))]}


def _text(content: Any) -> str:
    """All that is written in a message's content, in results, thinking and inputs too."""
    if not isinstance(content, list):
        return str(content or "")
    return "\n".join(text for block in content if isinstance(block, Mapping) for text in _texts(block))


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    if block.get("type") in _MEDIA:
        return
    for name in ("text", "thinking"):
        if text := block.get(name):
            yield str(text)
    if given := block.get("input"):
        yield json.dumps(given, ensure_ascii=False, default=str)
    if text := _text(block.get("content")):
        yield text


def _media(content: Any) -> Iterator[Mapping[str, Any]]:
    """The pictures and documents in a message's content, those in results too."""
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            if block.get("type") in _MEDIA:
                yield block
            else:
                yield from _media(block.get("content"))
