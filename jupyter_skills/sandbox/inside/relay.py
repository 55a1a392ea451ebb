"""Process 1 inside the container: the near end of the one stream that connects it with the world.

The host passes its text, and that of the files it imports, as the container's command, so that both ends always
speak the same version and any image with ipykernel will do. When standard input ends, its owner is gone, and so is
this process, and with it the container.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import signal
import subprocess
import sys
from typing import Any

import zmq

from jupyter_skills.sandbox.inside import folders, probe, proxy
from jupyter_skills.sandbox.inside.frames import (
    CHUNK,
    CONTROL,
    DATA,
    IOPUB,
    KERNEL_CHANNELS,
    NET,
    Frames,
    control,
    frame,
    join_parts,
    numbered,
    split_number,
    split_parts,
)
from jupyter_skills.sandbox.inside.programs import Program
from jupyter_skills.sandbox.inside.tallies import tallies


class Relay:
    """The loop of process 1: it starts the kernel, carries messages and files, and reaps what dies."""

    def __init__(self) -> None:
        self._frames = Frames(limit=1 << 30)
        self._sockets: dict[int, zmq.Socket[bytes]] = {}
        self._kernel: subprocess.Popen[bytes] | None = None
        self._programs: dict[int, Program] = {}
        self._puts: dict[int, tuple[dict[str, Any], io.BytesIO]] = {}
        self._proxy: proxy.Proxy | None = None
        self._poller = zmq.Poller()
        self._poller.register(0, zmq.POLLIN)
        # A child's death must wake the loop: the signal's number is written into this pipe.
        self._wakeup, wakeup_in = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(wakeup_in, False)
        signal.set_wakeup_fd(wakeup_in)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, lambda *_: None)  # code inside may send it
        self._poller.register(self._wakeup, zmq.POLLIN)

    def run(self) -> int:
        """Works until the owner or the kernel is gone; returns the exit status for the container."""
        while True:
            ready = dict(self._poller.poll())
            if 0 in ready:
                piece = os.read(0, CHUNK)
                if not piece:
                    return 0
                for channel, payload in self._frames.feed(piece):
                    self._receive(channel, payload)
            for channel, socket in self._sockets.items():
                if socket in ready:
                    self._forward(channel, socket)
            for program in [program for program in self._programs.values() if program.fd in ready]:
                self._drain(program)
            if self._proxy is not None:
                self._proxy.turn(ready)
            if self._wakeup in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakeup, 4096)
                status = self._reap()
                if status is not None:
                    _write(control(op="exited", status=status, **tallies()))
                    return 0

    def _forward(self, channel: int, socket: zmq.Socket[bytes]) -> None:
        for _ in range(100):  # a flood on one channel must not keep the others waiting
            try:
                parts = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            _write(frame(channel, join_parts(parts)))

    def _receive(self, channel: int, payload: bytes) -> None:
        if channel in self._sockets:
            with contextlib.suppress(zmq.Again):
                self._sockets[channel].send_multipart(split_parts(payload), zmq.NOBLOCK)
        elif channel == DATA:
            number, content = split_number(payload)
            if number in self._puts:
                self._puts[number][1].write(content)
        elif channel == NET:
            if self._proxy is not None:
                self._proxy.receive(payload)
        elif channel == CONTROL:
            request = json.loads(payload)
            try:
                getattr(self, "_do_" + request["op"])(request)
            except Exception as error:  # noqa: BLE001 -- whatever it was, the host waits for an answer
                _write(control(op="failed", id=request.get("id"), message=f"{type(error).__name__}: {error}"))

    def _do_start(self, request: dict[str, Any]) -> None:
        """Starts the kernel; its ports are numbers in the names of sockets under /tmp."""
        if request.get("proxy"):
            self._proxy = proxy.start(self._poller, _write, request["direct"])
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        names = {f"{name}_port": number for name, number in KERNEL_CHANNELS.items()}
        connection = {**request["connection"], "transport": "ipc", "ip": "/tmp/kernel", **names}  # noqa: S108
        with open(os.open("/tmp/kernel.json", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:  # noqa: S108
            json.dump(connection, file)
        for channel in KERNEL_CHANNELS.values():
            socket = context.socket(zmq.XSUB if channel == IOPUB else zmq.DEALER)
            # The kernel asks for input on the stdin channel under the name its request came with on shell.
            socket.setsockopt(zmq.IDENTITY, b"relay")
            socket.setsockopt(zmq.LINGER, 0)
            socket.connect(f"ipc:///tmp/kernel-{channel}")
            self._sockets[channel] = socket
            self._poller.register(socket, zmq.POLLIN)
        self._kernel = subprocess.Popen(
            [sys.executable, "-m", "ipykernel_launcher", "-f", "/tmp/kernel.json"],  # noqa: S108
            cwd=folders.WORK,
            stdin=subprocess.DEVNULL,
            stdout=2,
            stderr=2,
            start_new_session=True,
        )

    def _do_signal(self, request: dict[str, Any]) -> None:
        """Signals the kernel and what it started: an interrupt in a terminal reaches both, too."""
        if self._kernel is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._kernel.pid, request["number"])  # Popen's own way might reap the kernel unseen

    def _do_put(self, request: dict[str, Any]) -> None:
        """Begins to take a tar; the bytes follow as data, and ``unpack`` ends it."""
        self._puts[request["id"]] = (request, io.BytesIO())

    def _do_unpack(self, request: dict[str, Any]) -> None:
        opened, archive = self._puts.pop(request["id"])
        archive.seek(0)
        folders.unpack(archive, opened["target"], opened["replace"])
        _write(control(op="done", id=request["id"]))

    def _do_look(self, request: dict[str, Any]) -> None:
        """Says what lies in the working folder, and what the limits have met with."""
        files, complete = folders.listing(request["limit"])
        _write(control(op="done", id=request["id"], files=files, complete=complete, full=folders.full(), **tallies()))

    def _do_get(self, request: dict[str, Any]) -> None:
        for piece in folders.content(request["path"], request["limit"], CHUNK):
            _write(numbered(DATA, request["id"], piece))
        _write(control(op="done", id=request["id"]))

    def _do_exec(self, request: dict[str, Any]) -> None:
        program = Program(request["id"], request, folders.WORK, CHUNK)
        self._programs[program.number] = program
        self._poller.register(program.fd, zmq.POLLIN)

    def _do_kill(self, request: dict[str, Any]) -> None:
        if request["id"] in self._programs:
            self._programs[request["id"]].kill()

    def _drain(self, program: Program) -> None:
        """Passes on what a program has printed; a pipe holds less than one read takes."""
        piece = program.read()
        if piece is None:
            self._unwatch(program)
        elif piece:
            _write(numbered(DATA, program.number, piece))

    def _unwatch(self, program: Program) -> None:
        if program.watched:
            program.watched = False
            self._poller.unregister(program.fd)

    def _reap(self) -> int | None:
        """Collects the dead; returns the kernel's status if it is among them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == 0:
                return None
            code = os.waitstatus_to_exitcode(status)
            if self._kernel is not None and pid == self._kernel.pid:
                return code
            for program in [program for program in self._programs.values() if program.process.pid == pid]:
                self._finish(program, code)

    def _finish(self, program: Program, code: int) -> None:
        # What it started in the background may hold the pipe open, and write on: what is there already is its output.
        self._drain(program)
        self._unwatch(program)
        del self._programs[program.number]
        program.close(code)
        _write(control(op="done", id=program.number, status=code, dropped=program.dropped))


def _write(content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(1, view) :]


def main() -> None:
    """What the container runs."""
    # Code in the kernel has the same user: without this it could open this process's streams and write to them.
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    _write(control(op="hello", facts=probe.facts()))
    sys.exit(Relay().run())
