"""Making a conversation shorter before it overflows: oldest first, and never what a loaded skill says.

Nothing is asked of the model for that, so it costs nothing, takes no time, and the same conversation becomes the same
bytes. What is left stays a history that every provider takes: each call keeps its result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_skills.agent.prompt.content import without_media
from jupyter_skills.agent.tool_names import LOAD_SKILL, READ_FILE
from jupyter_skills.execution.output import bounded
from jupyter_skills.models.client import Message
from jupyter_skills.models.messages import answered_calls, media_tokens, text_in
from jupyter_skills.words import CHARACTERS_PER_TOKEN, shortened

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
    kept = _Sized(exchanges)
    if size(kept.exchanges[-1][:1]) > room:
        return kept.exchanges
    for step in (_without_media, _with_short_results):
        for index in range(len(kept.exchanges) - 1):
            if kept.total <= room:
                return kept.exchanges
            kept.replace(index, step(kept.exchanges[index]))
    left = _Left()
    gone = 0
    while gone < len(kept.exchanges) - 1 and left.size + kept.total > room:
        left.add(kept.exchanges[gone])
        kept.replace(gone, [])
        gone += 1
    # A skill's files can be read again.
    names = _SKILLS if left.size + kept.total <= room else _SKILLS[:1]
    last = kept.exchanges[-1]
    short = _Sized([*left.exchange(names), *kept.exchanges[gone:]])
    for step in (_without_media, _with_short_results):
        if short.total > room:
            last = [*last[:1], *step(last[1:])]
            short.replace(-1, last)
    return short.exchanges if short.total < sum(map(size, exchanges)) else list(exchanges)


class _Sized:
    """Exchanges, and how many characters they are together: counting all of them at each step would take long.

    Args:
        exchanges: The exchanges.
    """

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.exchanges = list(exchanges)
        self._sizes = [size(exchange) for exchange in exchanges]
        self.total = sum(self._sizes)

    def replace(self, index: int, exchange: Exchange) -> None:
        """Puts another exchange in place of one."""
        self.exchanges[index] = exchange
        self.total -= self._sizes[index]
        self._sizes[index] = size(exchange)
        self.total += self._sizes[index]


class _Left:
    """What is left of exchanges that are dropped: a line for each, and what the model was given of skills."""

    def __init__(self) -> None:
        self._quotes: deque[str] = deque()
        self._pairs: dict[tuple[str, str], Exchange] = {}
        self.size = 0

    def add(self, exchange: Exchange) -> None:
        """Takes the next one that is dropped."""
        self.size = self.size or len(_OPENING)
        for quote in _quotes(exchange):
            self._quotes.append(quote)
            self.size += len(quote) + 1
        while len(self._quotes) > _MOST_QUOTES:
            self.size -= len(self._quotes.popleft()) + 1
        for call, result in answered_calls(exchange):
            if _is_skills(result):
                # Each result with its call, for the two must stay together; of the same the last is kept.
                pair: Exchange = [{"role": "assistant", "content": None, "tool_calls": [dict(call)]}, result]
                self.size += size(pair) - size(self._pairs.get(_heading(call, result), []))
                self._pairs[_heading(call, result)] = pair

    def exchange(self, names: Sequence[str]) -> list[Exchange]:
        """The exchange in place of them, with what these tools gave; none if nothing was dropped."""
        if not self.size:
            return []
        summary: Message = {"role": "user", "content": "\n".join([_OPENING, *self._quotes])}
        pairs = [pair for (name, _), pair in self._pairs.items() if name in names]
        return [[summary, *(message for pair in pairs for message in pair)]]


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


def _is_skills(message: Message) -> bool:
    return message["role"] == "tool" and message.get("name") in _SKILLS


def _quotes(exchange: Exchange) -> list[str]:
    first, *rest = exchange
    said = text_in(first.get("content"))
    if said.startswith(_OPENING):
        return said.splitlines()[1:]
    answers = [text_in(message.get("content")) for message in rest if message["role"] == "assistant"]
    answer = f" You answered: {_short(answers[-1])}" if (answers := [*filter(None, answers)]) else ""
    return [f"- The user said: {_short(said)}{answer}"]


def _heading(call: Mapping[str, Any], result: Message) -> tuple[str, str]:
    """What tells apart the instructions of two skills, or two of their files."""
    function = call["function"]
    first = str(result["content"]).partition("\n")[0]
    return function["name"], first if function["name"] == LOAD_SKILL else function["arguments"]


def _short(text: str) -> str:
    return shortened(" ".join(text[: 2 * _SHORT_QUOTE].split()), _SHORT_QUOTE)
