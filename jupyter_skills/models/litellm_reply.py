"""litellm's answers, whole or in chunks, as ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from jupyter_skills.models.client import Message, ModelReply, Prices, ToolCall, Usage
from jupyter_skills.models.messages import (
    PROVIDERS_OWN,
    accepted_name,
    ids_in,
    is_providers,
    object_in,
    text_in,
    unused_ids,
)


def text_of(chunk: Any) -> str:
    """The text in a chunk of a stream."""
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def reasoning_of(chunk: Any) -> str:
    """The reasoning in a chunk of a stream."""
    return (getattr(chunk.choices[0].delta, "reasoning_content", None) or "") if chunk.choices else ""


def reply_of(
    litellm: Any,
    response: Any,
    messages: Iterable[Mapping[str, Any]] = (),
    prices: Prices | None = None,
    *,
    free: bool = False,
    model: str = "",
) -> ModelReply:
    """A whole answer.

    Args:
        litellm: The library.
        response: Its response, built from the chunks if it was a stream.
        messages: The conversation so far: a call that the provider gave no id of its own gets one that isn't there.
        prices: What the user says that the model costs.
        free: Whether it is known to cost nothing, however much it says.
        model: The name it was asked by, where its own in the response has no price.

    Raises:
        IndexError: There is no answer in the response.
    """
    choice = response.choices[0]
    every = choice.message.tool_calls or ()
    given = [call for call in every if not is_providers(call.id)]
    fresh_ids = unused_ids("call", ids_in(messages) | {str(call.id) for call in given})
    calls: list[ToolCall] = []
    sent_back: list[dict[str, Any]] = []
    for call in given:
        fresh = call.id and call.id not in [other.id for other in calls]
        ours = ToolCall(call.id if fresh else next(fresh_ids), call.function.name or "", call.function.arguments or "")
        calls.append(ours)
        function = {"name": accepted_name(ours.name), "arguments": _object(ours)}
        sent_back.append({"id": ours.id, "type": "function", "function": function, **_kept(call, call.function)})
    sent_back += [call.model_dump(exclude_none=True) for call in every if is_providers(call.id)]
    text = text_in(choice.message.content)
    message: Message = {"role": "assistant", "content": text or ("" if not calls else None)}
    if sent_back:
        message["tool_calls"] = sent_back
    message |= _kept(choice.message)
    usage = usage_of(response)
    if usage == Usage():
        cost = 0.0 if free else None  # nobody has counted
    else:
        cost = _cost(litellm, response, model) if prices is None else prices.cost(usage)
    return ModelReply(
        message=message,
        tool_calls=tuple(calls),
        finish_reason=choice.finish_reason or "stop",
        usage=usage,
        cost=cost,
        raw=response,
    )


def usage_of(response: Any) -> Usage:
    """The tokens that a response came to; none if nobody has counted."""
    counted = getattr(response, "usage", None)
    return Usage(counted.prompt_tokens or 0, counted.completion_tokens or 0) if counted else Usage()


def refusal_of(response: Any, heard: str = "") -> str | None:
    """Why the provider would not answer; None if it has answered, be it in part.

    Args:
        response: See ``reply_of``.
        heard: What was said in a stream of why: litellm puts it into no response.
    """
    choice = response.choices[0]
    if text_in(choice.message.content) or choice.message.tool_calls:
        return None
    own = getattr(choice.message, "provider_specific_fields", None) or {}
    reason = heard or str(own.get("refusal") or getattr(choice.message, "refusal", None) or "")
    return reason or ("it gave no reason" if choice.finish_reason == "content_filter" else None)


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


def _object(call: ToolCall) -> str:
    """Arguments that every provider takes back: a call cut off in the middle would end the conversation for good."""
    return "{}" if object_in(call.arguments) is None else call.arguments


def _cost(litellm: Any, response: Any, model: str) -> float | None:
    for named in ({}, {"model": model}) if model else ({},):
        try:
            return float(litellm.completion_cost(completion_response=response, **named))
        except Exception:  # noqa: BLE001, S112 -- an unknown price is normal, and litellm has many error classes for it
            continue
    return None
