"""``acompletion`` and ``completion``: litellm's own calls, with skills and a place to run their code."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from jupyter_skills.agent.assembly import SkillLike, Wishes, turn_for
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Event, TextDone
from jupyter_skills.agent.prompt.system import Section
from jupyter_skills.agent.sync import run_apart
from jupyter_skills.agent.tool_names import skill_loaded_by
from jupyter_skills.errors import UsageProblem
from jupyter_skills.models import litellm_answers
from jupyter_skills.models.client import Message, TextDelta
from jupyter_skills.models.messages import answered_calls, function_name
from jupyter_skills.settings import JupyterSkills

_OURS = ("stream_options",)  # usage always comes


async def acompletion(
    model: str | None = None,
    messages: Sequence[Mapping[str, Any]] = (),
    *,
    skills: Sequence[SkillLike] = (),
    run: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    stream: bool = False,
    timeout: float | None = None,
    max_steps: int | None = None,
    max_cost: float | None = None,
    **arguments: Any,
) -> Any:
    """``litellm.acompletion`` with skills: what the model calls for is done, until it has finished.

    What the caller gives is not changed. Messages are sent as they are, each time with all parameters.

    Args:
        model: Any model that litellm knows; ``JUPYTER_SKILLS_MODEL`` if not given.
        messages: The conversation, as litellm takes it.
        skills: The skills to put before the model: names, folders or skills.
        run: ``docker``, in a sandbox of this call's own, or ``off``.
        tools: Tools of the caller's own. When the model calls one, the response comes back with just these calls;
            to go on, add ``response.messages`` and their results to the messages.
        stream: Whether to return an async iterator of litellm's chunks instead; see ``CompletionStream``.
        timeout: Seconds that the model may take for each request.
        max_steps: How many requests may be sent.
        max_cost: US dollars that they may cost together.
        arguments: Whatever else litellm takes.

    Returns:
        A ``litellm.ModelResponse``: the last answer, with the usage of all requests. Beyond litellm's own it has
        ``files`` (what the code made), ``messages`` (what to add to the conversation) and ``code`` (what ran). Its
        finish reason is the provider's, or ``max_steps`` or ``max_cost``.

    Raises:
        SkillsError: Something went wrong; litellm's own error, if it was one, is its ``__cause__``.
    """
    if arguments.get("n") not in (1, None):
        raise UsageProblem("Code can't run for several answers at once", "Leave 'n' out")
    if not messages:
        raise UsageProblem("There are no messages", "Give at least one, as in [{'role': 'user', 'content': '…'}]")
    settings = JupyterSkills()
    if isinstance(timeout, int | float):
        settings.request_timeout = timeout
    elif timeout is not None:
        raise UsageProblem("'timeout' is not a number", "Give seconds, as in timeout=60")
    said = [copy.deepcopy(dict(message)) for message in messages]
    wishes = Wishes(
        model=model or settings.model,
        skills=skills,
        run=run,
        opening="",
        steps=max_steps,
        cost=max_cost,
        stream=stream,
        arguments={name: value for name, value in arguments.items() if name not in _OURS},
        others=tuple(tools or ()),
        compacts=False,
        settings=settings,
    )
    return CompletionStream(wishes, said) if stream else await _response(wishes, said)


def completion(
    model: str | None = None, messages: Sequence[Mapping[str, Any]] = (), *, stream: bool = False, **more: Any
) -> Any:
    """``acompletion`` for code that can't await; it works inside a running event loop too.

    Raises:
        AskInterrupted: The user stopped it.
        SkillsError: See ``acompletion``.
    """

    async def whole() -> Any:
        return await acompletion(model, messages, stream=stream, **more)

    made = run_apart(whole)
    return _pieces(made) if stream else made


class CompletionStream:
    """The chunks of an answer as they come: ``async for chunk in await acompletion(…, stream=True)``.

    After the last one, ``response`` is what the call would have returned without ``stream``.

    Args:
        wishes: What is wanted of the turn.
        said: The messages.
    """

    def __init__(self, wishes: Wishes, said: list[Message]) -> None:
        self._chunks = self._made(wishes, said)
        self.response: Any = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        """Stops the model and the code; for those who leave the loop early."""
        await self._chunks.aclose()

    async def _made(self, wishes: Wishes, said: list[Message]) -> AsyncGenerator[Any, None]:
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        number = f"chatcmpl-{uuid4()}"
        turn = asyncio.create_task(_response(replace(wishes, emit=events.put_nowait), said))
        turn.add_done_callback(lambda _: events.put_nowait(None))
        between = ""
        try:
            while (event := await events.get()) is not None:
                if isinstance(event, TextDelta):
                    yield await litellm_answers.chunk(number, wishes.model or "", between + event.text)
                    between = ""
                elif isinstance(event, TextDone):
                    between = "\n\n"
            self.response = await turn
        finally:
            turn.cancel()
            await asyncio.wait({turn})
        yield await litellm_answers.last_chunk(number, self.response)


async def _response(wishes: Wishes, said: list[Message]) -> Any:
    conversation = Conversation()
    async with turn_for(wishes, conversation, loaded=_loaded_in(said)) as turn:
        if own := _leading_system(said):
            turn = replace(turn, system=[Section("the caller's system message", own), *turn.system])
        answer = await turn.take(said, conversation)
    added = answer.messages[len(said) :]
    others = {function_name(tool) for tool in wishes.others}
    last = next((message for message in reversed(added) if message["role"] == "assistant"), {})
    left = [call for call in last.get("tool_calls") or () if call["function"]["name"] in others]
    return await litellm_answers.response(
        answer.raw if added else await litellm_answers.empty(answer.model),
        {**last, "tool_calls": left},
        answer.finish_reason,
        answer.usage,
        answer.cost,
        {"files": list(answer.files), "messages": list(added), "code": list(answer.code)},
    )


def _leading_system(said: list[Message]) -> str:
    """Takes the caller's system message out, for providers that want one only; parts in a list are left alone."""
    if said[0].get("role") == "system" and isinstance(said[0].get("content"), str) and len(said) > 1:
        return str(said.pop(0)["content"])
    return ""


def _loaded_in(said: Sequence[Message]) -> list[str]:
    """The skills that the model has loaded, as far as the caller's messages tell."""
    return [name for call, _ in answered_calls(said) if (name := skill_loaded_by(call))]


def _pieces(stream: CompletionStream) -> Iterator[Any]:
    async def following() -> Any:
        return await anext(stream, None)

    try:
        while (chunk := run_apart(following)) is not None:
            yield chunk
    finally:
        run_apart(stream.aclose)
