"""``await ask("…")``: what ``%%ask`` calls, and what Python code calls without a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.catalog import budget, catalog
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Emit, Notice, discard
from jupyter_skills.agent.executor import Isolated
from jupyter_skills.agent.prompt import given_at_once, system_message
from jupyter_skills.agent.router import Router
from jupyter_skills.agent.shelf import Shelf
from jupyter_skills.agent.tools import Keep, Toolbox
from jupyter_skills.agent.turn import Turn
from jupyter_skills.errors import ModelNotChosen, UsageProblem
from jupyter_skills.models.client import ModelClient
from jupyter_skills.sandbox.contract import Sandbox
from jupyter_skills.settings import JupyterSkills
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.finding import resolve
from jupyter_skills.store.loaded import LoadedSkill


async def ask(
    prompt: str,
    *,
    skills: Sequence[str | Path | Skill | LoadedSkill] = (),
    model: str | None = None,
    run: str | None = None,
    system: str = "",
    max_steps: int | None = None,
    timeout: float | None = None,
    stream: bool = True,
    conversation: Conversation | None = None,
    router: Router | None = None,
    client: ModelClient | None = None,
    emit: Emit = discard,
    keep: Keep = lambda file: file,
    settings: JupyterSkills | None = None,
) -> Answer:
    """Asks a model, with skills at hand and a place to run their code.

    Args:
        prompt: What is asked, in plain words.
        skills: The skills to put before the model: names, folders or skills.
        model: Any model that litellm knows; the configured one if not given.
        run: ``docker`` or ``off``; ``live`` needs a ``router``, which the notebook gives.
        system: More text for the system message.
        max_steps: How many requests may be sent.
        timeout: Seconds that the model may take for each request.
        stream: Whether the answer is wanted piece by piece, as events.
        conversation: What was said before; the exchange is added to it.
        router: Where code runs; if not given, a sandbox is made for this call and ended after it.
        client: Reaches the model; litellm if not given.
        emit: Told of everything that happens meanwhile.
        keep: Called with each file that the code made; see ``Toolbox``.
        settings: Where to take what is not given; the environment and the defaults if not given.

    Raises:
        SkillsError: Something went wrong; the error says what, and what to do.
    """
    if not prompt.strip():
        raise UsageProblem("There is nothing to ask", "Write the question after %%ask, from the second line on")
    settings = settings or JupyterSkills()
    model = model or settings.model
    if not model:
        raise ModelNotChosen(
            "No model is chosen", "Name one with -m, or set JupyterSkills.model or JUPYTER_SKILLS_MODEL"
        )
    loaded = [await _loaded(skill) for skill in skills]
    if client is None:
        from jupyter_skills.models.litellm_client import LitellmClient

        client = LitellmClient()
    conversation = conversation if conversation is not None else Conversation()
    own = None
    if router is None:
        router, own = _own_router(run or settings.place, forced=run is not None)
    try:
        given = [entry.skill.name for entry in loaded if given_at_once(entry, settings.disclosure)]
        shelf = Shelf(loaded, conversation, given)
        listed = [entry.skill for entry in loaded if entry.skill.name not in given]
        room = budget(settings.catalog_share, await client.context(model)) if listed else 0
        listing = catalog(listed, room)
        if listing.notice:
            emit(Notice(listing.notice))
        bodies = [shelf.open(name) for name in given]
        turn = Turn(
            model=model,
            system=system_message(router.default, listing, bodies, shelf.changed, system),
            toolbox=Toolbox(shelf, router, emit, keep),
            client=client,
            emit=emit,
            max_steps=max_steps or settings.max_steps,
            stream=stream,
            timeout=timeout or settings.request_timeout,
            arguments=settings.model_arguments(),
        )
        return await turn.take(prompt, conversation)
    finally:
        if own is not None:
            await own.stop()


def _own_router(place: str, *, forced: bool) -> tuple[Router, Sandbox | None]:
    if place == "off":
        return Router(None), None
    if place != "docker":
        raise UsageProblem(f"Code can't run in '{place}' here", "Use run='docker' or run='off'")
    from jupyter_skills.sandbox.kernel import IsolatedKernel
    from jupyter_skills.sandbox.settings import DockerSandbox

    limits = DockerSandbox()
    sandbox = IsolatedKernel(limits)
    return Router(Isolated(sandbox, limits.timeout), forced=forced), sandbox


async def _loaded(skill: str | Path | Skill | LoadedSkill) -> LoadedSkill:
    if isinstance(skill, LoadedSkill):
        return skill
    # The store may let one wait, which must not hold up the loop.
    return LoadedSkill(skill if isinstance(skill, Skill) else await asyncio.to_thread(resolve, str(skill)))
