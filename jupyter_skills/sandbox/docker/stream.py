"""The connection to a container's standard input and output."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from typing import Protocol


class Closeable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Closes it; called again it does nothing."""
        ...


class AttachedStream:
    """Standard input and output of a container, over the engine's own connection.

    Source: Docker Engine API, "Attach to a container", stream format.

    Args:
        connection: The engine's connection, as a socket.
        holder: What the engine's client gave it in; closed with it.
    """

    _HEAD = struct.Struct(">BxxxI")
    _STDERR = 2

    def __init__(self, connection: socket.socket, holder: Closeable) -> None:
        self._socket = connection
        self._holder = holder
        self._socket.setblocking(False)
        self._buffer = bytearray()

    def fileno(self) -> int:
        """For polling."""
        return self._socket.fileno()

    def read(self) -> tuple[bytes, bytes] | None:
        """What came since on the container's output and error output; None at the end."""
        try:
            piece = self._socket.recv(1 << 18)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return b"", b""
        except OSError:
            return None
        if not piece:
            return None
        self._buffer += piece
        output: list[bytes] = []
        errors: list[bytes] = []
        at = 0
        while len(self._buffer) - at >= self._HEAD.size:
            stream, size = self._HEAD.unpack_from(self._buffer, at)
            end = at + self._HEAD.size + size
            if end > len(self._buffer):
                break
            (errors if stream == self._STDERR else output).append(bytes(self._buffer[at + self._HEAD.size : end]))
            at = end
        del self._buffer[:at]
        return b"".join(output), b"".join(errors)

    def write(self, content: memoryview) -> int:
        """Writes what can be written now; returns how many bytes that was.

        Raises:
            OSError: The container is gone.
        """
        try:
            return self._socket.send(content)
        except (BlockingIOError, InterruptedError, ssl.SSLWantWriteError):
            return 0

    def close(self) -> None:
        """Lets go of the container, which ends it."""
        # A close alone would not reach the engine while another thread still reads.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._holder.close()
