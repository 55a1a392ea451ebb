"""What came of several requests, in the shape of litellm's answer to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_skills.models.client import Message, ReasoningDelta, TextDelta, Usage
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.models.litellm_reply import usage_of
from jupyter_skills.models.messages import summed


async def response(
    raws: Sequence[Any],
    message: Message,
    finish_reason: str,
    usage: Usage,
    cost: float | None,
) -> Any:
    """A ``litellm.ModelResponse``.

    Args:
        raws: Those of all requests, at least of one; none is changed.
        message: The assistant's message in it: ``content``, and the ``tool_calls`` that are left to the caller.
        finish_reason: Why it ended.
        usage: What all requests came to.
        cost: US dollars for all of them, if known.
    """
    litellm = await imported()
    made = raws[-1].model_copy(deep=True)
    choice = made.choices[0]
    choice.message.content = message.get("content", "")
    choice.message.tool_calls = _calls(litellm, message.get("tool_calls") or ()) or None
    choice.finish_reason = finish_reason
    if usage_of(made) != usage or not hasattr(made, "usage"):
        counted = [raw.usage.model_dump() for raw in raws if getattr(raw, "usage", None)]
        made.usage = litellm.Usage(
            **{
                **summed(counted),
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "total_tokens": usage.total_tokens,
            }
        )
    made._hidden_params = {**(getattr(raws[-1], "_hidden_params", None) or {}), "response_cost": cost}
    return made


async def empty(model: str) -> Any:
    """A ``litellm.ModelResponse`` of a model that was not asked."""
    litellm = await imported()
    return litellm.ModelResponse(model=model, choices=[{"message": {"role": "assistant", "content": ""}}])


async def chunk(number: str, model: str, piece: TextDelta | ReasoningDelta) -> Any:
    """A piece as a ``litellm.ModelResponseStream``; all of one stream carry the same number."""
    kind = "content" if isinstance(piece, TextDelta) else "reasoning_content"
    return await _chunk(number, model, {"role": "assistant", kind: piece.text}, None)


async def last_chunk(number: str, made: Any) -> Any:
    """The end of a stream: why it ends, the calls that are left to the caller, and the usage.

    Args:
        number: That of the stream.
        made: What ``response`` has made of the same turn.
    """
    choice = made.choices[0]
    calls = [
        {"index": index, "id": call.id, "type": "function", "function": dict(call.function)}
        for index, call in enumerate(choice.message.tool_calls or ())
    ]
    ending = await _chunk(
        number, made.model, {"content": None, **({"tool_calls": calls} if calls else {})}, choice.finish_reason
    )
    ending.usage = made.usage
    return ending


async def _chunk(number: str, model: str, delta: dict[str, Any], finish_reason: str | None) -> Any:
    litellm = await imported()
    return litellm.ModelResponseStream(
        id=number, model=model, choices=[{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    )


def _calls(litellm: Any, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [litellm.ChatCompletionMessageToolCall(**call) for call in calls]
