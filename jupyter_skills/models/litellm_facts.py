"""What litellm's own table says of a model, and how long a request is; nobody is asked over the network."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_skills.models.client import ModelFacts, ModelRequest, Prices
from jupyter_skills.models.messages import media_tokens
from jupyter_skills.words import CHARACTERS_PER_TOKEN

PRICES = ("input_cost_per_token", "output_cost_per_token")
"""litellm's names for what a token of the prompt, and one of the answer, costs."""

# Models at home, for which litellm itself finds a price of nothing.
_FREE = ("ollama", "ollama_chat", "lm_studio", "llamafile")


def facts_of(litellm: Any, model: str, arguments: Mapping[str, Any]) -> ModelFacts:
    """See ``ModelClient.facts``."""
    entry, of_provider = _entry(litellm.model_cost, model)
    sees = _flag(entry, "supports_vision")
    if sees is None and entry.get("mode") == "chat":
        sees = False  # the table has the flag for nearly every chat model that does
    free = Prices(0.0, 0.0) if model.partition("/")[0] in _FREE else None
    return ModelFacts(
        context=_number(entry.get("max_input_tokens")) or _number(entry.get("max_tokens")),
        most_output=_number(entry.get("max_output_tokens")),
        sees=sees,
        reads_pdf=_flag(entry, "supports_pdf_input"),
        calls_tools=_flag(entry, "supports_function_calling"),
        prices=prices_in(arguments) or free or (prices_in(entry) if of_provider else None),
    )


def _entry(table: Mapping[str, Mapping[str, Any]], model: str) -> tuple[Mapping[str, Any], bool]:
    """A model's entry, and whether it is that of the provider who was named: others ask other prices."""
    # The table itself: litellm's function that looks things up in it asks some providers over the network.
    provider, slash, _ = model.partition("/")
    for name in _without_prefixes(model):
        if entry := table.get(name):
            listed = str(entry.get("litellm_provider", ""))
            return entry, name == model or not slash or listed.startswith(provider)
    return {}, False


def _without_prefixes(model: str) -> Iterator[str]:
    yield model
    while "/" in model:
        model = model.partition("/")[2]
        yield model


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _flag(entry: Mapping[str, Any], name: str) -> bool | None:
    value = entry.get(name)
    return None if value is None else bool(value)


def prices_in(table: Mapping[str, Any]) -> Prices | None:
    """The prices in a table's entry, or among the arguments of a request, by litellm's names.

    Many a long request costs more for each token; the highest price is taken, for limits are to hold.
    """
    prompt, completion = (_highest(table, name) for name in PRICES)
    return None if prompt is None or completion is None else Prices(prompt, completion)


def _highest(table: Mapping[str, Any], name: str) -> float | None:
    usual = _price(table.get(name))
    tiers = [_price(held) for key, held in table.items() if re.fullmatch(rf"{name}_above_\d+k_tokens", str(key))]
    return None if usual is None else max([usual, *(price for price in tiers if price is not None)])


def _price(value: Any) -> float | None:
    """A price, also if it was written as text; nothing costs an infinite sum, or less than nothing."""
    try:
        price = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return price if math.isfinite(price) and price >= 0 else None


def count_of(litellm: Any, request: ModelRequest) -> int:
    """See ``ModelClient.count``."""
    messages, media = _without_media(request)
    tools = [dict(tool) for tool in request.tools]
    try:
        counted = litellm.token_counter(model=request.model, messages=messages, tools=tools or None)
    except Exception:  # noqa: BLE001 -- litellm's counter knows fewer shapes than its providers take
        counted = -(-len(json.dumps([messages, tools], default=str, ensure_ascii=False)) // CHARACTERS_PER_TOKEN)
    return int(counted) + media


def _without_media(request: ModelRequest) -> tuple[list[dict[str, Any]], int]:
    """The messages without pictures and documents, and an estimate for these."""
    messages: list[dict[str, Any]] = []
    tokens = 0
    for message in request.messages:
        content = message.get("content")
        if isinstance(content, list):
            media = [part for part in content if part.get("type") != "text"]
            tokens += sum(map(media_tokens, media))
            message = {**message, "content": [part for part in content if part.get("type") == "text"]}
        messages.append(message)
    return messages, tokens
