"""``await ask("…")``: what ``%%ask`` calls, and what Python code calls without a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.assembly import SkillLike, Wishes, turn_for
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Drafted, Emit, Ended, Notice, discard
from jupyter_skills.agent.prompt.content import content_of, not_sent
from jupyter_skills.agent.router import Router
from jupyter_skills.agent.tools import Keep
from jupyter_skills.agent.turn import Turn
from jupyter_skills.context.attachments import attached
from jupyter_skills.context.parts import Part
from jupyter_skills.context.secrets import Redactor, without_secrets
from jupyter_skills.errors import UsageProblem
from jupyter_skills.models.client import Message, ModelClient
from jupyter_skills.settings import JupyterSkills


async def ask(
    prompt: str | Sequence[Part],
    *,
    skills: Sequence[SkillLike] = (),
    model: str | None = None,
    run: str | None = None,
    system: str = "",
    attach: Sequence[str | Path] = (),
    max_steps: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    stream: bool = True,
    dry_run: bool = False,
    conversation: Conversation | None = None,
    router: Router | None = None,
    client: ModelClient | None = None,
    redactor: Redactor | None = None,
    emit: Emit = discard,
    keep: Keep = lambda file: file,
    settings: JupyterSkills | None = None,
) -> Answer:
    """Asks a model, with skills at hand and a place to run their code.

    Args:
        prompt: What is asked, in plain words; or in parts, with pictures among them.
        skills: The skills to put before the model: names, folders or skills.
        model: Any model that litellm knows; the configured one if not given.
        run: ``docker`` or ``off``; ``live`` needs a ``router``, which the notebook gives.
        system: More text for the system message.
        attach: Files to put before the model: text, pictures, PDF documents, notebooks; patterns too.
        max_steps: How many requests may be sent.
        max_cost: US dollars that they may cost together; a request that could exceed it is not sent.
        timeout: Seconds that it may all take; a single request has ``JupyterSkills.request_timeout``.
        stream: Whether the answer is wanted piece by piece, as events.
        dry_run: Send nothing; the answer's ``messages`` are those that would be sent.
        conversation: What was said before; the exchange is added to it.
        router: Where code runs; if not given, a sandbox is made for this call and ended after it.
        client: Reaches the model; litellm if not given.
        redactor: Takes secrets out of all that is sent; those of the environment if not given.
        emit: Told of everything that happens meanwhile.
        keep: Called with each file that the code made; see ``Toolbox``.
        settings: Where to take what is not given; the environment and the defaults if not given.

    Returns:
        The answer. One that reached a limit says so in its ``finish_reason``, and has what there was until then.

    Raises:
        SkillsError: Something went wrong; the error says what, and what to do.
    """
    parts: list[Part] = [prompt] if isinstance(prompt, str) else list(prompt)
    for path in attach:
        parts += ["\n\n", *await asyncio.to_thread(attached, path)]
    if not any(part.strip() if isinstance(part, str) else True for part in parts):
        raise UsageProblem("There is nothing to ask", "Write a question")
    conversation = conversation if conversation is not None else Conversation()
    branch = conversation.branch()
    wishes = Wishes(
        model=model,
        skills=skills,
        run=run,
        system=system,
        steps=max_steps,
        cost=max_cost,
        seconds=timeout,
        stream=stream,
        router=router,
        client=client,
        redactor=redactor,
        emit=emit,
        keep=keep,
        settings=settings,
    )
    try:
        async with turn_for(wishes, branch) as turn:
            said: list[Message] = [{"role": "user", "content": content_of(parts, turn.facts, turn.redact)}]
            if labels := not_sent(parts, turn.facts):
                emit(Notice(_unseen(turn.model, labels)))
            return await (_drafted if dry_run else Turn.take)(turn, said, branch)
    finally:
        conversation.follow(branch)


async def _drafted(turn: Turn, said: Sequence[Message], conversation: Conversation) -> Answer:
    request = turn.client.draft(await turn.first_request(said, conversation))
    answer = Answer("", turn.model, "dry_run", messages=tuple(request.messages))
    turn.emit(Drafted(replace(request, arguments=without_secrets(request.arguments, turn.redact))))
    turn.emit(Ended(answer))
    return answer


def _unseen(model: str, labels: Sequence[str]) -> str:
    return (
        f"{model} is not known to take in {', '.join(labels)}; it gets a description. "
        "If it does see, say so with JupyterSkills.vision = 'yes'."
    )
