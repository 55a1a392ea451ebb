"""A place where code runs in isolation, as a turn uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from jupyter_skills.execution.result import Execution, GeneratedFile, Language, OnOutput


@dataclass(frozen=True)
class StagedSkill:
    """A skill's files on their way to where code runs.

    Args:
        name: The skill's name, hence its folder's.
        digest: Of its files; the same digest is not sent twice.
        archive: Called for the files as a tar, only if they have to be sent.
        requirements: Called for what its code needs installed, in PEP 508's notation, only if the files are sent.
    """

    name: str
    digest: str
    archive: Callable[[], bytes]
    requirements: Callable[[], Sequence[str]] = tuple


class Sandbox(Protocol):
    """A place where code runs in isolation, with state kept from call to call.

    A turn calls ``stage`` and then ``run``, one call at a time; the notebook's session starts and stops it.
    """

    async def start(self) -> None:
        """Makes it ready; called again it does nothing.

        Raises:
            SandboxProblem: It can't be had; the error says why.
        """
        ...

    async def stage(self, skills: Sequence[StagedSkill]) -> None:
        """Puts each skill's files at ``/skills/<name>/``; starts the sandbox if need be."""
        ...

    async def run(self, language: Language, code: str, *, timeout: float, on_output: OnOutput) -> Execution:
        """Runs code, and starts the sandbox if need be.

        Args:
            language: ``python`` keeps its variables from call to call; ``shell`` is a ``bash`` of its own each time.
            code: What to run.
            timeout: Seconds until it is stopped.
            on_output: Called with each piece of text as it is printed.

        Returns:
            What came of it. Code that fails is an outcome, not an error.

        Raises:
            SandboxProblem: The sandbox itself can't be had.
        """
        ...

    async def stop(self) -> None:
        """Ends it and all that is in it; called again it does nothing."""
        ...


class ExchangingSandbox(Sandbox, Protocol):
    """A sandbox that files and variables can be put into and taken from. The notebook does so for its user."""

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Puts files into the working folder, over others of these names; they are not among what code generates.

        Args:
            files: Their bytes by path, relative to the working folder.

        Raises:
            SandboxProblem: There is no sandbox, or no room in it.
        """
        ...

    async def get(self, path: str) -> tuple[GeneratedFile, ...]:
        """The files at a path in the working folder: a file, or all that lie in a folder.

        Raises:
            SandboxFailed: There is none, it can't be taken out, or it is over the limit.
            SandboxProblem: There is no sandbox.
        """
        ...

    async def send(self, name: str, value: object) -> None:
        """Gives a variable there a value, by copy.

        Raises:
            UsageProblem: The value can't cross, or is too large.
            SandboxProblem: It didn't arrive.
        """
        ...

    async def receive(self, name: str) -> object:
        """A copy of the value that a variable there has.

        Raises:
            NoSuchVariable: There is none of that name.
            UsageProblem: Its value can't cross, or is too large.
            SandboxProblem: It didn't arrive.
        """
        ...
