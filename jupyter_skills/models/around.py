"""Clients that ask another, and do something of their own with its answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from jupyter_skills.models.client import ModelClient, ModelFacts, ModelReply, ModelRequest, Piece


class Around:
    """What such a client leaves to the other: all but ``answer``.

    Args:
        client: Reaches the model.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def facts(self, model: str, arguments: Mapping[str, Any]) -> ModelFacts:
        """See ``ModelClient``."""
        return await self._client.facts(model, arguments)

    async def count(self, request: ModelRequest) -> int:
        """See ``ModelClient``."""
        return await self._client.count(request)

    def draft(self, request: ModelRequest) -> ModelRequest:
        """See ``ModelClient``."""
        return self._client.draft(request)


class SameContainer(Around):
    """Keeps to the provider's own container, from the first answer that names one. Implements ``ModelClient``.

    For one turn. Source: Anthropic API reference, "Create a Message", container.
    """

    def __init__(self, client: ModelClient) -> None:
        super().__init__(client)
        self._id: str | None = None

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """See ``ModelClient``."""
        if self._id:
            given = request.arguments.get("container")
            kept = {**given, "id": self._id} if isinstance(given, Mapping) else self._id
            request = replace(request, arguments={**request.arguments, "container": kept})
        async with aclosing(self._client.answer(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    self._id = _container_in(piece.raw) or self._id
                yield piece


def _container_in(response: Any) -> str | None:
    """The id of the container that a response names, in either shape."""
    if response is None:
        return None
    holder: Any = response
    if not isinstance(response, Mapping):
        holder = getattr(response.choices[0].message, "provider_specific_fields", None) or {}
    container = holder.get("container")
    return str(container["id"]) if isinstance(container, Mapping) and container.get("id") else None
