"""The isolated kernel as a turn uses it, wherever it runs. Implements ``Sandbox``."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence

from jupyter_skills.errors import BuildFailed, SandboxFailed, SandboxProblem
from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.result import Execution, GeneratedFile, Language, OnOutput
from jupyter_skills.sandbox import setup
from jupyter_skills.sandbox.audit import AuditLog
from jupyter_skills.sandbox.begin import begin_with
from jupyter_skills.sandbox.calls import Call
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.files import WorkFolder, tar_of
from jupyter_skills.sandbox.host import Begin, KernelHost
from jupyter_skills.sandbox.inside.folders import SKILLS, WORK
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.turnstile import Turnstile

_LARGEST_SKILL = 64 * 1024 * 1024


class IsolatedKernel:
    """A kernel in isolation, started at its first use and kept until ``stop``. Calls wait for each other.

    Args:
        settings: Its limits; read at each start.
        begin: Starts kernels; in Docker if not given.
        on_status: For Docker: called with a word on what is being waited for, and with nothing when the wait is over.
    """

    def __init__(
        self, settings: DockerSandbox, begin: Begin | None = None, on_status: Callable[[str], None] = lambda _: None
    ) -> None:
        self._settings = settings
        self._begin = begin or begin_with(settings, None, on_status)
        self._audit = AuditLog(settings)
        self._host: KernelHost | None = None
        self._turnstile = Turnstile()
        self._staged: dict[str, str] = {}
        self._work = WorkFolder()
        self._requirements: tuple[str, ...] = ()
        self._refused: set[str] = set()
        self._used = False
        self._lost = False
        self._notes: list[str] = []

    @property
    def running(self) -> bool:
        """Whether there is a kernel now."""
        return self._host is not None and self._host.alive

    @property
    def requirements(self) -> tuple[str, ...]:
        """What is installed beyond the image, in PEP 508's notation."""
        return self._requirements

    async def start(self) -> None:
        """See ``Sandbox``."""
        async with self._turnstile.alone():
            await self._started()

    async def stop(self) -> None:
        """See ``Sandbox``."""
        async with self._turnstile.alone():
            await self._ended()
            await self._begin.close()

    async def restart(self) -> None:
        """Ends it and starts a fresh one; variables and files are gone, what is installed stays."""
        async with self._turnstile.alone():
            await self._ended()
            await self._started()

    def prepare(self) -> None:
        """Called when code may run soon; returns at once. Has a kernel made ready if the settings ask for a pool."""
        if not self.running:
            self._begin.prepare(self._requirements)

    async def install(self, requirements: Sequence[str]) -> None:
        """Has packages there from now on; a kernel that runs without them starts afresh.

        Args:
            requirements: In PEP 508's notation, checked by the caller.

        Raises:
            SandboxProblem: They can't be had. The kernel that runs goes on as it was.
        """
        async with self._turnstile.alone():
            await self._installed(requirements)

    async def stage(self, skills: Sequence[StagedSkill]) -> None:
        """See ``Sandbox``."""
        async with self._turnstile.alone():
            fresh = [skill for skill in skills if self._staged.get(skill.name) != skill.digest]
            for skill in fresh:
                await self._installed_for(skill)
            host = await self._started()
            for skill in skills:
                if self._staged.get(skill.name) != skill.digest:
                    await host.put(await asyncio.to_thread(_archive_of, skill), f"{SKILLS}/{skill.name}", replace=True)
                    self._staged[skill.name] = skill.digest

    async def run(self, language: Language, code: str, *, timeout: float, on_output: OnOutput) -> Execution:
        """See ``Sandbox``."""
        async with self._turnstile.alone():
            host = await self._started()
            self._used = True
            notes, self._notes = self._notes, []
            lost, self._lost = self._lost, False
            began = time.monotonic()
            heard = Heard(self._settings.output_limit, _in_this_loop(on_output))
            call = Call(host, self._settings, heard, self._work.last)
            try:
                await call.run(language, code, timeout)
            except BaseException:
                # Cancelled or broken: whatever still runs must not go on unseen, nor its output reach the next call.
                try:
                    await _to_the_end(call.calm(language))
                finally:
                    self._lost = lost or not host.alive
                raise
            files: tuple[GeneratedFile, ...] = ()
            if host.alive:
                try:
                    files, left = await self._work.fresh(host, self._settings.file_limit)
                    await call.judge(self._work.last)
                    heard.note(*left)
                except SandboxProblem:
                    heard.note("The sandbox died before its files could be looked at.")
            execution = Execution(
                call.outcome,
                heard.text,
                heard.error,
                tuple(heard.images),
                files,
                state_lost=lost or not host.alive,
                seconds=time.monotonic() - began,
                notes=(*notes, *heard.notes),
                cause=call.cause,
            )
            self._begin.prepare(self._requirements)  # not before: it would have kept the processor from this call
            return await asyncio.to_thread(self._audit.record, execution, language, code, host.image, timeout)

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Puts files into the working folder, over others of these names. They are not among what code generates.

        Args:
            files: Their bytes by path, relative to the working folder.

        Raises:
            SandboxProblem: There is no sandbox, or no room in it.
        """
        async with self._turnstile.alone():
            host = await self._started()
            await host.put(await asyncio.to_thread(tar_of, files), WORK, replace=False)
            await self._work.expect(host, files)

    async def get(self, path: str) -> tuple[GeneratedFile, ...]:
        """The files at a path in the working folder: a file, or all that lie in a folder.

        Raises:
            SandboxFailed: There is none, it can't be taken out, or it is over the limit.
            SandboxProblem: There is no sandbox.
        """
        async with self._turnstile.alone():
            return await self._work.take(await self._started(), path, self._settings.file_limit)

    async def send(self, name: str, value: object) -> None:
        """Gives a variable of the kernel a value, by copy.

        Raises:
            UsageProblem: The value can't cross, or is too large.
            SandboxProblem: It didn't arrive.
        """
        async with self._turnstile.alone():
            await setup.send(await self._started(), name, value, self._settings.file_limit)

    async def receive(self, name: str) -> object:
        """A copy of the value that a variable of the kernel has.

        Raises:
            UsageProblem: There is no such variable, or its value can't cross or is too large.
            SandboxProblem: It didn't arrive.
        """
        async with self._turnstile.alone():
            return await setup.receive(await self._started(), name, self._settings.file_limit)

    async def _started(self) -> KernelHost:
        if self._host is not None and self._host.alive:
            return self._host
        await self._ended()
        self._host = await self._begin(self._requirements)
        return self._host

    async def _ended(self) -> None:
        self._used = False
        self._staged.clear()
        self._work = WorkFolder()
        host, self._host = self._host, None
        if host is not None:
            await host.end()

    async def _installed_for(self, skill: StagedSkill) -> None:
        """Has what a skill needs, or goes on without it, and says so with the next call."""
        wanted = [word for word in await asyncio.to_thread(skill.requirements) if word not in self._refused]
        try:
            await self._installed(wanted)
        except BuildFailed as error:
            self._refused.update(wanted)  # tried once in a notebook's life, or on the user's own word
            self._notes.append(f"What '{skill.name}' needs could not be installed: {error.message}.")

    async def _installed(self, requirements: Sequence[str]) -> None:
        new = sorted({*requirements} - {*self._requirements})
        if not new or not (absent := await setup.missing(await self._started(), new)):
            return
        wanted = tuple(sorted({*self._requirements, *absent}))
        host = await self._begin(wanted)
        self._requirements = wanted
        if self._used and self._host is not None and self._host.alive:
            self._lost = True
            self._notes.append(f"The isolated kernel was started afresh to have {', '.join(absent)}.")
        await self._ended()
        self._host = host


def _archive_of(skill: StagedSkill) -> bytes:
    archive = skill.archive()
    if len(archive) > _LARGEST_SKILL:
        raise SandboxFailed(
            f"The skill '{skill.name}' has {len(archive):,} bytes, over the limit of {_LARGEST_SKILL:,}",
            "Take large data out of it, and hand it over with '%skill sandbox put'",
        )
    return archive


def _in_this_loop(on_output: OnOutput) -> OnOutput:
    """Has a callback run in the loop that is running now, in order, whichever thread calls."""
    loop = asyncio.get_running_loop()

    def from_any_thread(text: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and nobody listens
            loop.call_soon_threadsafe(on_output, text)

    return from_any_thread


async def _to_the_end(work: Coroutine[None, None, None]) -> None:
    """Awaits work that must come to its end even if whoever awaits it is cancelled again, meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                break
            cancelled = error
    if cancelled is not None:
        raise cancelled
