"""Programs that process 1 starts for the host, and what becomes of their children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any

_MARK = "JUPYTER_SKILLS_CALL"
_MOST_ROUNDS = 50


class Program:
    """A program started for ``exec``.

    Args:
        number: The request's number; the program and its children carry it in their environment.
        request: Has its ``argv``, and as ``limit`` how many bytes of output to pass on.
        folder: Where it starts.
        chunk: How many bytes to read at once.
    """

    def __init__(self, number: int, request: dict[str, Any], folder: str, chunk: int) -> None:
        self.number = number
        self.left = request["limit"]
        self.dropped = 0
        self._chunk = chunk
        self.process = subprocess.Popen(
            request["argv"],
            cwd=folder,
            env={**os.environ, _MARK: str(number)},
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
            piece = os.read(self.fd, self._chunk)
        except BlockingIOError:
            return b""
        kept = piece[: self.left]
        self.left -= len(kept)
        self.dropped += len(piece) - len(kept)
        return kept if piece else None

    def kill(self) -> None:
        """Ends it and all it started, those that left its process group too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        mark = f"{_MARK}={self.number}".encode()
        for _ in range(_MOST_ROUNDS):
            marked = [pid for pid in _processes() if mark in _environment(pid)]
            if not marked:
                return
            # Stopped first: a fork bomb makes new ones while the old are being killed.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in marked:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)

    def close(self, status: int) -> None:
        """Called when it was reaped, with its exit status."""
        self.process.returncode = status
        assert self.process.stdout is not None
        self.process.stdout.close()


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _environment(pid: int) -> list[bytes]:
    """The environment that a process began with; that of a dead one is empty."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
