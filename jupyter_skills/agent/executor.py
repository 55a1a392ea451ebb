"""Where the code of a turn runs: in isolation, or in the live kernel after consent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Protocol

from jupyter_skills.agent.called import read_call
from jupyter_skills.approval.request import ApprovalRequest, Approver, Decision
from jupyter_skills.errors import ConsentUnavailable, SkillProblem
from jupyter_skills.execution.result import Execution, Language, OnOutput
from jupyter_skills.sandbox.contract import Sandbox, StagedSkill
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.requirements import requirements_of
from jupyter_skills.skills.skill import Skill

# Beside the skills' folders, under a name that no skill can have.
RUNTIME = ".runtime"

_IMPORTED = (".py", ".pyc", ".so", ".pyd")

_EDITED = (
    "The user took this code into a cell of their own, to change it and run it themselves; it did not run. "
    "Don't call for it again. End your answer here: their next prompt comes with what became of it."
)


@dataclass(frozen=True)
class Code:
    """A piece of code that the model wants run.

    Args:
        tool: The tool it called for that.
        language: What it is written in.
        text: The code.
        skill: The skill whose tool it is; empty for the model's own code.
        skill_digest: The digest of that skill's files.
    """

    tool: str
    language: Language
    text: str
    skill: str = ""
    skill_digest: str = ""

    @property
    def request(self) -> ApprovalRequest:
        """What a person would be asked."""
        return ApprovalRequest(self.tool, self.text, self.language, self.skill, self.skill_digest)


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
        hand_over: Called with code that the user chose to take into a cell of their own.
    """

    kernel: LiveKernel
    approver: Approver
    trusts: Callable[[Skill], bool]
    lay_out: Callable[[Skill], str]
    on_asking: Callable[[], None] = lambda: None
    hand_over: Callable[[str], None] = lambda _: None
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
        request = with_source(code.request, skills)
        decision = await self.approver.decide(request)
        await asyncio.sleep(0)  # an interrupt during the question takes effect here, before any code runs
        if decision is None or decision.digest != request.digest:
            raise ConsentUnavailable("Nobody consented to this code", "Run the cell again")
        if not decision.granted:
            return self._refused(code, decision), decision.words
        return await self.kernel.run(code.text, on_output), decision.words

    def _refused(self, code: Code, decision: Decision) -> Execution:
        if decision.choice == "edit":
            self.hand_over(code.text)
            return Execution("edited", error=_EDITED)
        who = "The user" if decision.by == "user" else "The user's settings"
        why = f" They said: {decision.reason}" if decision.reason else ""
        return Execution("declined", error=f"{who} declined to run this code; it did not run.{why}")


def with_source(request: ApprovalRequest, skills: Iterable[Skill]) -> ApprovalRequest:
    """The request with the text of the file that a skill's tool lies in, for whoever is to judge it."""
    called = read_call(request.code) if request.skill else None
    skill = next((s for s in skills if (s.name, s.digest) == (request.skill, request.skill_digest)), None)
    if called is None or skill is None:
        return request
    try:
        source = skill.read(called.path).decode()
        return replace(request, source=source, modules=importable(skill, called.path))
    except (SkillProblem, UnicodeDecodeError):
        return request


def importable(skill: Skill, path: str) -> tuple[str, ...]:
    """The modules of its own that a file of a skill can import: from the top of the skill, and from its own folder.

    They come before all others of their name while a tool runs.
    """
    found: set[str] = set()
    for top in {"", *(f"{parent}/" for parent in PurePosixPath(path).parents if str(parent) != ".")}:
        for file in skill.files():
            if file.startswith(top) and file.endswith(_IMPORTED):
                found.add(file.removeprefix(top).partition("/")[0].partition(".")[0])
    return tuple(sorted(found))


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
