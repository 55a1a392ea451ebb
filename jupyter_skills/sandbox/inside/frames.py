"""The frames on the one stream between the host and the container; both ends read this file.

A frame is a length (4 bytes, big-endian), a channel (1 byte) and a payload. Channels 1 to 5 carry the kernel's five
ZeroMQ channels, message by message; ``CONTROL`` carries JSON; ``DATA`` and ``NET`` carry bytes that belong to the
request, or the connection, whose number stands in front of them.

In a ``NET`` frame a byte follows the number and says what the rest is:

- ``OPEN``: a program has connected to the proxy inside. Numbers count up from 1.
- ``BYTES``: what the program, or the server, has sent; never empty.
- ``CREDIT`` (4 bytes): this many bytes have been used up, and as many more may be sent. Each end begins with ``WINDOW``
  bytes for each connection and never sends more than it has been given.
- ``END``: there will be no more bytes from this end.
- ``CLOSE``: from inside, that the program is gone; from the host, that the connection is over, and its place free. The
  host says so once for each connection. Without an ``END`` before it, the connection broke.

There are at most ``MOST_CONNECTIONS`` at once, so what either end holds has a bound.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

CONTROL, SHELL, CONTROL_CHANNEL, STDIN, IOPUB, HEARTBEAT, DATA, NET = range(8)
KERNEL_CHANNELS = {
    "shell": SHELL,
    "control": CONTROL_CHANNEL,
    "stdin": STDIN,
    "iopub": IOPUB,
    "hb": HEARTBEAT,
}
CHUNK = 256 * 1024
OPEN, BYTES, CREDIT, END, CLOSE = range(5)
WINDOW = 128 * 1024
MOST_CONNECTIONS = 64
_HEAD = struct.Struct(">IB")
_NUMBER = struct.Struct(">I")


def frame(channel: int, payload: bytes) -> bytes:
    """One frame, ready to be written."""
    return _HEAD.pack(len(payload), channel) + payload


def control(**fields: Any) -> bytes:
    """One frame of JSON."""
    return frame(CONTROL, json.dumps(fields).encode())


def numbered(channel: int, number: int, content: bytes) -> bytes:
    """One frame of bytes that belong to ``number``."""
    return frame(channel, _NUMBER.pack(number) + content)


def split_number(payload: bytes) -> tuple[int, bytes]:
    """The number in front of a payload, and the bytes behind it."""
    return _NUMBER.unpack_from(payload)[0], payload[_NUMBER.size :]


def net(number: int, kind: int, content: bytes = b"") -> bytes:
    """One frame about the connection ``number``."""
    return numbered(NET, number, bytes([kind]) + content)


def credit(number: int, size: int) -> bytes:
    """One frame that lets the other end send ``size`` more bytes."""
    return net(number, CREDIT, _NUMBER.pack(size))


def split_net(payload: bytes) -> tuple[int, int, bytes]:
    """The number of a connection, what is said about it, and the bytes that belong to that.

    Raises:
        ValueError: It is no such payload.
    """
    number, content = split_number(payload) if len(payload) > _NUMBER.size else (0, b"\xff")
    kind, rest = content[0], content[1:]
    sizes = {OPEN: range(1), BYTES: range(1, WINDOW + 1), CREDIT: range(4, 5), END: range(1), CLOSE: range(1)}
    if len(rest) not in sizes.get(kind, ()):
        raise ValueError("a frame about a connection makes no sense")
    return number, kind, rest


def credited(content: bytes) -> int:
    """How many bytes a ``CREDIT`` gives."""
    return int(_NUMBER.unpack(content)[0])


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
    """Cuts a stream of bytes into frames. Those over the limit are skipped, without being kept meanwhile.

    Args:
        limit: The largest payload to take, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._skip = 0

    def feed(self, piece: bytes) -> Iterator[tuple[int, bytes]]:
        """The frames that this piece completes, each as channel and payload."""
        if self._skip:
            skipped = min(self._skip, len(piece))
            self._skip -= skipped
            piece = piece[skipped:]
        self._buffer += piece
        at = 0
        while len(self._buffer) - at >= _HEAD.size:
            size, channel = _HEAD.unpack_from(self._buffer, at)
            start = at + _HEAD.size
            there = len(self._buffer) - start
            if size > self._limit:
                at = start + min(size, there)
                self._skip = size - min(size, there)
                continue
            if there < size:
                break
            with memoryview(self._buffer) as view:
                payload = bytes(view[start : start + size])
            at = start + size
            yield channel, payload
        del self._buffer[:at]
