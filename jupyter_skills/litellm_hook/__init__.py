"""Skills in plain litellm calls, and in a LiteLLM proxy: ``container={"skills": […]}``.

Importing this imports no litellm and changes nothing; ``install_litellm_hook`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_skills.litellm_hook.hook import SkillsHook
    from jupyter_skills.sandbox.settings import DockerSandbox
    from jupyter_skills.store.store import SkillStore

    skills_hook: SkillsHook

MOST_SANDBOXES = 8
"""How many the calls of one hook may have at once where nobody has said so."""

__all__ = ["install_litellm_hook", "remove_litellm_hook", "skills_hook"]


def install_litellm_hook(
    *,
    store: SkillStore | None = None,
    user: str | None = None,
    max_steps: int | None = None,
    max_cost: float | None = None,
    sandbox: DockerSandbox | None = None,
    most_sandboxes: int = MOST_SANDBOXES,
) -> None:
    """Lets ``litellm.acompletion`` and ``litellm.anthropic.messages.acreate`` take skills of ours.

    From then on a call with ``container={"skills": [{"type": "custom", "skill_id": "litellm:ID_OR_NAME"}]}`` puts these
    skills before the model, runs the code that it calls for in a sandbox of the call's own, and returns the finished
    answer with ``_litellm_generated_files``. Calls without are left alone. Sync calls of litellm have no hooks: those
    with such a container are refused; ``jupyter_skills.completion`` is the sync way.

    To install it again changes what is given here, and nothing else.

    Args:
        store: Where skills are looked up; the environment's store if not given.
        user: Whose skills; see ``SkillStore``. In a proxy it is the proxy's user, whatever is said here.
        max_steps: How many requests one call may send to the model; 20 if not given.
        max_cost: US dollars that they may cost together.
        sandbox: What each call's sandbox is held to, as in ``DockerSandbox(timeout=30)``.
        most_sandboxes: How many sandboxes there may be at once; code of further calls waits.

    Raises:
        UsageProblem: A limit makes no sense, or this release of litellm is too old.
    """
    from jupyter_skills.litellm_hook.installation import install

    install(
        store=store,
        user=user,
        max_steps=max_steps,
        max_cost=max_cost,
        sandbox=sandbox,
        most_sandboxes=most_sandboxes,
    )


def remove_litellm_hook() -> None:
    """Leaves litellm as it was found; does nothing if the hook is not installed. Calls at work are finished."""
    from jupyter_skills.litellm_hook.installation import remove

    remove()


def __getattr__(name: str) -> Any:
    """``skills_hook``: the callback that a proxy's configuration names, made when it is asked for."""
    if name != "skills_hook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from jupyter_skills.litellm_hook.installation import callback

    return callback()
