"""The isolated kernel on another machine: behind any Jupyter server, Kernel Gateway or Enterprise Gateway.

What is isolated about it is that server's business. It has to offer a Python kernel with a ``/work`` and a ``/skills``
of its own, such as the kernelspec ``python3-isolated`` of this package.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from jupyter_server.gateway.gateway_client import GatewayClient

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.sandbox.exchange import Exchange
from jupyter_skills.sandbox.host import Content, OnMessage, ignore
from jupyter_skills.sandbox.remote.channels import Channels
from jupyter_skills.sandbox.remote.elsewhere import RemoteHost, RemoteLauncher
from jupyter_skills.sandbox.settings import KERNEL_NAME, DockerSandbox
from jupyter_skills.sandbox.thread import outlasting

_READY_WITHIN = 60.0
_ASK_AGAIN = 0.5
_INTERRUPT_GRACE = 2.0
_VERSION = "5.3"


class GatewayHost(RemoteHost):
    """A kernel on a Jupyter server. Implements ``KernelHost``.

    Args:
        server: The server's address, and what it wants to see.
        kernel_name: The name of the kernelspec there.
    """

    def __init__(self, server: GatewayClient, kernel_name: str) -> None:
        super().__init__("isolated kernel on a server")
        self._kernel_name = kernel_name
        self._exchange = Exchange()
        self._channels = Channels(server, self._take, self._lost)
        self._session = uuid.uuid4().hex
        self._heard = asyncio.Event()

    @property
    def alive(self) -> bool:
        """See ``KernelHost``."""
        return self._channels.kernel != "" and self._died is None and self._ended is None

    @property
    def kernel(self) -> str:
        """Its id on the server; empty if there is none."""
        return self._channels.kernel

    async def start(self) -> None:
        """See ``RemoteHost``."""
        atexit.register(self._channels.end_at_exit)
        try:
            await outlasting(self._thread.submit(self._started()))
            await self.bring_services()
        except BaseException as error:
            await self.end()
            if isinstance(error, SandboxDied | TimeoutError):
                reason = error.message if isinstance(error, SandboxDied) else f"no answer in {_READY_WITHIN:g} s"
                raise SandboxFailed(
                    f"The kernel '{self._kernel_name}' can't be used: {reason}",
                    "Choose one that runs Python with IPython 9, or look into the server's log",
                ) from None
            raise

    def request(
        self, kind: str, content: Content, on_message: OnMessage, *, wants_idle: bool = True
    ) -> asyncio.Future[Content]:
        """See ``KernelHost``."""
        number = uuid.uuid4().hex
        future = self._exchange.begin(number, on_message, wants_idle=wants_idle)
        header = {
            "msg_id": number,
            "msg_type": kind,
            "session": self._session,
            "username": "",
            "date": datetime.now(UTC).isoformat(),
            "version": _VERSION,
        }
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": dict(content)}
        self._thread.call(lambda: self._channels.send(message))
        return future

    async def interrupt(self) -> None:
        """See ``KernelHost``."""
        if self.alive:
            await outlasting(self._thread.submit(self._channels.interrupt()))

    async def ask(self, expression: str, *, within: float, on_text: Callable[[str], None]) -> str:
        """See ``ByCode``."""

        def on_message(kind: str, content: Content) -> None:
            if kind == "stream":
                on_text(str(content.get("text", "")))

        reply = self.request("execute_request", _silent(expression), on_message)
        await asyncio.wait({reply}, timeout=within)
        if not reply.done():
            await self.end()
            raise SandboxDied("lost", "The isolated kernel does not answer")
        match reply.result():
            case {"user_expressions": {"answer": {"status": "ok", "data": {"text/plain": str(text)}}}}:
                return text
            case {"user_expressions": {"answer": {"ename": "KeyboardInterrupt"}}}:
                raise SandboxFailed("It was interrupted", "Run the cell again")
        await self.end()
        raise SandboxDied("lost", "The isolated kernel does not know what serves its files")

    async def calm(self) -> None:
        """See ``ByCode``."""
        try:
            await outlasting(self._thread.submit(self._calm()))
        except asyncio.CancelledError:
            self._begin_end()
            raise

    async def _end(self) -> None:
        kernel = self._channels.kernel
        problem = await self._channels.end()
        self._exchange.fail(self._died or SandboxDied("lost", "The isolated kernel is gone"))
        if problem:
            logging.getLogger(__name__).warning("The kernel %s may still run on its server: %s", kernel, problem)
        atexit.unregister(self._channels.end_at_exit)

    async def _calm(self) -> None:
        try:
            await self._channels.interrupt()
            await asyncio.wait_for(self.request("kernel_info_request", {}, ignore), _INTERRUPT_GRACE)
        except (TimeoutError, SandboxFailed):
            self._begin_end()

    async def _started(self) -> None:
        await self._channels.start(self._kernel_name)
        await asyncio.wait_for(self._until_ready(), _READY_WITHIN)

    async def _until_ready(self) -> None:
        """Waits for a message on iopub: what is published before the server listens there is not heard."""
        await self._channels.connect()
        while not self._heard.is_set():
            if self._died is not None:
                raise self._died
            self.request("kernel_info_request", {}, ignore, wants_idle=False)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._heard.wait(), _ASK_AGAIN)

    def _take(self, message: Mapping[str, Any]) -> None:
        if message.get("channel") == "shell":
            self._exchange.replied(message)
        elif message.get("channel") == "iopub":
            self._heard.set()
            self._exchange.published(message)

    def _lost(self, error: SandboxDied) -> None:
        self._died = error
        self._exchange.fail(error)
        self._begin_end()  # a server restarts what died, and that would be left behind


class GatewayLauncher(RemoteLauncher[GatewayHost]):
    """Starts kernels on a Jupyter server. Implements ``Launcher``.

    Should this process be killed, its kernel runs on until the server culls it: see ``cull_idle_timeout`` there. A
    server also drops output that comes too fast, and says so in its place: see ``iopub_data_rate_limit``.

    Args:
        settings: The limits on what comes back; read at each start. What the kernel may use is the server's to say.
        kernel_name: The name of the kernelspec there.
        server: The server's address and what it wants to see; if not given, as the environment has it
            (JUPYTER_GATEWAY_URL, JUPYTER_GATEWAY_AUTH_TOKEN and so on).
    """

    def __init__(
        self, settings: DockerSandbox, kernel_name: str = KERNEL_NAME, server: GatewayClient | None = None
    ) -> None:
        super().__init__(settings)
        self._kernel_name = kernel_name
        self._server = server

    def _host(self) -> GatewayHost:
        return GatewayHost(self._server or GatewayClient.instance(), self._kernel_name)


def _silent(expression: str) -> Content:
    return {
        "code": "",
        "silent": True,
        "store_history": False,
        "allow_stdin": False,
        "stop_on_error": False,
        "user_expressions": {"answer": expression},
    }
