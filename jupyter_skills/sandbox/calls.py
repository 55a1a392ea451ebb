"""One call of an isolated kernel: from the code to what came of it."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import signal
from dataclasses import dataclass

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.result import Cause, Language, Outcome
from jupyter_skills.sandbox.host import KernelHost, Look, ignore

_INTERRUPT_GRACE = 2.0
# Somebody waits for it to end, who was promised a second.
_GIVEN_UP_GRACE = 0.7
_SIGNALS = {int(number) for number in signal.Signals}
_LOST = "Its variables and files are gone; the next call starts afresh."


@dataclass
class Call:
    """One piece of code on its way through a kernel.

    Args:
        host: Where it runs.
        heard: Takes what comes out of it.
        output_limit: Characters of output that are kept.
        before: What was seen of the sandbox before it.
    """

    host: KernelHost
    heard: Heard
    output_limit: int
    before: Look
    outcome: Outcome = "ok"
    cause: Cause = ""

    async def run(self, language: Language, code: str, timeout: float) -> None:
        """Runs the code, and ends the host if nothing less stops it.

        Raises:
            SandboxFailed: The host could not even try.
        """
        try:
            if language == "python":
                await self._python(code, timeout)
            else:
                await self._shell(code, timeout)
        except SandboxDied as error:
            self.outcome = "died"
            self.cause = error.cause
            limit = f" (the limit is {self._limit('memory')})" if error.cause == "out_of_memory" else ""
            self.heard.error = f"{error.message}{limit}. {_LOST}"

    async def calm(self, language: Language) -> None:
        """Makes sure that nothing of a call that was given up goes on: interrupts, else ends the kernel."""
        if language != "python" or not self.host.alive:
            return
        try:
            await self.host.interrupt()
            await asyncio.wait_for(self.host.request("kernel_info_request", {}, ignore), _GIVEN_UP_GRACE)
        except (TimeoutError, SandboxFailed):
            await self.host.end()

    async def judge(self, now: Look) -> None:
        """Names the limits that were met with, and ends a kernel that has no processes left to work with.

        Args:
            now: As it is after the call.
        """
        before = self.before
        if now.forks_refused > before.forks_refused:
            self._met("process_limit", f"The limit of {self._limit('pids')} processes and threads was reached.")
            most = self.host.limits.get("pids")
            if isinstance(most, int) and now.processes > most // 2 and self.host.alive:
                await self.host.end()
                self.outcome, self.cause = "died" if self.outcome == "ok" else self.outcome, "process_limit"
                ended = f"So many are left that the isolated kernel was ended. {_LOST}"
                self.heard.error = f"{self.heard.error}\n{ended}".strip()
        if now.out_of_memory > before.out_of_memory:
            self._met("out_of_memory", f"The memory limit ({self._limit('memory')}) was reached; a process was killed.")
        for folder in {*now.full} - {*before.full}:
            self._met("disk_full", f"There is no room left in {folder}.")

    def _limit(self, name: str) -> object:
        return self.host.limits.get(name, "not known")

    def _met(self, cause: Cause, note: str) -> None:
        self.heard.note(note)
        if self.outcome != "ok" and not self.cause:
            self.cause = cause

    async def _python(self, code: str, timeout: float) -> None:
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        reply = self.host.request("execute_request", {**content, "stop_on_error": True}, self.heard.message)
        await asyncio.wait({reply}, timeout=timeout)
        if reply.done():
            self.outcome = "ok" if reply.result().get("status") == "ok" else "error"
            if self.outcome == "ok":
                self.heard.error = ""  # code can publish an error that there was not
            return
        await self.host.interrupt()
        if interrupted := self.host.alive:
            await asyncio.wait({reply}, timeout=_INTERRUPT_GRACE)
        self.outcome, self.cause = "timeout", "deadline"
        stopped = f"Stopped after {timeout:g} s, the limit for one call"
        if not interrupted:
            self.heard.error = f"{stopped}; it can't be interrupted, so the kernel was ended. {_LOST}"
        elif reply.done():
            reply.result()
            self.heard.error = f"{stopped}. Variables are kept."
        else:
            with contextlib.suppress(SandboxFailed, TimeoutError):  # what kept it from listening, if that can be told
                await self.judge(await asyncio.wait_for(self.host.look(0), _INTERRUPT_GRACE))
            await self.host.end()
            self.heard.error = f"{stopped}; it ignored the interrupt, so the kernel was ended. {_LOST}"

    async def _shell(self, command: str, timeout: float) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            end = await self.host.shell(
                command,
                limit=self.output_limit * 4,
                timeout=timeout,
                on_data=lambda piece: self.heard.print(decoder.decode(piece)),
            )
        except SandboxDied:
            raise
        except SandboxFailed as error:
            self.outcome, self.heard.error = "error", f"It could not be started: {error.message}."
            return
        if end.dropped:
            self.heard.note(f"{end.dropped:,} bytes of output were left out.")
        if end.status is None:
            self.outcome, self.cause = "timeout", "deadline"
            self.heard.error = f"Stopped after {timeout:g} s, the limit for one call."
        elif end.status != 0:
            killed = f" (ended by {signal.Signals(-end.status).name})" if -end.status in _SIGNALS else ""
            self.outcome, self.heard.error = "error", f"exit status {end.status}{killed}"
