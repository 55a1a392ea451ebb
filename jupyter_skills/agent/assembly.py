"""Putting a turn together from what the user said and what is set."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Emit, Notice, discard
from jupyter_skills.agent.executor import Isolated
from jupyter_skills.agent.limits import Limits
from jupyter_skills.agent.prompt.catalog import budget, catalog
from jupyter_skills.agent.prompt.system import IN_A_NOTEBOOK, given_at_once, system_sections
from jupyter_skills.agent.router import Router
from jupyter_skills.agent.shelf import Shelf
from jupyter_skills.agent.tools import Keep, Toolbox
from jupyter_skills.agent.turn import Turn
from jupyter_skills.context.secrets import Redactor
from jupyter_skills.errors import ModelNotChosen, UsageProblem
from jupyter_skills.models.client import ModelClient, ModelFacts
from jupyter_skills.sandbox.contract import Sandbox
from jupyter_skills.settings import JupyterSkills
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.finding import resolve
from jupyter_skills.store.loaded import LoadedSkill

SkillLike = str | Path | Skill | LoadedSkill


@dataclass(frozen=True)
class Wishes:
    """What is wanted of a turn. What is not said is taken from the settings.

    Args:
        model: Any model that litellm knows.
        skills: The skills to put before it.
        run: Where code runs, if the user says so for this turn.
        opening: What the system message begins with.
        system: More text for it.
        steps: How many requests may be sent.
        cost: US dollars they may cost.
        seconds: How long it may all take.
        stream: Whether text is wanted piece by piece.
        arguments: More keyword arguments for the provider, before those of the settings.
        others: Tools of the caller's own; see ``Turn``.
        compacts: See ``Turn``.
        router: Where code runs; if not given, a sandbox is made for the turn and ended after it.
        isolated: Called for that sandbox; one with the usual limits if not given.
        client: Reaches the model; litellm if not given.
        redactor: Takes secrets out of all that is sent; the environment's if not given.
        emit: Told of everything that happens.
        keep: Called with each file that code made; see ``Toolbox``.
        settings: Where the rest comes from; the environment and the defaults if not given.
    """

    model: str | None = None
    skills: Sequence[SkillLike] = ()
    run: str | None = None
    opening: str = IN_A_NOTEBOOK
    system: str = ""
    steps: int | None = None
    cost: float | None = None
    seconds: float | None = None
    stream: bool = True
    arguments: Mapping[str, Any] = field(default_factory=dict)
    others: Sequence[Mapping[str, Any]] = ()
    compacts: bool = True
    router: Router | None = None
    isolated: Callable[[], Isolated] | None = None
    client: ModelClient | None = None
    redactor: Redactor | None = None
    emit: Emit = discard
    keep: Keep = lambda file: file
    settings: JupyterSkills | None = None


@asynccontextmanager
async def turn_for(wishes: Wishes, conversation: Conversation, loaded: Sequence[str] = ()) -> AsyncIterator[Turn]:
    """Makes a turn; what was made for it alone is ended with the block.

    Args:
        wishes: What is wanted.
        conversation: What was said before: it knows which skills the model has loaded.
        loaded: The names of those that it has loaded beyond these.

    Raises:
        SkillsError: It can't be had so.
    """
    settings = wishes.settings or JupyterSkills()
    model = wishes.model or settings.model
    if not model:
        raise ModelNotChosen(
            "No model is chosen", "Name one with -m, or set JupyterSkills.model or JUPYTER_SKILLS_MODEL"
        )
    emit = wishes.emit
    arguments = {**settings.model_arguments(), **wishes.arguments}
    redactor = wishes.redactor or Redactor.of(os.environ)
    redactor.learn_settings(arguments)
    redact = _redacting(redactor, emit)
    client = wishes.client or _usual_client(settings.tool_calls, settings.tries)
    facts = _facts(await client.facts(model, arguments), settings)
    entries = [await _loaded(skill) for skill in wishes.skills]
    conversation.continued_by(model)
    router, own = wishes.router, None
    if router is None:
        isolated = wishes.isolated or _usual_isolated
        router, own = _own_router(wishes.run or settings.place, isolated, forced=wishes.run is not None)
    try:
        given = [entry.skill.name for entry in entries if given_at_once(entry, settings.disclosure)]
        shelf = Shelf(entries, conversation, given)
        for name in shelf.names:
            if name in loaded:
                shelf.activate(name)
        listed = [entry.skill for entry in entries if entry.skill.name not in given]
        listing = catalog(listed, budget(settings.catalog_share, facts.context))
        if listing.notice:
            emit(Notice(listing.notice))
        bodies = [shelf.open(name) for name in given]
        sections = system_sections(
            router.default, listing, bodies, shelf.changed, opening=wishes.opening, more=wishes.system
        )
        yield Turn(
            model=model,
            system=[replace(section, text=redact(section.text)) for section in sections],
            toolbox=Toolbox(shelf, router, emit, wishes.keep),
            client=client,
            emit=emit,
            facts=facts,
            limits=Limits(
                settings.max_steps if wishes.steps is None else wishes.steps,
                settings.max_cost if wishes.cost is None else wishes.cost,
                wishes.seconds,
            ),
            redact=redact,
            stream=wishes.stream,
            timeout=settings.request_timeout,
            arguments=arguments,
            others=wishes.others,
            compacts=wishes.compacts,
        )
    finally:
        if own is not None:
            await own.stop()


def _facts(facts: ModelFacts, settings: JupyterSkills) -> ModelFacts:
    """What is known of the model, or what the user knows better."""
    sees = facts.sees if settings.vision == "auto" else settings.vision == "yes"
    return replace(facts, sees=sees, context=settings.context or facts.context)


def _redacting(redactor: Redactor, emit: Emit) -> Callable[[str], str]:
    """The redactor, told of once for each secret that it finds."""
    told = 0

    def redact(text: str) -> str:
        nonlocal told
        clean = redactor.redact(text)
        if fresh := redactor.found[told:]:
            told += len(fresh)
            emit(Notice(f"Kept from the model as a secret: {', '.join(fresh)}."))
        return clean

    return redact


@cache  # it remembers which models take no tools
def _usual_client(tool_calls: str, tries: int) -> ModelClient:
    from jupyter_skills.models.usual import usual_client

    return usual_client(tool_calls, tries)


def _own_router(place: str, isolated: Callable[[], Isolated], *, forced: bool) -> tuple[Router, Sandbox | None]:
    if place == "off":
        return Router(None), None
    if place != "docker":
        raise UsageProblem(f"Code can't run in '{place}' here", "Use run='docker' or run='off'")
    executor = isolated()
    return Router(executor, forced=forced), executor.sandbox


def _usual_isolated() -> Isolated:
    from jupyter_skills.sandbox.kernel import IsolatedKernel
    from jupyter_skills.sandbox.settings import DockerSandbox

    limits = DockerSandbox()
    return Isolated(IsolatedKernel(limits), limits.timeout)


async def _loaded(skill: SkillLike) -> LoadedSkill:
    if isinstance(skill, LoadedSkill):
        return skill
    # The store may let one wait, which must not hold up the loop.
    return LoadedSkill(skill if isinstance(skill, Skill) else await asyncio.to_thread(resolve, str(skill)))
