"""What the tests of models share: each provider's shape, whole and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_skills.models.client import ModelClient, ModelReply, ModelRequest, ReasoningDelta, TextDelta
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.testing import ScriptedModel

HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(params=["openai", "anthropic", "gemini"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def request_to(model: ScriptedModel, provider: str, *, stream: bool = True, **more: Any) -> ModelRequest:
    base = model.url if provider == "openai" else model.root
    fields = {"messages": HELLO, "tools": [TOOL], "timeout": 30.0, **more}
    return ModelRequest(f"{provider}/scripted", stream=stream, arguments={"api_base": base}, **fields)


async def answer(request: ModelRequest, client: ModelClient | None = None) -> tuple[list[str], ModelReply]:
    """The texts as they came, and the reply; other pieces are left out."""
    *pieces, reply = [piece async for piece in (client or LitellmClient()).answer(request)]
    assert isinstance(reply, ModelReply)
    assert not any(isinstance(piece, ModelReply) for piece in pieces)
    texts = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
    assert "".join(texts) == reply.text
    thoughts = [piece.text for piece in pieces if isinstance(piece, ReasoningDelta)]
    assert "".join(thoughts) == (reply.message.get("reasoning_content") or "")
    return texts, reply
