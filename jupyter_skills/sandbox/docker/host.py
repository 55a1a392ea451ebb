"""A kernel in a container, as our own session uses it. Implements ``KernelHost``.

There is no ZeroMQ on this side: the kernel's messages come over the link as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import Callable, Mapping

import zmq
from jupyter_client.session import Session

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.sandbox.docker.container import gate_of, launch, limits_of
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.docker.link import Link
from jupyter_skills.sandbox.exchange import Exchange, is_bounded
from jupyter_skills.sandbox.host import Content, Look, OnMessage, ShellEnd, checked_look, ignore
from jupyter_skills.sandbox.inside.frames import IOPUB, SHELL
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.thread import to_the_end

_READY_WITHIN = 30.0
_GONE_WITHIN = 10.0
_ASK_AGAIN = 0.02


class _Bridge:
    """Takes the kernel's messages from the link. Implements ``Bridge``."""

    sockets: Mapping[int, zmq.Socket[bytes]] = {}

    def __init__(self, take: Callable[[int, list[bytes]], None], gone: Callable[[SandboxDied], None]) -> None:
        self.deliver = take
        self.close = gone


class DockerHost:
    """A kernel in a container.

    Args:
        engine: Where; the host closes it.
        image: The name of what the container runs from.
        settings: What it may use.
    """

    def __init__(self, engine: Engine, image: str, settings: DockerSandbox) -> None:
        self.image = ""
        self.limits: Mapping[str, object] = {
            "memory": settings.memory,
            "cpus": settings.cpus,
            "pids": settings.pids,
        }
        self._engine = engine
        self._named = image
        self._settings = settings
        self._exchange = Exchange()
        self._session = Session(key=uuid.uuid4().hex.encode(), metadata={}, check_pid=False)
        self._heard = False
        self._container = ""
        self._link: Link | None = None

    @property
    def alive(self) -> bool:
        """See ``KernelHost``."""
        return self._link is not None and not self._link.closed.is_set()

    async def start(self) -> None:
        """Starts the container, and returns when the kernel answers.

        Raises:
            SandboxProblem: It can't be had. Nothing of it stays.
        """
        launching = asyncio.ensure_future(asyncio.to_thread(self._launch))
        try:
            await asyncio.shield(launching)
            await asyncio.wait_for(self._until_ready(), _READY_WITHIN)
        except BaseException as error:
            # The thread goes on, and what it starts must not outlive the wish for it.
            await to_the_end(self._given_up(launching))
            if isinstance(error, SandboxDied | TimeoutError):
                reason = error.message if isinstance(error, SandboxDied) else f"no answer in {_READY_WITHIN:g} s"
                raise SandboxFailed(
                    f"The isolated kernel did not start: {reason}",
                    f"Check that the image '{self._named}' has python3 with ipykernel",
                ) from None
            raise

    async def _given_up(self, launching: asyncio.Future[None]) -> None:
        await asyncio.wait({launching})
        await self.end()

    def request(
        self, kind: str, content: Content, on_message: OnMessage, *, wants_idle: bool = True
    ) -> asyncio.Future[Content]:
        """See ``KernelHost``."""
        message = self._session.msg(kind, dict(content))
        link = self._alive_link()
        future = self._exchange.begin(message["header"]["msg_id"], on_message, wants_idle=wants_idle)
        link.deliver(SHELL, self._session.serialize(message))
        return future

    async def interrupt(self) -> None:
        """See ``KernelHost``."""
        self._signal(signal.SIGINT)

    async def pause(self) -> None:
        """Has the kernel stand still. Process 1 goes on: it must see when the owner is gone."""
        self._signal(signal.SIGSTOP)

    async def resume(self) -> None:
        """Has the kernel go on."""
        self._signal(signal.SIGCONT)

    async def shell(self, command: str, *, limit: int, timeout: float, on_data: Callable[[bytes], None]) -> ShellEnd:
        """See ``KernelHost``."""
        link = self._alive_link()
        request = link.request("exec", argv=["bash", "-c", command], limit=limit, on_data=on_data)
        waiting = asyncio.wrap_future(request.answer)
        try:
            await asyncio.wait({waiting}, timeout=timeout)
        except asyncio.CancelledError:
            link.kill(request)
            raise
        if in_time := waiting.done():
            result = waiting.result()
        else:
            link.kill(request)
            await asyncio.wait({waiting}, timeout=_GONE_WITHIN)
            if not waiting.done():
                await self.end()
            result = await waiting
        return ShellEnd(int(result.get("status", -1)) if in_time else None, int(result.get("dropped", 0)))

    async def put(self, archive: bytes, target: str, *, replace: bool) -> None:
        """See ``KernelHost``."""
        await self._alive_link().ask("put", body=archive, target=target, replace=replace)

    async def look(self, limit: int) -> Look:
        """See ``KernelHost``."""
        return checked_look(await self._alive_link().ask("look", limit=limit), limit)

    async def get(self, path: str, limit: int) -> bytes | None:
        """See ``KernelHost``."""
        content = bytearray()

        def on_data(piece: bytes) -> None:
            content.extend(piece[: limit - len(content)])

        try:
            await self._alive_link().ask("get", path=path, limit=limit, on_data=on_data)
        except SandboxDied:
            raise
        except SandboxFailed:
            return None
        return bytes(content)

    async def end(self) -> None:
        """See ``KernelHost``."""
        link, self._link = self._link, None
        if link is None:
            self._engine.close()
            return
        link.close()  # which ends the container too, if the engine can't be asked to

        def finish() -> None:
            with contextlib.suppress(SandboxFailed):
                self._engine.kill(self._container)
            self._engine.close()
            link.closed.wait(_GONE_WITHIN)

        await asyncio.shield(asyncio.to_thread(finish))

    def _launch(self) -> None:
        connection = {"key": self._session.key.decode(), "signature_scheme": self._session.signature_scheme}
        bridge = _Bridge(self._take, self._exchange.fail)
        limits, gate = limits_of(self._settings), gate_of(self._settings)
        self.image = self._engine.image_id(self._named) or ""
        self._container, self._link = launch(
            self._engine, self._named, limits, self._settings.waive, {}, lambda: bridge, connection, gate
        )

    async def _until_ready(self) -> None:
        """Waits for an answer on shell and for one message on iopub: what is published before is not heard."""
        assert self._link is not None
        self._link.deliver(IOPUB, [b"\x01"])
        await self.request("kernel_info_request", {}, ignore, wants_idle=False)
        while not self._heard:
            await self.request("kernel_info_request", {}, ignore, wants_idle=False)
            await asyncio.sleep(_ASK_AGAIN)

    def _take(self, channel: int, parts: list[bytes]) -> None:
        if channel not in (SHELL, IOPUB) or not is_bounded(parts):
            return
        try:
            message = self._session.deserialize(self._session.feed_identities(parts)[1])
        except Exception:  # noqa: BLE001 -- code inside can send what is no message, or is wrongly signed
            return
        if channel == SHELL:
            self._exchange.replied(message)
        else:
            self._heard = True
            self._exchange.published(message)

    def _signal(self, number: int) -> None:
        if self._link is not None:
            self._link.signal(number)

    def _alive_link(self) -> Link:
        if self._link is None:
            raise SandboxDied("lost", "The isolated kernel is gone")
        return self._link
