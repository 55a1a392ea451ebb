"""Where the code of a turn runs: in isolation, or in the live kernel after consent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Protocol

from jupyter_skills.approval.request import ApprovalRequest, Approver
from jupyter_skills.errors import ConsentUnavailable
from jupyter_skills.execution.result import Execution, Language, OnOutput
from jupyter_skills.sandbox.contract import Sandbox, StagedSkill
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.requirements import requirements_of
from jupyter_skills.skills.skill import Skill

# Beside the skills' folders, under a name that no skill can have.
RUNTIME = ".runtime"


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

    @property
    def timeout(self) -> float:
        """Seconds that one piece of code may run; scripts of skills are held to it everywhere."""
        ...

    def accepts(self, skill: Skill) -> bool:
        """Whether code of a skill's own may run here."""
        ...

    def skill_folder(self, skill: Skill) -> str:
        """Where code will find the skill's files; empty if nowhere, as when its code may not run here."""
        ...

    async def run(self, code: Code, skills: Iterable[Skill], on_output: OnOutput) -> tuple[Execution, str]:
        """Runs one piece of code.

        Args:
            code: What to run.
            skills: Snapshots of the skills whose files the code may need.
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

    def accepts(self, skill: Skill) -> bool:
        """See ``Executor``."""
        return True

    def skill_folder(self, skill: Skill) -> str:
        """See ``Executor``."""
        return f"/skills/{skill.name}"

    async def run(self, code: Code, skills: Iterable[Skill], on_output: OnOutput) -> tuple[Execution, str]:
        """See ``Executor``."""
        staged = [StagedSkill(skill.name, skill.digest, skill.to_tar, partial(_wanted, skill)) for skill in skills]
        await self.sandbox.stage([*staged, runtime()])
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
        trusts: Whether a skill's own code may run there at all.
        lay_out: Puts a skill's files into a folder; returns it.
        on_asking: Called before the question, so that what was shown so far is complete.
    """

    kernel: LiveKernel
    approver: Approver
    trusts: Callable[[Skill], bool]
    lay_out: Callable[[Skill], str]
    on_asking: Callable[[], None] = lambda: None
    place: str = "live"
    languages: tuple[Language, ...] = ("python",)
    timeout: float = 120.0

    def accepts(self, skill: Skill) -> bool:
        """See ``Executor``."""
        return self.trusts(skill)

    def skill_folder(self, skill: Skill) -> str:
        """See ``Executor``."""
        return self.lay_out(skill) if self.trusts(skill) else ""

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


def _wanted(skill: Skill) -> tuple[str, ...]:
    return requirements_of(skill).wanted


@cache
def runtime() -> StagedSkill:
    """What the code of tool calls imports, as a package beside the skills: see ``jupyter_skills/runtime.py``."""
    from jupyter_skills import runtime as module

    files = MemoryFiles(
        {
            "jupyter_skills/__init__.py": FileEntry(b"from jupyter_skills.runtime import tool\n"),
            "jupyter_skills/runtime.py": FileEntry(Path(module.__file__).read_bytes()),
        }
    )
    package = Skill("runtime", "", "", files)
    return StagedSkill(RUNTIME, package.digest, package.to_tar)
