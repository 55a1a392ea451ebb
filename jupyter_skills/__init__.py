"""Agent Skills in notebooks.

``%load_ext jupyter_skills``, ``%skill load NAME``, then ``%%ask`` in plain words. Everything public is
imported at its first use: importing the package itself costs next to nothing, which the Jupyter server
and ``%load_ext`` rely on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_skills.agent.answer import Answer
    from jupyter_skills.agent.ask import ask
    from jupyter_skills.agent.completion import acompletion, completion
    from jupyter_skills.errors import SkillsError
    from jupyter_skills.litellm_hook import install_litellm_hook, remove_litellm_hook
    from jupyter_skills.runtime import tool
    from jupyter_skills.skills.skill import Skill
    from jupyter_skills.skills.validation import validate
    from jupyter_skills.store.registry import Registry
    from jupyter_skills.store.store import SkillStore

__version__ = "0.1.0.dev0"

__all__ = [
    "Answer",
    "Registry",
    "Skill",
    "SkillStore",
    "SkillsError",
    "acompletion",
    "ask",
    "completion",
    "install_litellm_hook",
    "remove_litellm_hook",
    "tool",
    "validate",
]

_HOMES = {
    "Answer": "jupyter_skills.agent.answer",
    "Registry": "jupyter_skills.store.registry",
    "Skill": "jupyter_skills.skills.skill",
    "SkillStore": "jupyter_skills.store.store",
    "SkillsError": "jupyter_skills.errors",
    "acompletion": "jupyter_skills.agent.completion",
    "ask": "jupyter_skills.agent.ask",
    "completion": "jupyter_skills.agent.completion",
    "install_litellm_hook": "jupyter_skills.litellm_hook",
    "remove_litellm_hook": "jupyter_skills.litellm_hook",
    "tool": "jupyter_skills.runtime",
    "validate": "jupyter_skills.skills.validation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by IPython for ``%load_ext jupyter_skills``."""
    import_module("jupyter_skills.notebook.extension").load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by IPython for ``%unload_ext jupyter_skills``; leaves the shell as it was found."""
    import_module("jupyter_skills.notebook.extension").unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Called by jupyter_server at its start."""
    return [{"module": "jupyter_skills", "app": import_module("jupyter_skills.server.app").SkillsExtension}]
