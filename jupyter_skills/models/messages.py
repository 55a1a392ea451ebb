"""Messages of a conversation, as another provider takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from jupyter_skills.models.client import Message

PROVIDERS_OWN = ("reasoning_content", "thinking_blocks", "provider_specific_fields")
"""What a provider wants back in the next request beside the text and the calls, and another would refuse."""


# A name of a call that every provider takes: litellm writes Gemini's signatures into these, hundreds of characters.
_NAME = re.compile(r"[\w-]{1,40}", re.ASCII)


def portable(messages: Sequence[Message]) -> list[Message]:
    """Copies without what only the provider that wrote them understands."""
    names: dict[str, str] = {}

    def name(given: str) -> str:
        return names.setdefault(given, given if _NAME.fullmatch(given) else f"call_{len(names)}_anew")

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
