"""The host's end of the one stream to the container.

A link has a thread of its own, so that messages flow whether or not anything else in this process does:
Jupyter clients that block while they wait, and cells that keep the main thread busy, are both normal.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import zmq

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.docker.engine import AttachedStream
from jupyter_skills.sandbox.inside import relay

# Above this many bytes waiting for the container, the kernel's clients wait too.
_HIGH_WATER = 16 * 1024 * 1024
_LARGEST_FRAME = 64 * 1024 * 1024
_STDERR_KEPT = 4096
# Seconds for one request to the relay, which answers at once unless somebody inside keeps it from doing so.
_ANSWER_WITHIN = 60.0

Answer = dict[str, Any]


class Bridge(Protocol):
    """Carries kernel messages between a link and someone on this side. Called by the link's thread alone."""

    sockets: Mapping[int, zmq.Socket[bytes]]

    def deliver(self, channel: int, parts: list[bytes]) -> None:
        """Called for each message from the kernel."""
        ...

    def close(self) -> None:
        """Called once, when the container is gone."""
        ...


class Link:
    """The stream to one container.

    Args:
        stream: The attached stream; the link closes it.
        bridge: Takes the kernel's messages.
    """

    def __init__(self, stream: AttachedStream, bridge: Bridge) -> None:
        self._stream = stream
        self._bridge = bridge
        self._frames = relay.Frames(limit=_LARGEST_FRAME)
        self._lock = threading.Lock()
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._requests: dict[int, tuple[Future[Answer], Callable[[bytes], None]]] = {}
        self._last_number = 0
        self._wakeup, self._wake = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(self._wake, False)
        self._closing = False
        self._stderr = b""
        self.exit_status: int | None = None
        self.closed = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name="jupyter-skills-link", daemon=True)

    def start(self, connection: Mapping[str, Any]) -> None:
        """Begins to work, and has the relay start the kernel.

        Args:
            connection: The connection file's fields that matter inside: the key and its scheme.
        """
        self._send(relay.control(op="start", connection=dict(connection)))
        self._thread.start()

    def signal(self, number: int) -> None:
        """Sends a signal to the kernel."""
        self._send(relay.control(op="signal", number=int(number)))

    def request(
        self, op: str, *, body: bytes | None = None, on_data: Callable[[bytes], None] = lambda _: None, **fields: Any
    ) -> Future[Answer]:
        """Asks the relay for something; see the ``_do_…`` methods in ``relay.py`` for what there is.

        Args:
            op: What to do.
            body: Bytes to send along, for ``put``.
            on_data: Called by the link's thread with each piece of bytes that comes back.
            **fields: More for the request.

        Returns:
            The relay's answer. It fails with ``SandboxFailed`` if the relay can't do it or is gone.
        """
        answer: Future[Answer] = Future()
        with self._lock:
            self._last_number += 1
            number = self._last_number
            if not self.closed.is_set():
                self._requests[number] = (answer, on_data)
        if self.closed.is_set():
            if not answer.done():
                answer.set_exception(self.gone())
            return answer
        answer.number = number  # type: ignore[attr-defined]  # so that a caller can name it to ``kill``
        self._send(relay.control(op=op, id=number, **fields))
        if body is not None:
            for at in range(0, len(body), relay.CHUNK):
                self._send(relay.data(number, body[at : at + relay.CHUNK]))
            self._send(relay.control(op="unpack", id=number))
        return answer

    async def ask(
        self, op: str, *, body: bytes | None = None, on_data: Callable[[bytes], None] = lambda _: None, **fields: Any
    ) -> Answer:
        """``request`` for those who can await, with an end to the waiting.

        Raises:
            SandboxFailed: The relay can't do it, is gone, or doesn't answer; one that doesn't is let go of.
        """
        answer = self.request(op, body=body, on_data=on_data, **fields)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(answer), _ANSWER_WITHIN)
        except TimeoutError:
            self.close()
            raise SandboxFailed(
                "The isolated kernel does not answer", "Run the cell again: a fresh one will start"
            ) from None

    def kill(self, request: Future[Answer]) -> None:
        """Ends the program that an ``exec`` request started; its answer then comes as usual."""
        self._send(relay.control(op="kill", id=request.number))  # type: ignore[attr-defined]

    def close(self) -> None:
        """Lets go of the container, which ends it. Returns at once; ``closed`` is set when it is done."""
        self._closing = True
        self._wake_up()

    @contextmanager
    def listening(self, callback: Callable[[], None]) -> Iterator[None]:
        """Has ``callback`` called, by the link's thread or at once, if the container goes away meanwhile."""
        with self._lock:
            self._listeners.append(callback)
            gone = self.closed.is_set()
        try:
            if gone:
                callback()
            yield
        finally:
            with self._lock:
                self._listeners.remove(callback)

    def gone(self) -> SandboxFailed:
        """The error for those who still want something of the container."""
        last = clean_text(self._stderr.decode(errors="replace")).strip().rpartition("\n")[2][:200]
        return SandboxFailed(
            "The isolated kernel is gone" + (f" ({last})" if last else ""),
            "Run the cell again: a fresh one will start",
        )

    def _send(self, content: bytes) -> None:
        with self._lock:
            self._waiting.append(memoryview(content))
            self._waiting_bytes += len(content)
        self._wake_up()

    def _wake_up(self) -> None:
        with self._lock:
            # Once closed, the number of the pipe may be that of another file in this process.
            if not self.closed.is_set():
                with suppress(BlockingIOError):  # it is full: the thread is awake already
                    os.write(self._wake, b"x")

    def _run(self) -> None:
        try:
            while not self._closing and self._turn():
                pass
        except Exception as error:  # noqa: BLE001 -- code inside can write to this stream: anything may come over it
            self._stderr = f"the stream to it broke: {error}".encode()
        finally:
            self._close()

    def _turn(self) -> bool:
        poller = zmq.Poller()
        poller.register(self._stream.fileno(), zmq.POLLIN | (zmq.POLLOUT if self._waiting else 0))
        poller.register(self._wakeup, zmq.POLLIN)
        if self._waiting_bytes < _HIGH_WATER:
            for socket in self._bridge.sockets.values():
                poller.register(socket, zmq.POLLIN)
        ready = dict(poller.poll())
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        for channel, socket in self._bridge.sockets.items():
            if socket in ready:
                self._send(relay.frame(channel, relay.join_parts(socket.recv_multipart())))
        self._write()
        if ready.get(self._stream.fileno(), 0) & ~zmq.POLLOUT:
            return self._read()
        return True

    def _write(self) -> None:
        while self._waiting:
            written = self._stream.write(self._waiting[0])
            if not written:
                return
            with self._lock:
                self._waiting_bytes -= written
                rest = self._waiting[0][written:]
                if rest:
                    self._waiting[0] = rest
                    return
                self._waiting.popleft()

    def _read(self) -> bool:
        pieces = self._stream.read()
        if pieces is None:
            return False
        output, errors = pieces
        self._stderr = (self._stderr + errors)[-_STDERR_KEPT:]
        for channel, payload in self._frames.feed(output):
            if channel == relay.CONTROL:
                self._answered(json.loads(payload))
            elif channel == relay.DATA:
                number, content = relay.split_data(payload)
                if number in self._requests:
                    self._requests[number][1](content)
            else:
                self._bridge.deliver(channel, relay.split_parts(payload))
        return True

    def _answered(self, answer: Answer) -> None:
        if answer["op"] == "exited":
            self.exit_status = int(answer["status"])
            return
        with self._lock:
            future, _ = self._requests.pop(int(answer["id"]), (None, None))
        if future is None or not future.set_running_or_notify_cancel():
            return
        if answer["op"] == "done":
            future.set_result(answer)
        else:
            future.set_exception(
                SandboxFailed(f"The sandbox could not do it: {answer['message']}", "Run the cell again")
            )

    def _close(self) -> None:
        self._stream.close()
        self._bridge.close()
        with self._lock:
            self.closed.set()
            listeners = list(self._listeners)
            abandoned = [future for future, _ in self._requests.values()]
            self._requests.clear()
            os.close(self._wakeup)
            os.close(self._wake)
        for future in abandoned:
            if future.set_running_or_notify_cancel():
                future.set_exception(self.gone())
        for callback in listeners:
            callback()
