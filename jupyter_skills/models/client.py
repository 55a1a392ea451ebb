"""The contract between a turn and whatever answers it.

Messages and tools have the shape of OpenAI's chat completions, which litellm translates for every
other provider.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Message = dict[str, Any]


@dataclass(frozen=True)
class ModelRequest:
    """One request to a model.

    Args:
        model: The model's name, with its provider's prefix where litellm needs one.
        messages: The whole conversation; the client must not change it.
        tools: The tools on offer; the client must not change them.
        stream: Whether the answer is wanted piece by piece.
        timeout: Seconds until the request is given up.
        arguments: More keyword arguments for the provider, passed through.
    """

    model: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    stream: bool = True
    timeout: float = 120.0
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolCall:
    """What the model wants run.

    Args:
        id: The provider's name for this call; its result must carry the same.
        name: The tool.
        arguments: Its arguments as the model wrote them: JSON if all is well.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens, as the provider counts them. They add up."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)

    @property
    def total_tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer's text, as it came."""

    text: str


@dataclass(frozen=True)
class ModelReply:
    """A whole answer; the last thing a client yields for a request.

    Args:
        message: The assistant message to put into the conversation.
        tool_calls: The calls in it, in order.
        finish_reason: The provider's reason: ``stop``, ``tool_calls``, ``length``, ``content_filter``…
        usage: What the provider counted.
        cost: US dollars, or None where the price is unknown.
    """

    message: Message
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = Usage()
    cost: float | None = None

    @property
    def text(self) -> str:
        """The text of the answer; empty if it has none."""
        return self.message.get("content") or ""


class ModelClient(Protocol):
    """Answers requests. ``ask`` asks for the context once; a turn calls ``answer`` once for each step."""

    async def context(self, model: str) -> int | None:
        """How many tokens a model takes in; None if it is not known."""
        ...

    def answer(self, request: ModelRequest) -> AsyncGenerator[TextDelta | ModelReply, None]:
        """Yields the pieces of text as they come, then exactly one ``ModelReply``.

        Raises:
            ModelProblem: There is no answer. Pieces may have been yielded before.
        """
        ...
