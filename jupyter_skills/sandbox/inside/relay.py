"""Process 1 inside the container: the near end of the one stream that connects it with the world.

The host passes this file's text as the container's command, so that both ends always speak the same
version and any image with ipykernel will do. It therefore imports nothing but the standard library and
pyzmq, which ipykernel brings along.

Standard input and output carry frames: a length (4 bytes, big-endian), a channel (1 byte), a payload.
Channels 1 to 5 carry the kernel's five ZeroMQ channels, part by part; ``CONTROL`` carries JSON; ``DATA``
carries bytes that belong to the JSON request whose number stands in front of them. When standard input
ends, its owner is gone, and so is this process, and with it the container.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from typing import Any

import zmq

CONTROL, SHELL, CONTROL_CHANNEL, STDIN, IOPUB, HEARTBEAT, DATA = range(7)
KERNEL_CHANNELS = {
    "shell": SHELL,
    "control": CONTROL_CHANNEL,
    "stdin": STDIN,
    "iopub": IOPUB,
    "hb": HEARTBEAT,
}
WORK, SKILLS = "/work", "/skills"
CHUNK = 256 * 1024
_HEAD = struct.Struct(">IB")
_NUMBER = struct.Struct(">I")


def frame(channel: int, payload: bytes) -> bytes:
    """One frame, ready to be written."""
    return _HEAD.pack(len(payload), channel) + payload


def control(**fields: Any) -> bytes:
    """One frame of JSON."""
    return frame(CONTROL, json.dumps(fields).encode())


def data(number: int, content: bytes) -> bytes:
    """One frame of bytes that belong to the request ``number``."""
    return frame(DATA, _NUMBER.pack(number) + content)


def split_data(payload: bytes) -> tuple[int, bytes]:
    """The request's number and the bytes of a ``DATA`` frame."""
    return _NUMBER.unpack_from(payload)[0], payload[_NUMBER.size :]


def join_parts(parts: list[bytes]) -> bytes:
    """A ZeroMQ message as one payload."""
    return b"".join(_NUMBER.pack(len(part)) + part for part in parts)


def split_parts(payload: bytes) -> list[bytes]:
    """The ZeroMQ message in a payload."""
    parts, at = [], 0
    while at < len(payload):
        size = _NUMBER.unpack_from(payload, at)[0]
        at += _NUMBER.size
        parts.append(payload[at : at + size])
        at += size
    return parts


class Frames:
    """Cuts a stream of bytes into frames.

    Args:
        limit: The largest payload to accept, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, piece: bytes) -> Iterator[tuple[int, bytes]]:
        """The frames that this piece completes, each as channel and payload.

        Raises:
            ValueError: A payload is larger than the limit.
        """
        self._buffer += piece
        at = 0
        while len(self._buffer) - at >= _HEAD.size:
            size, channel = _HEAD.unpack_from(self._buffer, at)
            if size > self._limit:
                raise ValueError(f"a frame of {size} bytes is over the limit of {self._limit}")
            if len(self._buffer) - at < _HEAD.size + size:
                break
            start = at + _HEAD.size
            yield channel, bytes(self._buffer[start : start + size])
            at = start + size
        del self._buffer[:at]


class _Shell:
    """A program started for ``exec``; its output is read in the relay's loop."""

    def __init__(self, number: int, request: dict[str, Any]) -> None:
        self.number = number
        self.left = request["limit"]
        self.dropped = 0
        self.process = subprocess.Popen(
            request["argv"],
            cwd=WORK,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.fd = self.process.stdout.fileno()
        self.watched = True
        os.set_blocking(self.fd, False)

    def read(self) -> bytes | None:
        """What it printed since, within the limit; None once there is no more to come."""
        try:
            piece = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return b""
        kept = piece[: self.left]
        self.left -= len(kept)
        self.dropped += len(piece) - len(kept)
        return kept if piece else None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Relay:
    """The loop of process 1: it starts the kernel, carries messages and files, and reaps what dies."""

    def __init__(self) -> None:
        self._frames = Frames(limit=1 << 30)
        self._sockets: dict[int, zmq.Socket[bytes]] = {}
        self._kernel: subprocess.Popen[bytes] | None = None
        self._shells: dict[int, _Shell] = {}
        self._puts: dict[int, tuple[dict[str, Any], io.BytesIO]] = {}
        self._poller = zmq.Poller()
        self._poller.register(0, zmq.POLLIN)
        # A child's death must wake the loop: the signal's number is written into this pipe.
        self._wakeup, wakeup_in = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(wakeup_in, False)
        signal.set_wakeup_fd(wakeup_in)
        signal.signal(signal.SIGCHLD, lambda *_: None)
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
            for shell in [shell for shell in self._shells.values() if shell.fd in ready]:
                self._drain(shell)
            if self._wakeup in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakeup, 4096)
                status = self._reap()
                if status is not None:
                    _write(control(op="exited", status=status))
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
            number, content = split_data(payload)
            if number in self._puts:
                self._puts[number][1].write(content)
        elif channel == CONTROL:
            request = json.loads(payload)
            try:
                getattr(self, "_do_" + request["op"])(request)
            except Exception as error:  # noqa: BLE001 -- whatever it was, the host waits for an answer
                _write(control(op="failed", id=request.get("id"), message=f"{type(error).__name__}: {error}"))

    def _do_start(self, request: dict[str, Any]) -> None:
        """Starts the kernel; its ports are numbers in the names of sockets under /tmp."""
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
            cwd=WORK,
            stdin=subprocess.DEVNULL,
            stdout=2,
            stderr=2,
        )

    def _do_signal(self, request: dict[str, Any]) -> None:
        if self._kernel is not None:
            os.kill(self._kernel.pid, request["number"])  # Popen's own way might reap the kernel unseen

    def _do_put(self, request: dict[str, Any]) -> None:
        """Begins to take a tar; the bytes follow as data, and ``unpack`` ends it."""
        self._puts[request["id"]] = (request, io.BytesIO())

    def _do_unpack(self, request: dict[str, Any]) -> None:
        opened, archive = self._puts.pop(request["id"])
        archive.seek(0)
        target = os.path.join(SKILLS, os.path.basename(opened["name"]))
        shutil.rmtree(target, ignore_errors=True)
        with tarfile.open(fileobj=archive) as members:
            for member in members:
                path = os.path.join(target, member.name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                content = members.extractfile(member)
                assert content is not None
                with open(path, "wb") as file:
                    file.write(content.read())
                os.chmod(path, member.mode)
        _write(control(op="done", id=request["id"]))

    def _do_list(self, request: dict[str, Any]) -> None:
        """Lists the regular files below the working folder: path, size and time of change."""
        found: list[tuple[str, int, int]] = []
        for folder, folders, names in os.walk(WORK):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError, UnicodeError):
                    facts = os.lstat(path)
                    if stat.S_ISREG(facts.st_mode):
                        path.encode()
                        found.append((os.path.relpath(path, WORK), facts.st_size, facts.st_mtime_ns))
                if len(found) >= request["limit"]:
                    _write(control(op="done", id=request["id"], files=found, complete=False))
                    return
        _write(control(op="done", id=request["id"], files=found, complete=True))

    def _do_get(self, request: dict[str, Any]) -> None:
        """Sends one regular file, if it is within the limit."""
        path = os.path.join(WORK, request["path"])
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > request["limit"]:
                raise ValueError("not a regular file within the limit")
            left = request["limit"]
            while left > 0 and (piece := file.read(min(CHUNK, left))):
                left -= len(piece)
                _write(data(request["id"], piece))
        _write(control(op="done", id=request["id"]))

    def _do_exec(self, request: dict[str, Any]) -> None:
        shell = _Shell(request["id"], request)
        self._shells[shell.number] = shell
        self._poller.register(shell.fd, zmq.POLLIN)

    def _do_kill(self, request: dict[str, Any]) -> None:
        if request["id"] in self._shells:
            self._shells[request["id"]].kill()

    def _drain(self, shell: _Shell) -> bool:
        """Passes on what a program printed; false once there is no more to read now."""
        piece = shell.read()
        if piece is None:
            self._unwatch(shell)
            return False
        if piece:
            _write(data(shell.number, piece))
        return bool(piece)

    def _unwatch(self, shell: _Shell) -> None:
        if shell.watched:
            shell.watched = False
            self._poller.unregister(shell.fd)

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
            for shell in [shell for shell in self._shells.values() if shell.process.pid == pid]:
                self._finish(shell, code)

    def _finish(self, shell: _Shell, code: int) -> None:
        # What it started in the background may hold the pipe open: only what is there already is its output.
        while self._drain(shell):
            pass
        self._unwatch(shell)
        del self._shells[shell.number]
        shell.process.returncode = code
        assert shell.process.stdout is not None
        shell.process.stdout.close()
        _write(control(op="done", id=shell.number, status=code, dropped=shell.dropped))


def _write(content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    # Code in the kernel has the same user: without this it could open this process's streams and write to them.
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    sys.exit(Relay().run())
