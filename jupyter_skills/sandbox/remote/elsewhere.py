"""What all kernels that others run have in common: a thread that speaks for them, one end, and no packages of ours."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from jupyter_skills.errors import BuildFailed, SandboxDied
from jupyter_skills.sandbox.host import KernelHost
from jupyter_skills.sandbox.remote.by_code import ByCode
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.setup import get_ready
from jupyter_skills.sandbox.thread import LoopThread, outlasting


class RemoteHost(ByCode, KernelHost):
    """A kernel that somebody else runs. Implements ``KernelHost`` with what each kind adds.

    Args:
        thread: The name of the thread that speaks for it: a session is used from several event loops.
    """

    image = ""
    limits: Mapping[str, object] = {}

    def __init__(self, thread: str) -> None:
        self._thread = LoopThread(thread)
        self._died: SandboxDied | None = None
        self._ended: Future[None] | None = None
        self._mutex = threading.Lock()

    @abstractmethod
    async def start(self) -> None:
        """Starts the kernel, and returns when it can be used.

        Raises:
            SandboxProblem: It can't be had. Nothing of it stays.
        """

    async def end(self) -> None:
        """See ``KernelHost``."""
        await outlasting(self._begin_end())

    @abstractmethod
    async def _end(self) -> None:
        """Ends it, in its thread; called once."""

    def _begin_end(self) -> Future[None]:
        with self._mutex:
            if self._ended is None:
                self._ended = self._thread.submit(self._end())
                self._ended.add_done_callback(lambda _: self._thread.stop())
            return self._ended


Host = TypeVar("Host", bound=RemoteHost)


class RemoteLauncher(ABC, Generic[Host]):
    """Starts kernels that somebody else runs. Implements ``Launcher`` with the host that each kind makes.

    Args:
        settings: The limits on what comes back; read at each start. What a kernel may use is others' to say.
    """

    def __init__(self, settings: DockerSandbox) -> None:
        self._settings = settings

    @abstractmethod
    def _host(self) -> Host:
        """A host that has not started yet."""

    async def launch(self, requirements: Sequence[str]) -> Host:
        """See ``Launcher``. Requirements that a kernel meets already are not asked for.

        Raises:
            BuildFailed: There are some.
        """
        if requirements:
            raise BuildFailed(
                f"The kernel lacks {', '.join(requirements)}, and packages can't be installed from here",
                "Have them installed in the image that it runs from",
            )
        host = self._host()
        await host.start()
        await get_ready(host, self._settings)
        return host

    def prepare(self, requirements: Sequence[str]) -> None:
        """See ``Launcher``."""

    async def close(self) -> None:
        """See ``Launcher``."""
