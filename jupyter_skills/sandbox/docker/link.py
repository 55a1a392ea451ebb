"""The host's end of the one stream to the container.

A link has a thread of its own, so that messages flow whether or not anything else in this process does:
Jupyter clients that block while they wait, and cells that keep the main thread busy, are both normal.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import zmq

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.docker.stream import AttachedStream
from jupyter_skills.sandbox.inside import frames

# Above this many bytes waiting for the container, the kernel's clients wait too.
_HIGH_WATER = 16 * 1024 * 1024
_LARGEST_FRAME = 32 * 1024 * 1024
_STDERR_KEPT = 4096
# Seconds for one request to the relay, which answers at once unless somebody inside keeps it from doing so.
_ANSWER_WITHIN = 60.0

Answer = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """Something that the relay was asked for.

    Args:
        number: What it is known by.
        answer: The relay's answer, or why there is none.
    """

    number: int
    answer: Future[Answer]


class Bridge(Protocol):
    """Carries kernel messages between a link and someone on this side. Called by the link's thread alone."""

    sockets: Mapping[int, zmq.Socket[bytes]]

    def deliver(self, channel: int, parts: list[bytes]) -> None:
        """Called for each message from the kernel."""
        ...

    def close(self, reason: SandboxDied) -> None:
        """Called once, by the link's thread, when the container is gone."""
        ...


class Gate(Protocol):
    """The way out of a container, for what comes as ``NET`` frames."""

    @property
    def direct(self) -> Sequence[str]:
        """The hosts that programs inside are not to ask it for."""
        ...

    def start(self, send: Callable[[bytes], None]) -> None:
        """Called before the first frame, with what sends frames into the container."""
        ...

    def receive(self, payload: bytes) -> None:
        """Called by the link's thread with the payload of each frame; a ``ValueError`` ends the link."""
        ...

    def close(self) -> None:
        """Called once, by the link's thread, when the container is gone."""
        ...


class Link:
    """The stream to one container.

    Args:
        stream: The attached stream; the link closes it.
        bridge: Takes the kernel's messages.
        gate: The way out of it; None if there is none. The link closes it.
    """

    def __init__(self, stream: AttachedStream, bridge: Bridge, gate: Gate | None = None) -> None:
        self._stream = stream
        self._bridge = bridge
        self._gate = gate
        self._frames = frames.Frames(limit=_LARGEST_FRAME)
        self._lock = threading.Lock()
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._requests: dict[int, tuple[Future[Answer], Callable[[bytes], None]]] = {}
        self._last_number = 0
        self._wakeup, self._wake = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(self._wake, False)
        self._closing = False
        self._has_kernel = False
        self._stderr = b""
        self._hello: Future[Mapping[str, Any]] = Future()
        self._exited: Answer | None = None
        self.closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jupyter-skills-link", daemon=True)

    def start(self) -> Mapping[str, Any]:
        """Begins to work; returns what the relay says of the container, see ``inside/probe.py``. Blocks until then.

        Raises:
            SandboxDied: The relay did not start.
        """
        self._thread.start()
        try:
            return self._hello.result(_ANSWER_WITHIN)
        except TimeoutError:
            raise SandboxDied("lost", "The container does not answer") from None

    def start_kernel(self, connection: Mapping[str, Any]) -> None:
        """Has the relay start the kernel.

        Args:
            connection: The connection file's fields that matter inside: the key and its scheme.
        """
        way_out: dict[str, Any] = {}
        if self._gate is not None:
            self._gate.start(self._send)
            way_out = {"proxy": True, "direct": list(self._gate.direct)}
        self._send(frames.control(op="start", connection=dict(connection), **way_out))
        self._has_kernel = True
        self._wake_up()

    @property
    def exit_status(self) -> int | None:
        """The kernel's, once it has ended by itself; the whole container's end tells nothing of it."""
        return self._exited["status"] if self._exited else None

    def deliver(self, channel: int, parts: list[bytes]) -> None:
        """Sends a message to the kernel."""
        self._send(frames.frame(channel, frames.join_parts(parts)))

    def signal(self, number: int) -> None:
        """Sends a signal to the kernel."""
        self._send(frames.control(op="signal", number=int(number)))

    def request(
        self, op: str, *, body: bytes | None = None, on_data: Callable[[bytes], None] = lambda _: None, **fields: Any
    ) -> Request:
        """Asks the relay for something; see the ``_do_…`` methods in ``relay.py`` for what there is.

        Args:
            op: What to do.
            body: Bytes to send along, for ``put``.
            on_data: Called by the link's thread with each piece of bytes that comes back.
            **fields: More for the request.

        Returns:
            Its answer is the relay's. It fails with ``SandboxFailed`` if the relay can't do it, with ``SandboxDied`` if
            it is gone.
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
            return Request(number, answer)
        self._send(frames.control(op=op, id=number, **fields))
        if body is not None:
            for at in range(0, len(body), frames.CHUNK):
                self._send(frames.numbered(frames.DATA, number, body[at : at + frames.CHUNK]))
            self._send(frames.control(op="unpack", id=number))
        return Request(number, answer)

    async def ask(
        self, op: str, *, body: bytes | None = None, on_data: Callable[[bytes], None] = lambda _: None, **fields: Any
    ) -> Answer:
        """``request`` for those who can await, with an end to the waiting.

        Raises:
            SandboxFailed: The relay can't do it, is gone, or doesn't answer; one that doesn't is let go of.
        """
        request = self.request(op, body=body, on_data=on_data, **fields)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(request.answer), _ANSWER_WITHIN)
        except TimeoutError:
            self.close()
            raise SandboxFailed(
                "The isolated kernel does not answer", "Run the cell again: a fresh one will start"
            ) from None

    def kill(self, request: Request) -> None:
        """Ends the program that an ``exec`` request started; its answer then comes as usual."""
        self._send(frames.control(op="kill", id=request.number))

    def close(self) -> None:
        """Lets go of the container, which ends it. Returns at once; ``closed`` is set when it is done."""
        self._closing = True
        self._wake_up()

    def gone(self) -> SandboxDied:
        """The error for those who still want something of the container."""
        if self._exited is None:
            said = clean_text(self._stderr.decode(errors="replace")).strip().splitlines()
            # ipykernel greets whoever would start it by hand.
            last = next(
                (line.strip()[:200] for line in reversed(said) if line.strip() and "--existing" not in line), ""
            )
            return SandboxDied("lost", f"The isolated kernel is gone{f' ({last})' if last else ''}")
        status = int(self._exited["status"])
        if status == -signal.SIGKILL and self._exited.get("out_of_memory"):
            return SandboxDied("out_of_memory", "The isolated kernel ran out of memory and was ended")
        return SandboxDied("exited", f"The isolated kernel ended (exit status {status})")

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
        # Before the kernel there is nobody inside to take what its clients send, their subscriptions among it.
        if self._has_kernel and self._waiting_bytes < _HIGH_WATER:
            for socket in self._bridge.sockets.values():
                poller.register(socket, zmq.POLLIN)
        ready = dict(poller.poll())
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        for channel, socket in self._bridge.sockets.items():
            if socket in ready:
                self.deliver(channel, socket.recv_multipart())
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
            if channel == frames.CONTROL:
                self._answered(json.loads(payload))
            elif channel == frames.DATA:
                number, content = frames.split_number(payload)
                if number in self._requests:
                    self._requests[number][1](content)
            elif channel == frames.NET:
                if self._gate is None:
                    raise ValueError("there is no way out")
                self._gate.receive(payload)
            else:
                self._bridge.deliver(channel, frames.split_parts(payload))
        return True

    def _answered(self, answer: Answer) -> None:
        if answer["op"] == "exited":
            self._exited = {**answer, "status": int(answer["status"])}
            return
        if answer["op"] == "hello":
            if not self._hello.done():
                self._hello.set_result(answer.get("facts") or {})
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
        self._bridge.close(self.gone())
        if self._gate is not None:
            self._gate.close()
        with self._lock:
            self.closed.set()
            abandoned = [future for future, _ in self._requests.values()]
            self._requests.clear()
            os.close(self._wakeup)
            os.close(self._wake)
        if not self._hello.done():
            self._hello.set_exception(self.gone())
        for future in abandoned:
            if future.set_running_or_notify_cancel():
                future.set_exception(self.gone())
