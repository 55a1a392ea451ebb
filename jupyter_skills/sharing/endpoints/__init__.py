"""Skills endpoints of other stores: one small class per shape, all behind one protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from jupyter_skills.sharing.endpoints.anthropic import AnthropicEndpoint
from jupyter_skills.sharing.endpoints.endpoint import Endpoint, RemoteSkill, Shape
from jupyter_skills.sharing.endpoints.keys import credentials
from jupyter_skills.sharing.endpoints.litellm import LiteLLMEndpoint
from jupyter_skills.sharing.endpoints.openai import OpenAIEndpoint
from jupyter_skills.sharing.endpoints.requests import Requests, base_of
from jupyter_skills.sharing.fetched import Limits
from jupyter_skills.sharing.web import connection

__all__ = ["SHAPES", "Endpoint", "RemoteSkill", "Shape", "endpoint_at"]

_KINDS: dict[Shape, Callable[[Requests], Endpoint]] = {
    "anthropic": AnthropicEndpoint,
    "openai": OpenAIEndpoint,
    "litellm": LiteLLMEndpoint,
}
SHAPES: tuple[Shape, ...] = ("anthropic", "openai", "litellm")


@asynccontextmanager
async def endpoint_at(
    address: str | None, shape: Shape, *, key_variable: str | None = None, limits: Limits | None = None
) -> AsyncIterator[Endpoint]:
    """An endpoint, for as long as it is used.

    Args:
        address: Its base address, with or without ``/v1`` at the end; that of the provider itself if not given.
        shape: Whose API it speaks.
        key_variable: The environment variable that holds the key; see ``keys`` for the usual ones.
        limits: Bounds on each answer.

    Raises:
        UsageProblem: The address is none, or there is no key where one is needed.
    """
    base = base_of(address, shape)
    secret, headers = credentials(shape, base, key_variable)
    async with connection(headers) as client:
        yield _KINDS[shape](Requests(client, base, secret, limits or Limits()))
