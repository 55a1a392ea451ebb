"""``acompletion`` and ``completion``: litellm's own calls, with skills and a place to run their code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from jupyter_skills.agent.assembly import SkillLike, Wishes
from jupyter_skills.agent.served import Served, checked, plain, served, serving
from jupyter_skills.agent.sync import pieces_of, run_apart
from jupyter_skills.errors import UsageProblem
from jupyter_skills.models import litellm_answers
from jupyter_skills.models.client import Message
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
    checked(messages, arguments)
    settings = JupyterSkills()
    if isinstance(timeout, int | float):
        settings.request_timeout = timeout
    elif timeout is not None:
        raise UsageProblem("'timeout' is not a number", "Give seconds, as in timeout=60")
    said = plain(messages)
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
    return CompletionStream(wishes, said) if stream else _told(await served(wishes, said))


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
    return pieces_of(made) if stream else made


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
        number = f"chatcmpl-{uuid4()}"
        async with aclosing(serving(wishes, said)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Served):
                    self.response = _told(piece)
                else:
                    yield await litellm_answers.chunk(number, wishes.model or "", piece)
        yield await litellm_answers.last_chunk(number, self.response)


def _told(done: Served) -> Any:
    """The response, with what a caller of ours may ask of it beyond litellm's own."""
    response = done.response
    response.files, response.messages, response.code = list(done.answer.files), list(done.added), list(done.answer.code)
    return response
