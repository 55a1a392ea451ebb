"""Messages of a conversation: what every provider takes, and what can be read from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import count
from typing import Any

from jupyter_skills.models.client import Message

PROVIDERS_OWN = ("reasoning_content", "thinking_blocks", "provider_specific_fields")
"""What a provider wants back in the next request beside the text and the calls, and another would refuse."""


# A picture takes 85 to 1,600 tokens by its size and the provider, a page of a document 1,500 to 3,000: about 60 kB.
_PICTURE_TOKENS = 800
_ENCODED_CHARACTERS_PER_TOKEN = 40

_FUNCTION = re.compile(r"[\w-]{1,64}", re.ASCII)

# A name of a call that every provider takes: litellm writes Gemini's signatures into these, hundreds of characters.
_NAME = re.compile(r"[\w-]{1,40}", re.ASCII)


def function_name(tool: Mapping[str, Any]) -> str:
    """The name that a tool is called by, also in Anthropic's form; empty for one that has none."""
    function = tool.get("function")
    return str((function if isinstance(function, Mapping) else tool).get("name", ""))


def text_in(content: Any) -> str:
    """The text in a message's content, which is a text, a list of parts, or nothing."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def answered_calls(messages: Iterable[Message]) -> Iterator[tuple[Mapping[str, Any], Message]]:
    """Each call that has a result, with it. Some providers number each reply's calls anew: so by their order too."""
    calls: dict[Any, Mapping[str, Any]] = {}
    for message in messages:
        if message.get("role") == "assistant":
            calls = {call["id"]: call for call in message.get("tool_calls") or ()}
        elif message.get("role") == "tool" and message.get("tool_call_id") in calls:
            yield calls[message["tool_call_id"]], message


def media_tokens(part: Mapping[str, Any]) -> int:
    """About how many tokens a picture or a document in a message's content is."""
    if "image" in str(part.get("type")):
        return _PICTURE_TOKENS
    return _written(part) // _ENCODED_CHARACTERS_PER_TOKEN


def _written(value: Any) -> int:
    """About how many characters a value is as JSON: writing documents out to count them would take long."""
    if isinstance(value, Mapping):
        return sum(len(str(key)) + _written(held) for key, held in value.items())
    return len(value) if isinstance(value, str) else len(str(value))


def portable(messages: Sequence[Message]) -> list[Message]:
    """Copies without what only the provider that wrote them understands."""
    names: dict[str, str] = {}
    fresh = unused_ids("call", ids_in(messages))

    def name(given: str) -> str:
        if given not in names:
            names[given] = given if _NAME.fullmatch(given) else next(fresh)
        return names[given]

    return [_portable(message, name) for message in messages]


def _portable(message: Message, name: Callable[[str], str]) -> Message:
    kept = deepcopy(_without_own(message))
    if "tool_calls" in kept:
        kept["tool_calls"] = [
            {**_without_own(call), "id": name(call["id"]), "function": _without_own(call["function"])}
            for call in kept["tool_calls"]
        ]
    if "tool_call_id" in kept:
        kept["tool_call_id"] = name(kept["tool_call_id"])
    return kept


def _without_own(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in PROVIDERS_OWN}


def copied(value: Any) -> Any:
    """A copy of all dictionaries and lists in a value; what else is in it stays the same object."""
    if isinstance(value, Mapping):
        return {key: copied(held) for key, held in value.items()}
    return [copied(held) for held in value] if isinstance(value, list | tuple) else value


def ids_in(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of all calls in messages, and of those that they answer."""
    found: set[str] = set()
    for message in messages:
        found |= {str(call.get("id")) for call in message.get("tool_calls") or ()}
        found.add(str(message.get("tool_call_id")))
    return found


def is_providers(call_id: Any) -> bool:
    """Whether a call is one that the provider has answered itself: litellm hands on Anthropic's among the others."""
    return str(call_id or "").startswith("srvtoolu_")


def unused_ids(kind: str, taken: Iterable[str]) -> Iterator[str]:
    """Ids for calls that have none, always the same ones for the same conversation.

    Args:
        kind: What they begin with.
        taken: Ids that they must not repeat.
    """
    held = set(taken)
    return (made for number in count(1) if (made := f"{kind}_{number}") not in held)


def accepted_name(name: str) -> str:
    """A function's name that every provider takes back; the call's result says what was wrong with another."""
    return name if _FUNCTION.fullmatch(name) else "unknown"


def summed(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What several answers came to together: numbers add up, what else they tell is the last one's."""
    total: dict[str, Any] = {}
    for counted in counts:
        for name, value in counted.items():
            before = total.get(name)
            if isinstance(value, Mapping):
                total[name] = summed([before or {}, value])
            elif isinstance(value, int | float) and not isinstance(value, bool):
                total[name] = value + (before or 0)
            elif value is not None or name not in total:
                total[name] = value
    return total
