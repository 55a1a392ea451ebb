"""The isolated kernel as a turn uses it, wherever it runs. Implements ``ExchangingSandbox``."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence

from jupyter_skills.errors import BuildFailed, SandboxDied, SandboxFailed, SandboxProblem, UsageProblem
from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.result import Execution, GeneratedFile, Language, OnOutput
from jupyter_skills.sandbox import setup, variables
from jupyter_skills.sandbox.audit import AuditLog
from jupyter_skills.sandbox.calls import Call
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.files import WorkFolder, tar_of
from jupyter_skills.sandbox.host import KernelHost, Launcher
from jupyter_skills.sandbox.inside.folders import SKILLS, WORK
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.thread import to_the_end
from jupyter_skills.sandbox.turnstile import Turnstile

_LARGEST_SKILL = 64 * 1024 * 1024


class IsolatedKernel:
    """A kernel in isolation, started at its first use and kept until ``stop``. Calls wait for each other.

    Args:
        settings: Its limits; read at each start.
        launcher: Starts kernels; in Docker if not given.
        on_status: For Docker: called with a word on what is being waited for, and with nothing when the wait is over.
    """

    def __init__(
        self,
        settings: DockerSandbox,
        launcher: Launcher | None = None,
        on_status: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._launcher = launcher or _in_docker(settings, on_status)
        self._audit = AuditLog(settings)
        self._host: KernelHost | None = None
        self._turnstile = Turnstile()
        self._staged: dict[str, str] = {}
        self._work = WorkFolder()
        self._requirements: tuple[str, ...] = ()
        self._refused: set[str] = set()
        self._used = False  # since the loss of variables and files was told last
        self._lost = False
        self._sent: set[str] = set()
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
        async with self._turnstile.through():
            await self._started()

    async def stop(self) -> None:
        """See ``Sandbox``."""
        async with self._turnstile.through():
            await self._ended()
            await self._launcher.close()

    async def restart(self) -> None:
        """Ends it and starts a fresh one; variables and files are gone, what is installed stays."""
        async with self._turnstile.through():
            await self._ended()
            await self._started()

    def prepare(self) -> None:
        """Called when code may run soon; returns at once. Has a kernel made ready if the settings ask for a pool."""
        if not self.running:
            self._launcher.prepare(self._requirements)

    async def install(self, requirements: Sequence[str]) -> None:
        """Has packages there from now on; a kernel that runs without them starts afresh.

        Args:
            requirements: In PEP 508's notation, checked by the caller.

        Raises:
            SandboxProblem: They can't be had. The kernel that runs goes on as it was.
        """
        async with self._turnstile.through():
            await self._installed(requirements)

    async def stage(self, skills: Sequence[StagedSkill]) -> None:
        """See ``Sandbox``."""
        async with self._turnstile.through():
            fresh = [skill for skill in skills if self._staged.get(skill.name) != skill.digest]
            for skill in fresh:
                await self._installed_for(skill)
            host = await self._started()
            for skill in skills:
                if self._staged.pop(skill.name, "") != skill.digest:
                    await host.put(await asyncio.to_thread(_archive_of, skill), f"{SKILLS}/{skill.name}", replace=True)
                self._staged[skill.name] = skill.digest

    async def run(self, language: Language, code: str, *, timeout: float, on_output: OnOutput) -> Execution:
        """See ``Sandbox``."""
        async with self._turnstile.through():
            host = await self._started()
            notes, self._notes = self._notes, []
            lost, self._lost = self._lost, False
            self._used = True
            if lost:
                notes.append("The isolated kernel of earlier calls has ended; this is a fresh one.")
            began = time.monotonic()
            heard = Heard(self._settings.output_limit, _in_this_loop(on_output))
            call = Call(host, heard, self._settings.output_limit, self._work.last)
            try:
                await call.run(language, code, timeout)
                files = await self._made_by(call)
            except BaseException:
                self._notes, self._lost = notes, lost  # nobody has been told
                given_up = Execution("interrupted", heard.text, seconds=time.monotonic() - began)
                # Whatever still runs must not go on unseen, nor its output reach the next call.
                await to_the_end(call.calm(language))
                await to_the_end(self._written_down(given_up, language, code, timeout, host))
                raise
            self._used = host.alive
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
            self._launcher.prepare(self._requirements)  # not before: it would have kept the processor from this call
            return await self._written_down(execution, language, code, timeout, host)

    async def put(self, files: Mapping[str, bytes]) -> None:
        """See ``ExchangingSandbox``."""
        async with self._turnstile.through():
            host = await self._started()
            self._used = True
            try:
                await host.put(await asyncio.to_thread(tar_of, files), WORK, replace=False)
            except SandboxDied:
                raise
            except SandboxFailed as error:
                raise SandboxFailed(
                    f"Not all of it could be put into the sandbox: {error.message}", "Put less, or make room there"
                ) from None
            finally:
                await self._work.expect(host, files)

    async def get(self, path: str) -> tuple[GeneratedFile, ...]:
        """See ``ExchangingSandbox``."""
        async with self._turnstile.through():
            return await self._work.take(await self._started(), path, self._settings.file_limit)

    async def send(self, name: str, value: object) -> None:
        """See ``ExchangingSandbox``."""
        async with self._turnstile.through():
            await variables.send(await self._started(), name, value, self._settings.file_limit)
            self._used = True
            self._sent.add(name)

    async def receive(self, name: str) -> object:
        """See ``ExchangingSandbox``."""
        async with self._turnstile.through():
            return await variables.receive(await self._started(), name, self._settings.file_limit)

    async def _made_by(self, call: Call) -> tuple[GeneratedFile, ...]:
        """The files that a call left, if the kernel outlived it; notes what is to be said about them."""
        if not call.host.alive:
            return ()
        try:
            files, left = await self._work.fresh(call.host, self._settings.file_limit)
            await call.judge(self._work.last)
        except SandboxProblem:
            call.heard.note("The sandbox died before its files could be looked at.")
            return ()
        call.heard.note(*left)
        return files

    async def _started(self) -> KernelHost:
        if self._host is not None and self._host.alive:
            return self._host
        await self._ended()
        self._host = await self._launcher.launch(self._requirements)
        await self._work.begin(self._host)
        return self._host

    async def _ended(self) -> None:
        self._lost |= self._used
        self._work = WorkFolder()
        self._sent.clear()
        await self._replaced(None)

    async def _replaced(self, host: KernelHost | None) -> None:
        self._used = False
        self._staged.clear()
        old, self._host = self._host, host
        if old is not None:
            await to_the_end(old.end())

    async def _written_down(
        self, execution: Execution, language: Language, code: str, timeout: float, host: KernelHost
    ) -> Execution:
        return await asyncio.to_thread(self._audit.record, execution, language, code, timeout, host)

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
        host = await self._launcher.launch(wanted)
        used = self._used
        try:
            kept = await self._carried_over(host)
        except BaseException:
            await to_the_end(host.end())
            raise
        self._requirements = wanted
        await self._replaced(host)
        if used:
            self._notes.append(f"The isolated kernel was started afresh to have {', '.join(absent)}. {kept}")

    async def _carried_over(self, new: KernelHost) -> str:
        """Copies files, and the variables that the user sent, into a kernel that takes the place of this one's.

        Returns:
            What became of them, in one or two sentences.
        """
        old = await self._started()
        try:
            await self._work.carry_over(old, new)
            files = "Its files are kept"
        except SandboxProblem as error:
            self._work = WorkFolder()
            files = f"Its files are gone ({error.message})"
        for name in sorted(self._sent):
            try:
                parcel = await variables.collect(old, name, self._settings.file_limit)
                await variables.deliver(new, name, parcel, self._settings.file_limit)
            except (SandboxProblem, UsageProblem):
                self._sent.discard(name)
        kept = f", and the variables that the user sent ({', '.join(sorted(self._sent))})" if self._sent else ""
        return f"{files}{kept}; all other variables are gone."


def _in_docker(settings: DockerSandbox, on_status: Callable[[str], None]) -> Launcher:
    from jupyter_skills.sandbox.docker.launcher import DockerLauncher

    return DockerLauncher(settings, on_status)


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
