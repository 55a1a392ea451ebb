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
class Prices:
    """What a model costs, in US dollars for one token."""

    prompt: float
    completion: float

    def cost(self, usage: Usage) -> float:
        """What so many tokens cost, in US dollars."""
        return usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model; None stands for what is not.

    Args:
        context: How many tokens it takes in.
        most_output: How many tokens it can answer with.
        sees: Whether it takes pictures.
        reads_pdf: Whether it takes PDF documents.
        calls_tools: Whether it can call functions.
        prices: What it costs.
    """

    context: int | None = None
    most_output: int | None = None
    sees: bool | None = None
    reads_pdf: bool | None = None
    calls_tools: bool | None = None
    prices: Prices | None = None


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer's text, as it came."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """A piece of what the model thinks before it answers, where the provider shows it."""

    text: str


@dataclass(frozen=True)
class Pause:
    """The request will be sent once more after a while; nothing of an answer has come yet.

    Args:
        seconds: How long.
        reason: Why, in a few words.
    """

    seconds: float
    reason: str


@dataclass(frozen=True)
class Remark:
    """Something about how the request is being answered that the user should know, in one sentence."""

    text: str


@dataclass(frozen=True)
class ModelReply:
    """A whole answer; the last thing a client yields for a request.

    Args:
        message: The assistant message to put into the conversation.
        tool_calls: The calls in it, in order.
        finish_reason: The provider's reason: ``stop``, ``tool_calls``, ``length``, ``content_filter``…
        usage: What the provider counted; ``Usage()`` says that nobody did, and then the cost isn't known either.
        cost: US dollars, or None where the price is unknown.
        raw: The response as the library that was asked has it, for those who hand it on; None if there is none.
        has_more: Whether the message holds more than text and calls that has to go back.
    """

    message: Message
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = Usage()
    cost: float | None = None
    raw: Any = field(default=None, repr=False, compare=False)
    has_more: bool = False

    @property
    def text(self) -> str:
        """The text of the answer; empty if it has none."""
        return self.message.get("content") or ""


Piece = TextDelta | ReasoningDelta | Pause | Remark | ModelReply


class ModelClient(Protocol):
    """Answers requests. ``ask`` asks for the facts once; a turn calls ``answer`` once for each step."""

    async def facts(self, model: str, arguments: Mapping[str, Any]) -> ModelFacts:
        """What is known of a model, without asking anybody.

        Args:
            model: Its name.
            arguments: The keyword arguments of the requests to come; they may name its prices.
        """
        ...

    async def count(self, request: ModelRequest) -> int:
        """How many tokens a request has, as near as can be told without the provider."""
        ...

    def draft(self, request: ModelRequest) -> ModelRequest:
        """The request as it would be sent; nothing is sent."""
        ...

    def answer(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yields the pieces as they come, then exactly one ``ModelReply``.

        Raises:
            ModelProblem: There is no answer. Pieces may have been yielded before.
        """
        ...
