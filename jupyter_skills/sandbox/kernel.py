"""The isolated kernel as a turn uses it. Implements ``Sandbox``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from traitlets.config import Config

from jupyter_skills.errors import SandboxFailed, SandboxProblem
from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.result import Execution, GeneratedFile, Language, OnOutput, Outcome
from jupyter_skills.notebook.owned import owned_folder
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.docker.link import Link
from jupyter_skills.sandbox.docker.provisioner import DockerProvisioner
from jupyter_skills.sandbox.files import WorkFolder
from jupyter_skills.sandbox.inside import imports
from jupyter_skills.sandbox.settings import DockerSandbox

KERNEL_NAME = "python3-isolated"
_KERNEL_SPECS = Path(__file__).parent / "kernels"
_READY_WITHIN = 30.0
_INTERRUPT_GRACE = 2.0
_IDLE_GRACE = 1.0
_MOST_DRAINED = 10_000
# Names of ZeroMQ sockets must stay short: a longer folder for temporary files is not used.
_LONGEST_FOLDER = 60

# Results are sent out and not kept: kept, they would fill the memory, and after a thousand IPython warns of it.
# The code of skills' tools finds what it needs beside the skills (agent/executor.py puts it there).
_SETUP = f"""
get_ipython().displayhook.do_full_cache = 0
__import__("sys").path.append("/skills/.runtime")
exec({Path(imports.__file__).read_text(encoding="utf-8")!r}, apart := {{}})
get_ipython().events.register("pre_run_cell", apart.pop("keep_apart"))
del apart
"""

# jupyter_client logs each error with its traceback before it raises it; the one line that follows is enough.
_LOG = logging.getLogger("jupyter_skills.kernel_manager")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


class IsolatedKernel:
    """A kernel in a container, started at its first use and kept until ``stop``.

    Args:
        settings: Its limits; read at each start.
        on_status: Called with a word on what is being waited for, and with nothing when the wait is over.
    """

    def __init__(self, settings: DockerSandbox, on_status: Callable[[str], None] = lambda _: None) -> None:
        self._settings = settings
        self._on_status = on_status
        self._manager: AsyncKernelManager | None = None
        self._folder = ""
        # A client's sockets belong to the event loop that made them; a notebook has one, and another for calls
        # from code, where nothing can be awaited.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncKernelClient] = WeakKeyDictionary()
        self._staged: dict[str, str] = {}
        self._work = WorkFolder()
        self._calming: asyncio.Future[None] | None = None

    @property
    def running(self) -> bool:
        """Whether there is a container now."""
        return self._manager is not None and not self._link.closed.is_set()

    async def start(self) -> None:
        """See ``Sandbox``."""
        if self._calming is not None:  # a call that was given up still comes to its end
            await asyncio.wait({self._calming})
            self._calming = None
        if self.running:
            return
        await self.stop()
        self._on_status("Starting the isolated kernel")
        self._folder = _socket_folder()
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        manager = AsyncKernelManager(
            kernel_name=KERNEL_NAME,
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(_KERNEL_SPECS)], ensure_native_kernel=False),
            transport="ipc",
            ip=f"{self._folder}/k",
            connection_file=f"{self._folder}/kernel.json",
            config=Config({"DockerSandbox": self._settings.trait_values(config=True)}),
            log=_LOG,
        )
        try:
            await manager.start_kernel()
            self._manager = manager
            (await self._client()).execute(_SETUP, silent=True)
        except BaseException:
            self._manager = manager if manager.has_kernel else None
            await self.stop()
            raise
        finally:
            self._on_status("")

    async def stop(self) -> None:
        """See ``Sandbox``."""
        for client in self._clients.values():
            client.stop_channels()
        self._clients.clear()
        self._staged.clear()
        self._work = WorkFolder()
        manager, self._manager = self._manager, None
        folder, self._folder = self._folder, ""
        try:
            if manager is not None:
                await manager.shutdown_kernel(now=True)
        finally:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    async def stage(self, skills: Sequence[StagedSkill]) -> None:
        """See ``Sandbox``."""
        await self.start()
        for skill in skills:
            if self._staged.get(skill.name) != skill.digest:
                await self._link.ask("put", name=skill.name, body=await asyncio.to_thread(skill.archive))
                self._staged[skill.name] = skill.digest

    async def run(self, language: Language, code: str, *, timeout: float, on_output: OnOutput) -> Execution:
        """See ``Sandbox``."""
        await self.start()
        began = time.monotonic()
        heard = Heard(self._settings.output_limit, on_output)
        try:
            if language == "python":
                outcome = await self._run_python(code, timeout, heard)
            else:
                outcome = await self._run_shell(code, timeout, heard)
        except BaseException:
            # Cancelled or broken: whatever still runs must not go on unseen, nor its output reach the next call.
            self._calming = asyncio.ensure_future(self._calm(language))
            await asyncio.shield(self._calming)
            raise
        files: tuple[GeneratedFile, ...] = ()
        notes: list[str] = []
        if self.running:
            try:
                files, notes = await self._work.fresh(self._link, self._settings.file_limit)
            except SandboxProblem:
                notes = ["The sandbox died before its files could be looked at."]
        state_lost = not self.running
        return Execution(
            outcome,
            heard.text,
            heard.error,
            tuple(heard.images),
            files,
            state_lost,
            time.monotonic() - began,
            (*heard.notes, *notes),
        )

    @property
    def _link(self) -> Link:
        assert self._manager is not None
        provisioner = self._manager.provisioner
        assert isinstance(provisioner, DockerProvisioner)
        if provisioner.link is None:
            raise SandboxFailed("The isolated kernel is gone", "Run the cell again: a fresh one will start")
        return provisioner.link

    async def _client(self) -> AsyncKernelClient:
        """A client for the running loop that has heard from the kernel on every channel it needs."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is not None:
            return client
        assert self._manager is not None
        client = self._manager.client()
        client.start_channels(stdin=False, hb=False)
        ready = asyncio.ensure_future(self._until_ready(client))
        try:
            answered = await _done_before_gone(ready, self._link, _READY_WITHIN)
        except BaseException:
            client.stop_channels()
            raise
        finally:
            ready.cancel()
        if not answered:
            client.stop_channels()
            reason = self._link.gone().message if self._link.closed.is_set() else f"no answer in {_READY_WITHIN:g} s"
            raise SandboxFailed(
                f"The isolated kernel did not start: {reason}",
                f"Check that the image '{self._settings.image}' has python3 with ipykernel",
            )
        ready.result()
        self._clients[loop] = client
        return client

    @staticmethod
    async def _until_ready(client: AsyncKernelClient) -> None:
        # A message on iopub proves that the subscription has reached the kernel: nothing after it is missed.
        request = client.kernel_info()
        heard_iopub = asyncio.ensure_future(client.get_iopub_msg(timeout=_READY_WITHIN))
        try:
            while (await client.get_shell_msg(timeout=_READY_WITHIN))["parent_header"].get("msg_id") != request:
                pass
            while not heard_iopub.done():
                client.kernel_info()
                await client.get_shell_msg(timeout=_READY_WITHIN)
                await asyncio.wait({heard_iopub}, timeout=0.02)
        finally:
            heard_iopub.cancel()

    async def _run_python(self, code: str, timeout: float, heard: Heard) -> Outcome:
        client = await self._client()
        await _drain(client)
        request = client.execute(code, allow_stdin=False)
        work = asyncio.ensure_future(self._listen(client, request, heard))
        try:
            if await _done_before_gone(work, self._link, timeout):
                return work.result()
            if self._link.closed.is_set():
                heard.error = "The isolated kernel died. Its variables and files are gone; the next call starts afresh."
                return "died"
            assert self._manager is not None
            await self._manager.interrupt_kernel()
            heeded = await _done_before_gone(work, self._link, _INTERRUPT_GRACE)
            heard.error = f"Stopped after {timeout:g} s, the limit for one call. Variables are kept."
            if not heeded:
                await self.stop()
                heard.error = (
                    f"Stopped after {timeout:g} s, the limit for one call; it ignored the interrupt, so the kernel "
                    "was ended. Variables and files are gone; the next call starts afresh."
                )
            return "timeout"
        finally:
            work.cancel()

    @staticmethod
    async def _listen(client: AsyncKernelClient, request: str, heard: Heard) -> Outcome:
        """Follows one execution to its end: the reply on shell, and ``idle`` on iopub."""

        async def until_idle() -> None:
            while True:
                message = await _valid(client.get_iopub_msg)
                if message["parent_header"].get("msg_id") != request:
                    continue
                content = message["content"]
                if message["msg_type"] == "status" and content.get("execution_state") == "idle":
                    return
                heard.message(message["msg_type"], content)

        idle = asyncio.ensure_future(until_idle())
        try:
            while True:
                reply = await _valid(client.get_shell_msg)
                if reply["parent_header"].get("msg_id") == request:
                    break
            # The kernel drops messages in a flood, the one that says idle too: the reply is what counts.
            await asyncio.wait({idle}, timeout=_IDLE_GRACE)
        finally:
            idle.cancel()
        return "ok" if reply["content"].get("status") == "ok" else "error"

    async def _run_shell(self, command: str, timeout: float, heard: Heard) -> Outcome:
        loop = asyncio.get_running_loop()

        def on_data(piece: bytes) -> None:
            loop.call_soon_threadsafe(heard.print, piece.decode(errors="replace"))

        answer = self._link.request(
            "exec", argv=["bash", "-c", command], limit=self._settings.output_limit * 4, on_data=on_data
        )
        waiting = asyncio.wrap_future(answer)
        try:
            await asyncio.wait({waiting}, timeout=timeout)
            in_time = waiting.done()
            if not in_time:
                self._link.kill(answer)
            result = await waiting
        except SandboxProblem as error:
            if self.running:
                heard.error = f"It could not be started: {error.message}."
                return "error"
            heard.error = "The sandbox died. Its variables and files are gone; the next call starts afresh."
            return "died"
        except asyncio.CancelledError:
            self._link.kill(answer)
            raise
        if not in_time:
            heard.error = f"Stopped after {timeout:g} s, the limit for one call."
            return "timeout"
        if dropped := int(result.get("dropped", 0)):
            heard.notes.append(f"{dropped:,} bytes of output were left out.")
        if result.get("status") == 0:
            return "ok"
        heard.error = f"exit status {int(result.get('status', -1))}"
        return "error"

    async def _calm(self, language: Language) -> None:
        """Makes sure that nothing of a call that was given up goes on: interrupts, else ends the kernel."""
        if not self.running or language != "python":
            return
        assert self._manager is not None
        try:
            await self._manager.interrupt_kernel()
            client = await self._client()
            request = client.kernel_info()

            async def answered() -> None:
                while (await _valid(client.get_shell_msg))["parent_header"].get("msg_id") != request:
                    pass

            await asyncio.wait_for(answered(), _INTERRUPT_GRACE)
        except (TimeoutError, SandboxProblem, RuntimeError):
            await self.stop()


async def _valid(get: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
    """The next message that is one: whoever runs in the container can send what is none, or is wrongly signed."""
    while True:
        try:
            message = await get()
        except Exception:  # noqa: BLE001 -- see above; jupyter_client raises many kinds
            await asyncio.sleep(0)
            continue
        if isinstance(message.get("content"), dict) and isinstance(message.get("parent_header"), dict):
            return message


async def _drain(client: AsyncKernelClient) -> None:
    """Takes away what an earlier, stopped call still had to say."""
    for channel, get in ((client.iopub_channel, client.get_iopub_msg), (client.shell_channel, client.get_shell_msg)):
        for _ in range(_MOST_DRAINED):
            if not await channel.msg_ready():
                break
            with contextlib.suppress(Exception):
                await get()


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and nobody waits
        loop.call_soon_threadsafe(event.set)


async def _done_before_gone(work: asyncio.Future[Any], link: Link, timeout: float) -> bool:
    """Waits for work, but neither longer than ``timeout`` seconds nor on a container that is gone; then is it done?"""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    watch = asyncio.ensure_future(gone.wait())
    try:
        with link.listening(lambda: _wake(loop, gone)):
            await asyncio.wait({work, watch}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watch.cancel()
    return work.done()


def _socket_folder() -> str:
    """A private folder for the sockets of one kernel."""
    short = len(tempfile.gettempdir()) <= _LONGEST_FOLDER
    return owned_folder("jupyter-skills-", None if short else "/tmp")  # noqa: S108 -- see above
