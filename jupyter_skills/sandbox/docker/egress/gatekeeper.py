"""The way out of the sandbox: a proxy that lets through what the list of hosts names, and writes down the rest too.

The container has no network. What programs inside send to the proxy comes here over the link; here the request is
read, judged and carried out. What goes through an encrypted connection can't be seen: a host that is allowed and
serves others under the same address, as content networks do, may pass requests on to those.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jupyter_skills.sandbox.docker.egress.carry import Carried, Server, carry
from jupyter_skills.sandbox.docker.egress.channel import Channel
from jupyter_skills.sandbox.docker.egress.head import END_OF_HEAD, LARGEST_HEAD, Refused, Request, parse
from jupyter_skills.sandbox.docker.egress.rules import Address, Rules
from jupyter_skills.sandbox.inside import frames

_HEAD_WITHIN = 20.0
_RESOLVED_WITHIN = 15.0
_CONNECTED_WITHIN = 15.0
_FAREWELL = 5.0
_MOST_ADDRESSES = 4
_ENDED_WITHIN = 5.0
# For one kernel. Each makes a line in the audit, and a loop inside must not be able to push older lines out of it.
MOST_REQUESTS = 10_000

Audit = Callable[[Mapping[str, Any]], None]
Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine finds them. Blocks.

    Raises:
        OSError: It has none.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass
class _Visit:
    """One connection, as the audit tells of it."""

    host: str = ""
    port: int = 0
    address: str = ""
    allowed: bool = False
    reason: str = ""
    carried: Carried = field(default_factory=Carried)
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    began: float = field(default_factory=time.monotonic)

    def entry(self) -> dict[str, Any]:
        return {
            "time": self.started,
            "owner": os.getpid(),
            "host": self.host,
            "port": self.port,
            "address": self.address,
            "allowed": self.allowed,
            "reason": self.reason,
            "up": self.carried.up,
            "down": self.carried.down,
            "seconds": round(time.monotonic() - self.began, 3),
        }


class Gatekeeper:
    """Decides on the connections that one container asks for, and makes them, in a thread of its own.

    Args:
        rules: What is allowed.
        audit: Called with an entry for each connection when it is over, by the gatekeeper's thread.
        find: How the addresses of a host are found.
    """

    def __init__(self, rules: Rules, audit: Audit, find: Resolve = resolve) -> None:
        self._rules = rules
        self._audit = audit
        self._find = find
        self._send: Callable[[bytes], None] = lambda _: None
        self._lock = threading.Lock()
        self._open: dict[int, Channel] = {}
        self._last = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._closed = False
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="jupyter-skills-egress", daemon=True)

    @property
    def direct(self) -> list[str]:
        """The hosts that programs inside are not to ask the proxy for."""
        return self._rules.direct

    def start(self, send: Callable[[bytes], None]) -> None:
        """Begins to work.

        Args:
            send: Sends a frame into the container; may be called by any thread, and returns at once.
        """
        self._send = send
        with self._lock:
            if not self._closed:
                self._loop = asyncio.new_event_loop()
                self._thread.start()

    def receive(self, payload: bytes) -> None:
        """Takes the payload of a ``NET`` frame.

        Raises:
            ValueError: It breaks the rules of ``frames.py``.
        """
        number, kind, content = frames.split_net(payload)
        if kind == frames.OPEN:
            with self._lock:
                if number != self._last + 1 or len(self._open) >= frames.MOST_CONNECTIONS:
                    raise ValueError("a connection inside is one too many")
                self._last = number
                channel = self._open[number] = Channel(number, self._send, self._loop)
            self._loop.call_soon_threadsafe(self._begin, number, channel)
        elif known := self._open.get(number):
            known.take(kind, content)

    def close(self) -> None:
        """Ends all connections, and returns when the audit has them."""
        with self._lock:
            self._closed = True
        if self._thread.ident is None:
            return
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(_ENDED_WITHIN)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._until_closed())
        finally:
            self._loop.close()

    async def _until_closed(self) -> None:
        await self._closing.wait()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, number: int, channel: Channel) -> None:
        task = self._loop.create_task(self._serve(number, channel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, number: int, channel: Channel) -> None:
        visit = _Visit()
        try:
            try:
                whole = await self._answered(number, channel, visit)
            finally:
                if number <= MOST_REQUESTS + 1:
                    self._audit(visit.entry())
            if whole:
                await _farewell(channel)
        finally:
            # Before it is told that the place is free: the next one may open at once.
            with self._lock:
                del self._open[number]
            channel.close()

    async def _answered(self, number: int, channel: Channel, visit: _Visit) -> bool:
        """Sees one connection through; whether the program has got all of what there was to say."""
        try:
            await self._let_through(number, channel, visit)
        except Refused as refusal:
            visit.reason = refusal.reason
            with suppress(ConnectionResetError):
                await channel.write(refusal.answer())
            channel.end()
            return True
        except TimeoutError:
            visit.reason = "nothing was sent for long"
        except ConnectionResetError:
            visit.reason = "it was reset"
        except (OSError, ValueError) as error:
            visit.reason = f"it broke: {_why(error)}"
        except asyncio.CancelledError:
            visit.reason = "the sandbox ended"
            raise
        else:
            return True
        return False

    async def _let_through(self, number: int, channel: Channel, visit: _Visit) -> None:
        request = await _requested(channel)
        visit.host, visit.port = request.host, request.port
        if number > MOST_REQUESTS:
            raise Refused(403, f"{_named(visit)} was refused: over {MOST_REQUESTS:,} requests in one isolated kernel")
        if not self._rules.allow(request.host, request.port):
            raise Refused(403, f"{_named(visit)} is not among the hosts that DockerSandbox.network allows")
        addresses = await self._addresses(visit)
        visit.allowed = True
        server = await _connected(addresses, visit)
        whole = False
        try:
            if request.head is None:
                await channel.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await carry(request, channel, server, visit.carried)
            whole = True
        finally:
            if whole:
                server.writer.close()
            else:
                server.abort()

    async def _addresses(self, visit: _Visit) -> list[Address]:
        """Where a host may be connected to. They are the ones that are used: a name can change what it stands for."""
        if visit.host == "localhost":
            return [ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1")]
        try:
            found = [ipaddress.ip_address(visit.host)]
        except ValueError:
            found = await self._found(visit)
        allowed = [address for address in found if self._rules.allow_address(address, visit.port)]
        if not allowed:
            visit.address = str(found[0]) if found else ""
            raise Refused(
                403,
                f"{_named(visit)} has the address {visit.address}, which is not public: "
                "DockerSandbox.network would have to name that, too",
            )
        return allowed[:_MOST_ADDRESSES]

    async def _found(self, visit: _Visit) -> list[Address]:
        answer: Future[Sequence[str]] = Future()

        def ask() -> None:
            try:
                found = self._find(visit.host, visit.port)
            except (OSError, ValueError) as error:
                if answer.set_running_or_notify_cancel():
                    answer.set_exception(error)
            else:
                if answer.set_running_or_notify_cancel():
                    answer.set_result(found)

        # Not in a pool: a name server that doesn't answer must not keep this process from ending.
        threading.Thread(target=ask, name="jupyter-skills-resolve", daemon=True).start()
        try:
            found = await asyncio.wait_for(asyncio.wrap_future(answer), _RESOLVED_WITHIN)
        except (OSError, ValueError) as error:
            raise Refused(502, f"The address of {visit.host} could not be found: {_why(error)}") from None
        return [ipaddress.ip_address(text) for text in found]


async def _requested(channel: Channel) -> Request:
    try:
        async with asyncio.timeout(_HEAD_WITHIN):
            head = await channel.read_until(END_OF_HEAD, LARGEST_HEAD)
    except TimeoutError:
        raise Refused(408, "The request was not passed on: it does not end") from None
    except ValueError as error:
        raise Refused(400, f"The request was not passed on: {error}") from None
    return parse(head)


async def _connected(addresses: Sequence[Address], visit: _Visit) -> Server:
    why = ""
    for address in addresses:
        visit.address = str(address)
        try:
            async with asyncio.timeout(_CONNECTED_WITHIN):
                return Server(*await asyncio.open_connection(visit.address, visit.port))
        except OSError as error:
            why = why or _why(error)
    raise Refused(502, f"{_named(visit)} could not be connected to: {why}")


async def _farewell(channel: Channel) -> None:
    """Lets the program read its answer: closing on what it still sends would take the answer from it."""
    with suppress(TimeoutError, ConnectionResetError):
        async with asyncio.timeout(_FAREWELL):
            while await channel.read():
                pass


def _named(visit: _Visit) -> str:
    return f"[{visit.host}]:{visit.port}" if ":" in visit.host else f"{visit.host}:{visit.port}"


def _why(error: Exception) -> str:
    """What went wrong, in words that are safe in a line of HTTP."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    said = str(getattr(error, "strerror", None) or error)
    return "".join(filter(str.isprintable, said)).encode("ascii", "replace").decode()
