"""litellm's answers, whole or in chunks, as ours."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

from jupyter_skills.models.client import Message, ModelReply, Prices, ToolCall, Usage
from jupyter_skills.models.messages import PROVIDERS_OWN


def text_of(chunk: Any) -> str:
    """The text in a chunk of a stream."""
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def reasoning_of(chunk: Any) -> str:
    """The reasoning in a chunk of a stream."""
    return (getattr(chunk.choices[0].delta, "reasoning_content", None) or "") if chunk.choices else ""


def reply_of(litellm: Any, response: Any, place: int, prices: Prices | None = None) -> ModelReply:
    """A whole answer.

    Args:
        litellm: The library.
        response: Its response, built from the chunks if it was a stream.
        place: Where in the conversation the answer stands; names calls that the provider gave no name of their own.
        prices: What the user says that the model costs.
    """
    choice = response.choices[0]
    calls: list[ToolCall] = []
    sent_back: list[dict[str, Any]] = []
    for number, call in enumerate(choice.message.tool_calls or ()):
        fresh = call.id and call.id not in [other.id for other in calls]
        ours = ToolCall(
            call.id if fresh else f"call_{place}_{number}", call.function.name or "", call.function.arguments or ""
        )
        calls.append(ours)
        function = {"name": _name(ours), "arguments": _object(ours)}
        sent_back.append({"id": ours.id, "type": "function", "function": function, **_kept(call, call.function)})
    text = _text(choice.message.content)
    message: Message = {"role": "assistant", "content": text or ("" if not calls else None)}
    if calls:
        message["tool_calls"] = sent_back
    message |= _kept(choice.message)
    counted = getattr(response, "usage", None)
    usage = Usage(counted.prompt_tokens or 0, counted.completion_tokens or 0) if counted else Usage()
    return ModelReply(
        message=message,
        tool_calls=tuple(calls),
        finish_reason=choice.finish_reason or "stop",
        usage=usage,
        cost=_cost(litellm, response) if prices is None else _priced(usage, prices),
        raw=response,
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def _kept(*holders: Any) -> dict[str, Any]:
    """What the provider wants back in the next request; a call's signature may lie at the call or its function."""
    kept: dict[str, Any] = {}
    for name in PROVIDERS_OWN:
        for holder in holders:
            if value := _filled(getattr(holder, name, None)):
                kept[name] = deepcopy(value)
                break
    return kept


def _filled(value: Any) -> Any:
    """A value without what litellm leaves empty in it, or has put into a field of its own as well."""
    if not isinstance(value, dict):
        return value
    return {name: held for name, held in value.items() if held is not None and name not in PROVIDERS_OWN}


def _name(call: ToolCall) -> str:
    """A name that every provider takes back; the tool's result says what was wrong with another."""
    return call.name if re.fullmatch(r"[\w-]{1,64}", call.name, re.ASCII) else "unknown"


def _object(call: ToolCall) -> str:
    """Arguments that every provider takes back: a call cut off in the middle would end the conversation for good."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _priced(usage: Usage, prices: Prices) -> float:
    return usage.prompt_tokens * prices.prompt + usage.completion_tokens * prices.completion


def _cost(litellm: Any, response: Any) -> float | None:
    try:
        return float(litellm.completion_cost(completion_response=response))
    except Exception:  # noqa: BLE001 -- an unknown price is normal, and litellm has a new error class for it each year
        return None
