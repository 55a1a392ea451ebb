"""Making a conversation shorter before it overflows: oldest first, and never what a loaded skill says.

Nothing is asked of the model for that, so it costs nothing, takes no time, and the same conversation becomes the same
bytes. What is left stays a history that every provider takes: each call keeps its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jupyter_skills.agent.prompt.content import without_media
from jupyter_skills.agent.tool_names import LOAD_SKILL, READ_FILE
from jupyter_skills.execution.output import bounded
from jupyter_skills.models.client import Message
from jupyter_skills.models.messages import media_tokens
from jupyter_skills.skills.words import CHARACTERS_PER_TOKEN

Exchange = list[Message]

# What the model knows of skills; the first is never given up.
_SKILLS = (LOAD_SKILL, READ_FILE)
_SHORT_RESULT = 400
_SHORT_QUOTE = 300
_MOST_QUOTES = 40
_OPENING = "Earlier in this conversation, in short, to make room:"


def size(messages: Sequence[Message]) -> int:
    """About how many characters messages are; pictures and documents count as many as their tokens come to."""
    return sum(_size(message) for message in messages)


def compacted(exchanges: Sequence[Exchange], room: int) -> list[Exchange]:
    """Shorter exchanges; what is missed least goes first.

    That is pictures and documents of earlier exchanges, then the middle of long results of calls, then whole
    exchanges, of which a line is left; then the same of the last one, but for its prompt.

    Args:
        exchanges: The exchanges, the one that is going on last. They are not changed.
        room: How many characters there are for them; less may not be possible. If the last prompt alone has
            more, nothing is given up for it.
    """
    kept = list(exchanges)
    if size(kept[-1][:1]) > room:
        return kept
    for shortened in (_without_media, _with_short_results):
        for index in range(len(kept) - 1):
            if _total(kept) <= room:
                return kept
            kept[index] = shortened(kept[index])
    gone: list[Exchange] = []
    while len(kept) > 1 and _total([*_in_short(gone, _SKILLS), *kept]) > room:
        gone.append(kept.pop(0))
    short = _in_short(gone, _SKILLS)
    if _total([*short, *kept]) > room:
        short = _in_short(gone, _SKILLS[:1])  # a skill's files can be read again
    kept = [*short, *kept]
    for shortened in (_without_media, _with_short_results):
        if kept and _total(kept) > room:
            kept[-1] = [*kept[-1][:1], *shortened(kept[-1][1:])]
    return kept if _total(kept) < _total(exchanges) else list(exchanges)


def _total(exchanges: Sequence[Exchange]) -> int:
    return sum(map(size, exchanges))


def _size(message: Message) -> int:
    content = message.get("content") or ""
    calls = message.get("tool_calls") or ()
    own = sum(len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls)
    if isinstance(content, str):
        return own + len(content)
    return own + sum(
        len(part["text"]) if part.get("type") == "text" else media_tokens(part) * CHARACTERS_PER_TOKEN
        for part in content
    )


def _without_media(exchange: Exchange) -> Exchange:
    return [without_media(message) for message in exchange]


def _with_short_results(exchange: Exchange) -> Exchange:
    return [
        {**message, "content": bounded(message["content"], _SHORT_RESULT)}
        if message["role"] == "tool" and not _is_skills(message)
        else message
        for message in exchange
    ]


def _is_skills(message: Message, names: Sequence[str] = _SKILLS) -> bool:
    return message["role"] == "tool" and message.get("name") in names


def _in_short(gone: Sequence[Exchange], names: Sequence[str]) -> list[Exchange]:
    """What is left of exchanges: a line for each, and what the model was given of skills by these tools."""
    if not gone:
        return []
    quotes = [line for exchange in gone for line in _quotes(exchange)]
    skills = {_heading(pair): pair for exchange in gone for pair in _of_skills(exchange, names)}
    summary: Message = {"role": "user", "content": "\n".join([_OPENING, *quotes[-_MOST_QUOTES:]])}
    return [[summary, *(message for pair in skills.values() for message in pair)]]


def _quotes(exchange: Exchange) -> list[str]:
    first, *rest = exchange
    said = _text(first)
    if said.startswith(_OPENING):
        return said.splitlines()[1:]
    answers = [_text(message) for message in rest if message["role"] == "assistant" and _text(message)]
    answer = f" You answered: {_short(answers[-1])}" if answers else ""
    return [f"- The user said: {_short(said)}{answer}"]


def _of_skills(exchange: Exchange, names: Sequence[str]) -> list[Exchange]:
    """What the model was given of skills: each result with its call, for the two must stay together."""
    found: list[Exchange] = []
    calls: dict[str, Any] = {}
    for message in exchange:
        if message["role"] == "assistant":
            calls = {call["id"]: call for call in message.get("tool_calls") or ()}  # some number each reply's anew
        elif _is_skills(message, names) and message["tool_call_id"] in calls:
            call = calls[message["tool_call_id"]]
            found.append([{"role": "assistant", "content": None, "tool_calls": [call]}, message])
    return found


def _heading(pair: Exchange) -> tuple[str, str]:
    """What tells apart the instructions of two skills, or two of their files; of the same the last is kept."""
    call, result = pair
    function = call["tool_calls"][0]["function"]
    first = str(result["content"]).partition("\n")[0]
    return function["name"], first if function["name"] == LOAD_SKILL else function["arguments"]


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _short(text: str) -> str:
    words = " ".join(text[: 2 * _SHORT_QUOTE].split())
    return words if len(words) <= _SHORT_QUOTE else words[: _SHORT_QUOTE - 1] + "…"
