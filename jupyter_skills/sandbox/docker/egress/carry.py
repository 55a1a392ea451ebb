"""Carrying the bytes of a connection that is allowed, between the program inside and the server."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from jupyter_skills.sandbox.docker.egress.channel import Channel
from jupyter_skills.sandbox.docker.egress.head import END_OF_HEAD, Request, closing, is_interim

_PIECE = 64 * 1024
_LONGEST_LINE = 1024
_AT_ONCE = struct.pack("ii", 1, 0)
_CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}")
# Seconds without a byte either way, until a connection counts as forgotten.
_IDLE = 600.0
# Likewise when one side has ended: on loopback, a program that is gone looks like one that only has no more to say.
_IDLE_HALF_OPEN = 30.0


@dataclass
class Server:
    """The connection to a server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def abort(self) -> None:
        """Has the server see that what it got is not all there was: a reset, not an end."""
        with suppress(OSError):  # the server has broken off itself
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.writer.transport.abort()


@dataclass
class Carried:
    """What went over a connection so far, in bytes; to the server ``up``, and back ``down``."""

    up: int = 0
    down: int = 0
    half: bool = field(default=False, repr=False)


async def carry(request: Request, channel: Channel, server: Server, carried: Carried) -> None:
    """Carries until both sides have ended, or, for a plain request, until the server has.

    Raises:
        OSError: It broke; a ``TimeoutError`` if nothing came for long.
        ValueError: The body is not what the head says.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_IDLE) as idle:

        def moved(*, half: bool = False) -> None:
            carried.half |= half
            idle.reschedule(loop.time() + (_IDLE_HALF_OPEN if carried.half else _IDLE))

        up = asyncio.ensure_future(_up(request, channel, server, carried, moved))
        down = asyncio.ensure_future(_down(request, channel, server, carried, moved))
        tasks = pending = {up, down, asyncio.ensure_future(channel.gone())}
        try:
            while not down.done() or (request.head is None and not up.done()):
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _up(request: Request, channel: Channel, server: Server, carried: Carried, moved: Callable[..., None]) -> None:
    async def pass_on(piece: bytes) -> None:
        server.writer.write(piece)
        await server.writer.drain()
        carried.up += len(piece)
        moved()

    if request.head is None:
        while piece := await channel.read():
            await pass_on(piece)
        moved(half=True)
        server.writer.write_eof()
        return
    await pass_on(request.head)
    async with aclosing(_chunks(channel) if request.length is None else _body(channel, request.length)) as pieces:
        async for piece in pieces:
            await pass_on(piece)
    if await channel.read():
        raise ValueError("there is more than the one request")
    moved(half=True)


async def _down(
    request: Request, channel: Channel, server: Server, carried: Carried, moved: Callable[..., None]
) -> None:
    async with aclosing(_response(server.reader, heads=request.head is not None)) as pieces:
        async for piece in pieces:
            await channel.write(piece)
            carried.down += len(piece)
            moved()
    channel.end()
    moved(half=True)


async def _response(reader: asyncio.StreamReader, *, heads: bool) -> AsyncGenerator[bytes, None]:
    """What a server sends; if it begins with heads, they tell the program that no other request can follow."""
    while heads:
        try:
            head = await reader.readuntil(END_OF_HEAD)
        except asyncio.IncompleteReadError as error:
            yield error.partial
            return
        except asyncio.LimitOverrunError:
            break
        yield closing(head)
        heads = is_interim(head)
    while piece := await reader.read(_PIECE):
        yield piece


async def _body(channel: Channel, length: int) -> AsyncGenerator[bytes, None]:
    """Exactly so many bytes of body."""
    while length:
        piece = await channel.read(min(length, _PIECE))
        if not piece:
            raise ValueError("the body ends early")
        length -= len(piece)
        yield piece


async def _chunks(channel: Channel) -> AsyncGenerator[bytes, None]:
    """The chunks of a body, written anew: without extensions and trailers, each as both ends must read it."""
    while True:
        line = (await channel.read_until(b"\r\n", _LONGEST_LINE)).removesuffix(b"\r\n")
        if not _CHUNK_SIZE.fullmatch(line):
            raise ValueError("a chunk has no size")
        size = int(line, 16)
        if not size:
            break
        yield b"%x\r\n" % size
        async for piece in _body(channel, size):
            yield piece
        if await channel.read_until(b"\r\n", _LONGEST_LINE) != b"\r\n":
            raise ValueError("a chunk is longer than it says")
        yield b"\r\n"
    while await channel.read_until(b"\r\n", _LONGEST_LINE) != b"\r\n":
        pass
    yield b"0\r\n\r\n"
