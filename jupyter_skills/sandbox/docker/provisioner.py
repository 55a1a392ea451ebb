"""The isolated kernel as any Jupyter client starts it.

Entry point ``jupyter_client.kernel_provisioners``, kernelspec "Python 3 (isolated)". JupyterLab, the
console, nbclient and nbval see an ordinary kernel. What they don't get is the output filter of
``execution/output.py``, which works only on what comes back to ``%%ask``.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import zmq
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Unicode

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.sandbox.docker.bridge import ZmqBridge
from jupyter_skills.sandbox.docker.container import gate_of, launch, limits_of
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.docker.link import Link
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.thread import to_the_end

_GONE_WITHIN = 10.0


class DockerProvisioner(KernelProvisionerBase):
    """Starts a kernel in a container, and ends it."""

    image = Unicode(help="The image to use instead of DockerSandbox.image; may stand in a kernelspec.").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.link: Link | None = None
        self._engine: Engine | None = None
        self._container = ""

    @property
    def has_process(self) -> bool:
        """Asked by the kernel manager: whether there is a container to look after."""
        return self.link is not None

    async def poll(self) -> int | None:
        """Asked by the kernel manager every few seconds: None while the kernel runs, else its exit status."""
        if self.link is None:
            return 0
        if not self.link.closed.is_set():
            return None
        # No word of the kernel's own end means that the whole container was ended.
        return self.link.exit_status if self.link.exit_status is not None else -int(signal.SIGKILL)

    async def wait(self) -> int | None:
        """Awaited by the kernel manager after it asked the kernel to end."""
        if self.link is None:
            return 0
        await asyncio.to_thread(self.link.closed.wait, _GONE_WITHIN)
        status = await self.poll()
        self.link = None
        return status

    async def send_signal(self, signum: int) -> None:
        """Called by the kernel manager to interrupt a kernel whose spec asks for signals."""
        if self.link is not None:
            self.link.signal(signum)

    async def kill(self, restart: bool = False) -> None:
        """Called by the kernel manager when the kernel did not end by itself."""
        if self.link is not None:
            assert self._engine is not None
            try:
                await asyncio.to_thread(self._engine.kill, self._container)
            finally:
                self.link.close()  # which ends the container too, if the engine can't be asked to

    async def terminate(self, restart: bool = False) -> None:
        """Called by the kernel manager before ``kill``; a kernel that ignored a request ignores this too."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Called by the kernel manager when the kernel has ended."""
        if self.link is not None:
            self.link.close()
            await asyncio.to_thread(self.link.closed.wait, _GONE_WITHIN)
            self.link = None
        if self._engine is not None and not restart:
            self._engine.close()
            self._engine = None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Called by the kernel manager before ``launch_kernel``: settles where clients will connect."""
        manager = self.parent
        if manager is None:
            raise SandboxFailed("The isolated kernel needs a kernel manager", "Start it through jupyter_client")
        kwargs.pop("extra_arguments", None)
        kwargs.pop("transport_encryption", None)
        manager.write_connection_file()
        self.connection_info = manager.get_connection_info()
        return await super().pre_launch(cmd=[], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Called by the kernel manager: starts the container and the kernel in it."""
        launching = asyncio.ensure_future(asyncio.to_thread(self._launch))
        try:
            await asyncio.shield(launching)
        except asyncio.CancelledError:
            # The thread goes on, and what it starts must not outlive the wish for it.
            await to_the_end(self._given_up(launching))
            raise
        return self.connection_info

    async def _given_up(self, launching: asyncio.Future[None]) -> None:
        await asyncio.wait({launching})
        await self.cleanup()

    async def get_provisioner_info(self) -> dict[str, Any]:
        """Asked by a client that saves the state of its kernels."""
        info: dict[str, Any] = await super().get_provisioner_info()
        return {**info, "container": self._container}

    def get_shutdown_wait_time(self, recommended: float = 5.0) -> float:
        """Asked by the kernel manager: how long to wait for a kernel that was asked to end."""
        return min(recommended, 2.0)

    def _launch(self) -> None:
        settings = DockerSandbox(parent=self)
        self._engine = self._engine or Engine()
        key = self.connection_info["key"]
        self._container, self.link = launch(
            self._engine,
            self.image or settings.image,
            limits_of(settings),
            settings.waive,
            {"jupyter_skills.kernel": str(self.kernel_id)},
            lambda: _bridge(self.connection_info),
            {
                "key": key.decode() if isinstance(key, bytes) else key,
                "signature_scheme": self.connection_info["signature_scheme"],
            },
            gate_of(settings),
        )


def _bridge(connection: KernelConnectionInfo) -> ZmqBridge:
    try:
        return ZmqBridge(connection)
    except zmq.ZMQError as error:
        raise SandboxFailed(f"The isolated kernel's sockets can't be made: {error}", "Run the cell again") from None
