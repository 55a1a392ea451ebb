"""The sandboxes of calls: each has its own, and only so many are there at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from jupyter_skills.agent.executor import Isolated
from jupyter_skills.execution.result import Execution, Language, OnOutput
from jupyter_skills.sandbox.contract import Sandbox, StagedSkill
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.turnstile import Turnstile


class Sandboxes:
    """Makes them.

    Args:
        limits: What each is held to.
        most: How many there may be at once; code of further calls waits for one to be over.
    """

    def __init__(self, limits: DockerSandbox | None, most: int) -> None:
        self._limits = limits
        self._turnstile = Turnstile(most)

    def isolated(self) -> Isolated:
        """One for a call; nothing is started yet."""
        limits = self._limits or DockerSandbox()
        return Isolated(Rationed(IsolatedKernel(limits), self._turnstile), limits.timeout)


class Rationed:
    """A sandbox that waits for a place before it starts, and keeps it until it is stopped. Implements ``Sandbox``.

    Args:
        sandbox: The sandbox.
        turnstile: Gives the places.
    """

    def __init__(self, sandbox: Sandbox, turnstile: Turnstile) -> None:
        self._sandbox = sandbox
        self._turnstile = turnstile
        self._place: AsyncExitStack | None = None

    async def start(self) -> None:
        """See ``Sandbox``."""
        await self._admitted()
        await self._sandbox.start()

    async def stage(self, skills: Sequence[StagedSkill]) -> None:
        """See ``Sandbox``."""
        await self._admitted()
        await self._sandbox.stage(skills)

    async def run(self, language: Language, code: str, *, timeout: float, on_output: OnOutput) -> Execution:
        """See ``Sandbox``."""
        await self._admitted()
        return await self._sandbox.run(language, code, timeout=timeout, on_output=on_output)

    async def stop(self) -> None:
        """See ``Sandbox``."""
        try:
            await self._sandbox.stop()
        finally:
            if self._place is not None:
                place, self._place = self._place, None
                await place.aclose()

    async def _admitted(self) -> None:
        if self._place is None:
            place = AsyncExitStack()
            await place.enter_async_context(self._turnstile.through())
            self._place = place
