"""The near end of the way out: what programs inside see as an HTTP proxy.

It only carries bytes between its connections and the stream to the host; the host reads the requests, decides, and
connects. So nothing here needs to be trusted with the decision.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import zmq

from jupyter_skills.sandbox.inside.frames import (
    BYTES,
    CLOSE,
    CREDIT,
    END,
    MOST_CONNECTIONS,
    OPEN,
    WINDOW,
    credit,
    credited,
    net,
    split_net,
)

PORT = 3128
_PIECE = 64 * 1024
_AT_ONCE = struct.pack("ii", 1, 0)


def environment(port: int, direct: Sequence[str]) -> dict[str, str]:
    """What tells programs of the proxy.

    Args:
        port: Where it listens.
        direct: The hosts that are not to be asked for through it.
    """
    address, without = f"http://127.0.0.1:{port}", ",".join(direct)
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    return {**dict.fromkeys(names, address), "no_proxy": without, "NO_PROXY": without}


class _Connection:
    """One connection of a program.

    Args:
        number: Its number on the stream.
        program: The socket.
    """

    def __init__(self, number: int, program: socket.socket) -> None:
        self.number = number
        self.socket = program
        self.fd = program.fileno()
        self.credit = WINDOW
        self.waiting = bytearray()  # from the host, for the program
        self.used = 0  # of what the host sent, and not yet credited
        self.gone = False  # the program's end can't be read or written any more
        self.ended = False  # by the program
        self.finished = False  # by the host, which sends no more
        self.told = False  # so has the program been
        self.over = False  # the host has closed it

    @property
    def interest(self) -> int:
        """What its socket is to be polled for."""
        if self.gone:
            return 0
        readable = zmq.POLLIN if self.credit and not self.ended and not self.over else 0
        return readable | (zmq.POLLOUT if self.waiting else 0)


class Proxy:
    """Accepts connections on the container's own loopback, and carries their bytes; never waits.

    Args:
        poller: Where it registers what it waits for.
        write: Writes a frame to the host.
        port: Where to listen; 0 for any free port.
    """

    def __init__(self, poller: zmq.Poller, write: Callable[[bytes], None], port: int = PORT) -> None:
        self._poller = poller
        self._write = write
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._open: dict[int, _Connection] = {}
        self._by_fd: dict[int, _Connection] = {}
        self._last = 0
        self._poller.register(self._listener.fileno(), zmq.POLLIN)

    def turn(self, ready: Mapping[Any, int]) -> None:
        """Does what can be done now.

        Args:
            ready: What the poller found, by file descriptor.
        """
        for connection in [self._by_fd[fd] for fd in ready if fd in self._by_fd]:
            self._flush(connection)
            if ready[connection.fd] & ~zmq.POLLOUT:
                self._read(connection)
            self._settle(connection)
        if self._listener.fileno() in ready:
            self._accept()

    def receive(self, payload: bytes) -> None:
        """Takes what the host says about a connection; one that is over already is no error."""
        number, kind, content = split_net(payload)
        connection = self._open.get(number)
        if connection is None:
            return
        if kind == BYTES:
            connection.waiting += content
        elif kind == CREDIT:
            connection.credit += credited(content)
        elif kind == END:
            connection.finished = True
        elif kind == CLOSE:
            connection.over = True
        self._flush(connection)
        self._settle(connection)

    def close(self) -> None:
        """Closes all there is."""
        for connection in self._open.values():
            connection.socket.close()
        self._listener.close()

    def _accept(self) -> None:
        try:
            program, _ = self._listener.accept()
        except OSError:  # it is gone already, or there are no descriptors left: the next turn tries again
            return
        program.setblocking(False)
        program.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._last += 1
        connection = self._open[self._last] = self._by_fd[program.fileno()] = _Connection(self._last, program)
        self._write(net(connection.number, OPEN))
        self._settle(connection)
        # Those that come now wait in the kernel's queue until a place is free.
        if len(self._open) >= MOST_CONNECTIONS:
            self._poller.unregister(self._listener.fileno())

    def _read(self, connection: _Connection) -> None:
        if not connection.interest & zmq.POLLIN:
            return
        try:
            piece = connection.socket.recv(min(_PIECE, connection.credit))
        except BlockingIOError:
            return
        except OSError:
            self._lose(connection)
            return
        if piece:
            connection.credit -= len(piece)
            self._write(net(connection.number, BYTES, piece))
        else:
            connection.ended = True
            self._write(net(connection.number, END))

    def _flush(self, connection: _Connection) -> None:
        """Sends what waits for the program, and lets the host send as much again."""
        if connection.gone:
            connection.waiting.clear()
            return
        try:
            while connection.waiting:
                sent = connection.socket.send(connection.waiting)
                del connection.waiting[:sent]
                connection.used += sent
            if connection.finished and not connection.told:
                connection.told = True
                connection.socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:
            self._lose(connection)
        # Not for each byte: a quarter is left to the host while it has not heard.
        if connection.used >= WINDOW // 4 and not connection.over:
            self._write(credit(connection.number, connection.used))
            connection.used = 0

    def _lose(self, connection: _Connection) -> None:
        if not connection.gone and not connection.over:
            self._write(net(connection.number, CLOSE))
        connection.gone = True
        connection.waiting.clear()

    def _settle(self, connection: _Connection) -> None:
        """Polls for what there is to do, and frees the place of a connection that is over."""
        broken = connection.over and not connection.finished
        if not broken and (connection.waiting or not connection.over):
            self._poller.register(connection.fd, connection.interest)
            return
        self._poller.register(connection.fd, 0)
        if broken and not connection.gone:
            # The program is to see that what it got is not all there was: a reset, not an end.
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        connection.socket.close()
        del self._by_fd[connection.fd], self._open[connection.number]
        self._poller.register(self._listener.fileno(), zmq.POLLIN)


def start(poller: zmq.Poller, write: Callable[[bytes], None], direct: Sequence[str]) -> Proxy:
    """Starts the proxy, and names it to every program that this process starts from now on."""
    proxy = Proxy(poller, write)
    os.environ.update(environment(proxy.port, direct))
    return proxy
