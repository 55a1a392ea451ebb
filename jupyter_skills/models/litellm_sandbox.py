"""The sandbox providers that litellm knows, such as E2B and OpenSandbox."""

from __future__ import annotations

from typing import Any

from jupyter_skills.models.litellm_import import imported

_LIFETIME = 3600


class LitellmSandboxes:
    """A sandbox provider by its name in litellm, for ``sandbox/remote/provider.py``.

    Args:
        name: Its name, such as ``e2b`` or ``opensandbox``.
        lifetime: Seconds after which it ends a sandbox by itself, also should this process be killed.
        **options: What litellm passes on to it, such as ``api_key``, ``api_base``, ``template``.
    """

    def __init__(self, name: str, *, lifetime: int = _LIFETIME, **options: Any) -> None:
        self._name = name
        self._lifetime = lifetime
        self._options = {"provider": name, **options}
        self._keys = {key: value for key, value in self._options.items() if key in ("provider", "api_key", "api_base")}

    def __str__(self) -> str:
        """The provider's name, for errors."""
        return f"'{self._name}'"

    async def acreate_sandbox(self) -> Any:
        """Creates a sandbox, and returns litellm's handle to it."""
        return await (await imported()).acreate_sandbox(timeout=self._lifetime, **self._options)

    async def arun_code(self, *, container: Any, code: str) -> Any:
        """Runs code in the sandbox of a handle."""
        return await (await imported()).arun_code(container=container, code=code, **self._keys)

    async def adelete_sandbox(self, *, container: Any) -> Any:
        """Deletes the sandbox of a handle."""
        return await (await imported()).adelete_sandbox(container=container, **self._keys)
