"""ZeroMQ on the host's side: the five sockets that Jupyter clients connect to."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Mapping
from typing import Any

import zmq

from jupyter_skills.errors import SandboxDied
from jupyter_skills.sandbox.inside.frames import IOPUB, KERNEL_CHANNELS

# After a restart the old sockets may still be closing; a port is free again within a moment.
_BIND_PATIENCE = 5.0


class ZmqBridge:
    """Binds the sockets of a connection file and passes their messages to a link. Implements ``Bridge``.

    Args:
        connection: The connection file's fields.
    """

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        bound: dict[int, zmq.Socket[bytes]] = {}
        self.sockets: Mapping[int, zmq.Socket[bytes]] = bound
        try:
            for name, channel in KERNEL_CHANNELS.items():
                bound[channel] = self._bound(channel, connection, connection[f"{name}_port"])
        except BaseException:
            self.close()
            raise

    def deliver(self, channel: int, parts: list[bytes]) -> None:
        """Passes a message on; one that nobody is there to take is dropped, as ZeroMQ does."""
        socket = self.sockets.get(channel)
        if socket is not None:
            with contextlib.suppress(zmq.ZMQError):
                socket.send_multipart(parts, zmq.NOBLOCK)

    def close(self, reason: SandboxDied | None = None) -> None:
        """Closes the sockets; their clients see by the silence that the kernel is gone."""
        for socket in self.sockets.values():
            socket.close(linger=0)
        self.sockets = {}
        self._context.term()

    def _bound(self, channel: int, connection: Mapping[str, Any], port: int) -> zmq.Socket[bytes]:
        # The kernel has an XPUB socket there too: subscriptions travel to it, and its welcome travels back.
        socket = self._context.socket(zmq.XPUB if channel == IOPUB else zmq.ROUTER)
        socket.linger = 0
        if channel == IOPUB:
            socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        else:
            # A client that connects again comes under its old name, as ipykernel's own sockets allow.
            socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        mark = "-" if connection["transport"] == "ipc" else ":"
        address = f"{connection['transport']}://{connection['ip']}{mark}{port}"
        if connection["transport"] == "ipc":
            _unlink_socket(f"{connection['ip']}-{port}")
        deadline = time.monotonic() + _BIND_PATIENCE
        while True:
            try:
                socket.bind(address)
            except zmq.ZMQError as error:
                if error.errno != zmq.EADDRINUSE or time.monotonic() > deadline:
                    socket.close(linger=0)
                    raise
                time.sleep(0.02)
            else:
                return socket


def _unlink_socket(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)
