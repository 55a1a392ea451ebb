"""The settings that say where code runs and who is asked: the user's alone, also while the model's code is at work."""

from __future__ import annotations

from typing import Any

from jupyter_skills.settings import JupyterSkills

_RULES = ("approval", "run")


class Rules:
    """Those settings as they are now.

    Args:
        settings: Where they are.
    """

    def __init__(self, settings: JupyterSkills) -> None:
        self._settings = settings
        self._values = {name: getattr(settings, name) for name in _RULES}
        self._configured = self._section()

    def put_back(self) -> tuple[str, ...]:
        """Makes them what they were; says so of those that were not, one sentence each."""
        changed = [name for name, value in self._values.items() if getattr(self._settings, name) != value]
        for name in changed:
            setattr(self._settings, name, self._values[name])
        for name in self._section().keys() - self._configured.keys():
            del self._settings.config["JupyterSkills"][name]  # or it would count as set by the user from now on
        return tuple(f"JupyterSkills.{name} is for the user alone to set; it was put back." for name in changed)

    def _section(self) -> dict[str, Any]:
        section = self._settings.config.get("JupyterSkills", {})
        return {name: section[name] for name in _RULES if name in section}
