"""One connection of a program inside, as the host has it: bytes both ways, with a bound on what is held."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from jupyter_skills.sandbox.inside import frames

_PIECE = 64 * 1024


class Channel:
    """The host's end of one connection inside.

    ``take`` is for the link's thread, all else for the gatekeeper's loop.

    Args:
        number: The connection's number on the stream.
        send: Sends a frame; may be called by any thread, and returns at once.
        loop: The gatekeeper's.
    """

    def __init__(self, number: int, send: Callable[[bytes], None], loop: asyncio.AbstractEventLoop) -> None:
        self._number = number
        self._send = send
        self._loop = loop
        self._lock = threading.Lock()
        self._incoming = bytearray()
        self._allowance = frames.WINDOW  # bytes that may still come
        self._used = 0  # of what came, and not yet credited
        self._credit = frames.WINDOW  # bytes that may still be sent
        self._ended = False
        self._gone = False
        self._said_end = False
        self._waking = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._lost = asyncio.Event()

    def take(self, kind: int, content: bytes) -> None:
        """Takes what is said about this connection inside.

        Raises:
            ValueError: It breaks the rules of ``frames.py``.
        """
        with self._lock:
            if kind == frames.BYTES:
                self._allowance -= len(content)
                if self._allowance < 0 or self._ended:
                    raise ValueError("a connection inside sends more than it may")
                self._incoming += content
            elif kind == frames.CREDIT:
                self._credit += frames.credited(content)
                if self._credit > frames.WINDOW:
                    raise ValueError("a connection inside takes more than it was sent")
            elif kind == frames.END:
                self._ended = True
            else:
                self._gone = True
            # One wake-up at a time: a flood of small pieces must not fill the loop's queue.
            if not self._waking:
                self._waking = True
                self._loop.call_soon_threadsafe(self._wake)

    async def read(self, most: int = _PIECE) -> bytes:
        """What has come, as soon as there is something; nothing at the end.

        Raises:
            ConnectionResetError: The program is gone.
        """
        await self._until(lambda: bool(self._incoming) or self._ended, self._readable)
        return self._taken(most)

    async def read_until(self, mark: bytes, limit: int) -> bytes:
        """What has come up to a mark, which is included.

        Raises:
            ValueError: It doesn't come, or not within ``limit`` bytes.
            ConnectionResetError: The program is gone.
        """
        found = -1

        def settled() -> bool:
            nonlocal found
            found = self._incoming.find(mark, 0, limit)
            return found >= 0 or self._ended or len(self._incoming) >= limit

        await self._until(settled, self._readable)
        if found >= 0:
            return self._taken(found + len(mark))
        if len(self._incoming) >= limit:
            raise ValueError(f"it is longer than {limit} bytes")
        raise ValueError("it ends early")

    async def write(self, content: bytes) -> None:
        """Sends bytes to the program, as fast as it takes them.

        Raises:
            ConnectionResetError: The program is gone.
        """
        view = memoryview(content)
        while view:
            await self._until(lambda: self._credit > 0, self._writable)
            with self._lock:
                size = min(len(view), self._credit, _PIECE)
                self._credit -= size
            self._send(frames.net(self._number, frames.BYTES, bytes(view[:size])))
            view = view[size:]

    async def gone(self) -> None:
        """Waits until the program is gone, whatever else is being waited for; never returns.

        Raises:
            ConnectionResetError: It is.
        """
        await self._until(lambda: False, self._lost)

    def end(self) -> None:
        """Says that nothing more will come from this side."""
        if not self._said_end:
            self._said_end = True
            self._send(frames.net(self._number, frames.END))

    def close(self) -> None:
        """Says that the connection is over; unless ``end`` was called before, the program sees it break."""
        self._send(frames.net(self._number, frames.CLOSE))

    async def _until(self, condition: Callable[[], bool], changed: asyncio.Event) -> None:
        while True:
            with self._lock:
                if self._gone:
                    raise ConnectionResetError
                if condition():
                    return
                changed.clear()
            await changed.wait()

    def _taken(self, most: int) -> bytes:
        with self._lock:
            piece = bytes(self._incoming[:most])
            del self._incoming[:most]
            self._used += len(piece)
            # Not for each byte: a quarter is left to the other end while it has not heard.
            credit = self._used if self._used >= frames.WINDOW // 4 else 0
            self._used -= credit
            self._allowance += credit
        if credit:
            self._send(frames.credit(self._number, credit))
        return piece

    def _wake(self) -> None:
        with self._lock:
            self._waking = False
        self._readable.set()
        self._writable.set()
        self._lost.set()
