"""Making a conversation shorter before it overflows: oldest first, and never what a loaded skill says.

Nothing is asked of the model for that, so it costs nothing, takes no time, and the same conversation becomes the same
bytes. What is left stays a history that every provider takes: each call keeps its result.
"""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_skills.agent.prompt.content import without_media
from jupyter_skills.agent.tool_names import LOAD_SKILL
from jupyter_skills.execution.output import bounded
from jupyter_skills.models.client import Message
from jupyter_skills.skills.words import CHARACTERS_PER_TOKEN

Exchange = list[Message]

_PICTURE = 1500 * CHARACTERS_PER_TOKEN
_SHORT_RESULT = 400
_SHORT_QUOTE = 300
_MOST_QUOTES = 40
_OPENING = "Earlier in this conversation, in short, to make room:"


def size(messages: Sequence[Message]) -> int:
    """About how many characters messages are; a picture counts as many as its tokens come to."""
    return sum(_size(message) for message in messages)


def compacted(exchanges: Sequence[Exchange], room: int) -> list[Exchange]:
    """Shorter exchanges; what is missed least goes first.

    That is pictures and documents of earlier exchanges, then the middle of long results of calls, then whole
    exchanges, of which a line is left; then the same of the last one, but for its prompt.

    Args:
        exchanges: The exchanges, the one that is going on last. They are not changed.
        room: How many characters there are for them; less may not be possible.
    """
    kept = list(exchanges)
    for shortened in (_without_media, _with_short_results):
        for index in range(len(kept) - 1):
            if _total(kept) <= room:
                return kept
            kept[index] = shortened(kept[index])
    gone: list[Exchange] = []
    while len(kept) > 1 and _total([*_in_short(gone), *kept]) > room:
        gone.append(kept.pop(0))
    kept = [*_in_short(gone), *kept]
    for shortened in (_without_media, _with_short_results):
        if kept and _total(kept) > room:
            kept[-1] = [*kept[-1][:1], *shortened(kept[-1][1:])]
    return kept


def _total(exchanges: Sequence[Exchange]) -> int:
    return sum(map(size, exchanges))


def _size(message: Message) -> int:
    content = message.get("content") or ""
    calls = message.get("tool_calls") or ()
    own = sum(len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls)
    if isinstance(content, str):
        return own + len(content)
    return own + sum(len(part["text"]) if part.get("type") == "text" else _PICTURE for part in content)


def _without_media(exchange: Exchange) -> Exchange:
    return [without_media(message) for message in exchange]


def _with_short_results(exchange: Exchange) -> Exchange:
    return [
        {**message, "content": bounded(message["content"], _SHORT_RESULT)}
        if message["role"] == "tool" and not _is_instructions(message)
        else message
        for message in exchange
    ]


def _is_instructions(message: Message) -> bool:
    return message["role"] == "tool" and message.get("name") == LOAD_SKILL


def _in_short(gone: Sequence[Exchange]) -> list[Exchange]:
    """What is left of exchanges: a line for each, and the instructions that the model was given in them."""
    if not gone:
        return []
    quotes = [line for exchange in gone for line in _quotes(exchange)]
    instructions = {_skill_of(message): pair for exchange in gone for message, pair in _instructions(exchange)}
    summary: Message = {"role": "user", "content": "\n".join([_OPENING, *quotes[-_MOST_QUOTES:]])}
    return [[summary, *(message for pair in instructions.values() for message in pair)]]


def _quotes(exchange: Exchange) -> list[str]:
    first, *rest = exchange
    said = _text(first)
    if said.startswith(_OPENING):
        return said.splitlines()[1:]
    answers = [_text(message) for message in rest if message["role"] == "assistant" and _text(message)]
    answer = f" You answered: {_short(answers[-1])}" if answers else ""
    return [f"- The user said: {_short(said)}{answer}"]


def _instructions(exchange: Exchange) -> list[tuple[Message, Exchange]]:
    """The results that hold a skill's instructions, each with the call and result that must stay together."""
    results = {message["tool_call_id"]: message for message in exchange if _is_instructions(message)}
    found: list[tuple[Message, Exchange]] = []
    for message in exchange:
        found += [
            (result, [{"role": "assistant", "content": None, "tool_calls": [call]}, result])
            for call in message.get("tool_calls") or ()
            if (result := results.get(call["id"]))
        ]
    return found


def _skill_of(result: Message) -> str:
    """What tells apart the instructions of two skills: their first line."""
    return str(result["content"]).partition("\n")[0]


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _short(text: str) -> str:
    words = " ".join(text[: 2 * _SHORT_QUOTE].split())
    return words if len(words) <= _SHORT_QUOTE else words[: _SHORT_QUOTE - 1] + "…"
