"""Where the bytes, tokens and dollars of a request went."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_skills.agent.prompt.system import Section
from jupyter_skills.agent.tool_names import skill_loaded_by
from jupyter_skills.models.client import Message, ModelReply, Prices
from jupyter_skills.models.messages import answered_calls, function_name, media_tokens
from jupyter_skills.words import CHARACTERS_PER_TOKEN

_ANSWER = "the model's answer"


@dataclass(frozen=True)
class Share:
    """A part of a request, or its answer.

    Args:
        part: What it is.
        skill: The skill it is about; empty if it is about none.
        size: Its text in bytes of UTF-8; pictures and documents as they are sent.
        tokens: Its part of the tokens that the provider has counted. Providers count the whole only; each
            part's is in proportion to its length.
        cost: US dollars, likewise; None where the price is unknown.
    """

    part: str
    skill: str
    size: int
    tokens: int
    cost: float | None


@dataclass
class _Piece:
    part: str
    skill: str
    size: int = 0
    weight: int = 0

    def add(self, text: str, weight: int | None = None) -> None:
        self.size += len(text.encode(errors="replace"))
        self.weight += len(text) if weight is None else weight


def shares(
    sections: Sequence[Section],
    tools: Sequence[Mapping[str, Any]],
    earlier: Sequence[Message],
    said: Sequence[Message],
    reply: ModelReply,
    prices: Prices | None = None,
) -> tuple[Share, ...]:
    """What each part of a request came to; tokens and dollars add up to what the provider has counted.

    Args:
        sections: The system message.
        tools: The tools on offer.
        earlier: The messages of earlier prompts.
        said: The messages of this prompt.
        reply: What came back.
        prices: What the model costs, if that is known.
    """
    pieces: dict[tuple[str, str], _Piece] = {}

    def piece(part: str, skill: str = "") -> _Piece:
        return pieces.setdefault((part, skill), _Piece(part, skill))

    for section in sections:
        piece(section.title, section.skill).add(section.text)
    for tool in tools:
        skill, of_a_skill, _ = function_name(tool).partition("__")
        piece("tools", skill if of_a_skill else "").add(json.dumps(tool, ensure_ascii=False))
    for messages, prompt in ((earlier, "earlier conversation"), (said, "your prompt")):
        loaded = _loaded(messages)
        for message in messages:
            _add(piece, message, loaded, prompt, first=message is messages[0])
    rows = list(pieces.values())
    tokens = apportioned(reply.usage.prompt_tokens, [row.weight for row in rows])
    answer = _Piece(_ANSWER, "")
    answer.add(reply.text)
    for call in reply.tool_calls:
        answer.add(call.name + call.arguments)
    counted = [*zip(rows, tokens, strict=True), (answer, reply.usage.completion_tokens)]
    costs = _costs(reply, tokens, prices)
    return tuple(
        Share(row.part, row.skill, row.size, count, cost) for (row, count), cost in zip(counted, costs, strict=True)
    )


def apportioned(whole: int, weights: Sequence[int]) -> list[int]:
    """A number in whole parts, as near to the weights as they get, which add up to it."""
    total = sum(weights)
    if not total:
        return [whole] + [0] * (len(weights) - 1) if weights else []
    exact = [whole * weight / total for weight in weights]
    parts = [int(value) for value in exact]
    order = sorted(range(len(weights)), key=lambda index: parts[index] - exact[index])
    for index in order[: whole - sum(parts)]:
        parts[index] += 1
    return parts


def _add(piece: Any, message: Message, loaded: dict[int, str], prompt: str, *, first: bool) -> None:
    role = message["role"]
    if id(message) in loaded:
        target = piece("instructions", loaded[id(message)])
    elif prompt != "your prompt" or (role == "user" and first):
        target = piece(prompt)
    else:
        target = piece({"tool": "results of calls", "user": "pictures"}.get(role, "the model's own words"))
    content = message.get("content")
    for part in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
        if part.get("type") == "text":
            target.add(part["text"])
        else:
            target.add(json.dumps(part), media_tokens(part) * CHARACTERS_PER_TOKEN)
    rest = {name: value for name, value in message.items() if name not in ("role", "content", "tool_call_id", "name")}
    if rest:
        target.add(json.dumps(rest, ensure_ascii=False, default=str))


def _loaded(messages: Iterable[Message]) -> dict[int, str]:
    """The results that are a skill's instructions, by ``id``, with the skill's name."""
    return {id(result): name for call, result in answered_calls(messages) if (name := skill_loaded_by(call))}


def _costs(reply: ModelReply, prompt: Sequence[int], prices: Prices | None) -> list[float | None]:
    """The cost that was reported, in proportion to what each part's tokens and the answer's cost."""
    rates = prices or Prices(1.0, 1.0)
    listed = [*(count * rates.prompt for count in prompt), reply.usage.completion_tokens * rates.completion]
    total = sum(listed)
    if reply.cost is None:
        return [None] * len(listed)
    return [reply.cost * each / total if total else 0.0 for each in listed]
