"""Where the code of a turn runs: in isolation, or in the live kernel after consent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from jupyter_skills.approval.request import ApprovalRequest, Approver
from jupyter_skills.errors import ConsentUnavailable
from jupyter_skills.sandbox.contract import Execution, Language, OnOutput, Sandbox, StagedSkill
from jupyter_skills.skills.skill import Skill


@dataclass(frozen=True)
class Code:
    """A piece of code that the model wants run.

    Args:
        tool: The tool it called for that.
        language: What it is written in.
        text: The code.
    """

    tool: str
    language: Language
    text: str


class Executor(Protocol):
    """Runs the code of a turn. The toolbox calls ``run`` for one piece at a time."""

    @property
    def place(self) -> str:
        """``docker`` or ``live``."""
        ...

    @property
    def languages(self) -> tuple[Language, ...]:
        """What it can run."""
        ...

    def skill_folder(self, skill: Skill) -> str:
        """Where the code will find the skill's files."""
        ...

    async def run(self, code: Code, skills: Iterable[Skill], on_output: OnOutput) -> tuple[Execution, str]:
        """Runs one piece of code.

        Args:
            code: What to run.
            skills: The skills in force, whose files the code may need.
            on_output: Called with each piece of text as it is printed.

        Returns:
            What came of it, and by whose consent it ran.
        """
        ...


@dataclass(frozen=True)
class Isolated:
    """Runs code in a sandbox. Implements ``Executor``.

    Args:
        sandbox: The sandbox; it is started by the first code that needs it.
        timeout: Seconds that one piece of code may run.
    """

    sandbox: Sandbox
    timeout: float
    place: str = "docker"
    languages: tuple[Language, ...] = ("python", "shell")
    _snapshot: dict[str, StagedSkill] = field(default_factory=dict)

    def skill_folder(self, skill: Skill) -> str:
        """See ``Executor``."""
        return f"/skills/{skill.name}"

    async def run(self, code: Code, skills: Iterable[Skill], on_output: OnOutput) -> tuple[Execution, str]:
        """See ``Executor``."""
        for skill in skills:
            if skill.name not in self._snapshot:  # an executor serves one turn, which sees each skill as it was once
                digest = await asyncio.to_thread(getattr, skill, "digest")
                self._snapshot[skill.name] = StagedSkill(skill.name, digest, skill.to_tar)
        await self.sandbox.stage(list(self._snapshot.values()))
        execution = await self.sandbox.run(code.language, code.text, timeout=self.timeout, on_output=on_output)
        return execution, "not needed"


class LiveKernel(Protocol):
    """The kernel that the user works in."""

    async def run(self, code: str, on_output: OnOutput) -> Execution:
        """Runs Python in the user's own namespace; called only after consent."""
        ...


@dataclass(frozen=True)
class AfterConsent:
    """Runs code in the live kernel once someone has allowed exactly this code. Implements ``Executor``.

    Args:
        kernel: The live kernel.
        approver: Who is asked.
        on_asking: Called before the question, so that what was shown so far is complete.
    """

    kernel: LiveKernel
    approver: Approver
    on_asking: Callable[[], None] = lambda: None
    place: str = "live"
    languages: tuple[Language, ...] = ("python",)

    def skill_folder(self, skill: Skill) -> str:
        """See ``Executor``."""
        return str(skill.folder)

    async def run(self, code: Code, skills: Iterable[Skill], on_output: OnOutput) -> tuple[Execution, str]:
        """See ``Executor``.

        Raises:
            ConsentUnavailable: There is nobody to ask.
        """
        self.on_asking()
        request = ApprovalRequest(code.tool, code.text, code.language)
        decision = await self.approver.decide(request)
        await asyncio.sleep(0)  # an interrupt during the question takes effect here, before any code runs
        if decision is None or decision.digest != request.digest:
            raise ConsentUnavailable("Nobody consented to this code", "Run the cell again")
        if not decision.granted:
            who = "The user" if decision.by == "user" else "The user's settings"
            return Execution("declined", error=f"{who} declined to run this code; it did not run."), decision.by
        return await self.kernel.run(code.text, on_output), decision.by
