"""A turn whose answer is handed on in the shape of litellm's, whole or as it comes."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.assembly import Wishes, turn_for
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Event, TextDone
from jupyter_skills.agent.pieces import Whole, as_it_comes
from jupyter_skills.agent.prompt.system import Section
from jupyter_skills.agent.tool_names import skill_loaded_by
from jupyter_skills.errors import UsageProblem
from jupyter_skills.models import litellm_answers
from jupyter_skills.models.client import Message, ReasoningDelta, TextDelta
from jupyter_skills.models.messages import answered_calls, function_name, is_providers


@dataclass(frozen=True)
class Served:
    """What came of a turn that was served to a caller of litellm's.

    Args:
        response: A ``litellm.ModelResponse``: the last answer, with the usage of all requests.
        answer: The whole of it.
        added: What to add to the conversation.
    """

    response: Any
    answer: Answer
    added: tuple[Message, ...]


def checked(messages: Sequence[Any], arguments: Mapping[str, Any]) -> None:
    """Refuses what no turn can serve.

    Args:
        messages: The caller's messages.
        arguments: What else goes to the provider.

    Raises:
        UsageProblem: There are no messages, one is none, or several answers are wanted.
    """
    if isinstance(messages, str) or not all(isinstance(m, Mapping) or hasattr(m, "model_dump") for m in messages):
        raise UsageProblem("'messages' is no list of messages", "Write it as [{'role': 'user', 'content': '…'}]")
    if not messages:
        raise UsageProblem("There are no messages", "Give at least one, as in [{'role': 'user', 'content': '…'}]")
    if arguments.get("n") not in (1, None):
        raise UsageProblem("Code can't run for several answers at once", "Leave 'n' out")


def plain(messages: Iterable[Any]) -> list[Message]:
    """A caller's messages as dictionaries of our own; litellm takes its own objects among them too."""
    return [
        message.model_dump(exclude_none=True) if hasattr(message, "model_dump") else copy.deepcopy(dict(message))
        for message in messages
    ]


async def answered(
    wishes: Wishes, said: Sequence[Message], loaded: Sequence[str] = ()
) -> tuple[Answer, tuple[Message, ...]]:
    """Takes a turn over a caller's messages, which keep to what they are.

    Args:
        wishes: What is wanted of the turn.
        said: The messages.
        loaded: The skills that the model has loaded according to them.

    Returns:
        The answer, and what to add to the messages.

    Raises:
        SkillsError: It can't be had.
    """
    said = list(said)
    conversation = Conversation()
    async with turn_for(wishes, conversation, loaded) as turn:
        if own := _leading_system(said):
            turn = replace(turn, system=[Section("the caller's system message", own), *turn.system])
        answer = await turn.take(said, conversation)
    return answer, answer.messages[len(said) :]


async def served(wishes: Wishes, said: Sequence[Message]) -> Served:
    """The same, as litellm answers.

    Raises:
        SkillsError: See ``answered``.
    """
    answer, added = await answered(wishes, said, _loaded_in(said))
    said_so = [message for message in added if message["role"] == "assistant"]
    last = said_so[-1] if said_so and len(said_so) == len(answer.raws) else {}  # an empty answer is none of them
    response = await litellm_answers.response(
        answer.raws or [await litellm_answers.empty(answer.model)],
        {**last, "tool_calls": calls_left(last, wishes.others)},
        answer.finish_reason,
        answer.usage,
        answer.cost,
    )
    return Served(response, answer, added)


async def serving(
    wishes: Wishes, said: Sequence[Message], context: Context | None = None
) -> AsyncGenerator[TextDelta | ReasoningDelta | Served, None]:
    """The same, piece by piece: text and thinking as they come, and what ``served`` returns at the end.

    To leave it early stops the model and the code.

    Args:
        wishes: What is wanted of the turn.
        said: The messages.
        context: What the turn runs in; a copy of the caller's if not given.
    """

    def work(tell: Callable[[Event], None]) -> Coroutine[Any, Any, Served]:
        def emit(event: Event) -> None:
            tell(event)
            wishes.emit(event)

        return served(replace(wishes, emit=emit), said)

    between = ""
    async with aclosing(as_it_comes(work, context)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                yield TextDelta(between + event.text)
                between = ""
            elif isinstance(event, TextDone):
                between = "\n\n"
            elif isinstance(event, ReasoningDelta):
                yield event
            elif isinstance(event, Whole):
                yield event.result


def calls_left(message: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The calls in an assistant's message that are left to the caller, or were the provider's own.

    Args:
        message: The message.
        others: The caller's own tools.
    """
    names = {function_name(tool) for tool in others}
    calls = message.get("tool_calls") or ()
    return [call for call in calls if call["function"]["name"] in names or is_providers(call["id"])]


def _leading_system(said: list[Message]) -> str:
    """Takes the caller's system message out, for providers that want one only; one that says more is left alone."""
    first = said[0]
    plain_text = set(first) == {"role", "content"} and isinstance(first["content"], str)
    return str(said.pop(0)["content"]) if plain_text and first["role"] == "system" and len(said) > 1 else ""


def _loaded_in(said: Sequence[Message]) -> list[str]:
    """The skills that the model has loaded, as far as the caller's messages tell."""
    return [name for call, _ in answered_calls(said) if (name := skill_loaded_by(call))]
