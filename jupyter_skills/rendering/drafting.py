"""A request that was not sent, for a person to read."""

from __future__ import annotations

import json
from typing import Any

from jupyter_skills.models.client import ModelRequest

_LONGEST_DATA = 100


def draft_text(request: ModelRequest) -> str:
    """The request as JSON, as the provider's library would get it; of pictures only the beginning."""
    fields: dict[str, Any] = {"model": request.model, "messages": list(request.messages)}
    if request.tools:
        fields["tools"] = list(request.tools)
    fields |= {"stream": request.stream, **request.arguments}
    return json.dumps(_readable(fields), ensure_ascii=False, indent=2, default=str)


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _readable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(each) for each in value]
    if isinstance(value, str) and value.startswith("data:") and len(value) > _LONGEST_DATA:
        return f"{value[:_LONGEST_DATA]}… ({len(value):,} characters)"
    return value
