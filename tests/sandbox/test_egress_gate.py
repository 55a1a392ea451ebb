"""The proxy and the gatekeeper, wired to each other without a container between them."""

from __future__ import annotations

import asyncio
import os
import queue
import socket
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests
import zmq

from jupyter_skills.sandbox.docker.egress.channel import Channel
from jupyter_skills.sandbox.docker.egress.gatekeeper import MOST_REQUESTS, Gatekeeper
from jupyter_skills.sandbox.docker.egress.rules import Rules
from jupyter_skills.sandbox.inside import frames
from jupyter_skills.sandbox.inside.proxy import Proxy
from tests.conftest import until


class Wired:
    """A proxy in a thread that plays process 1, and a gatekeeper."""

    def __init__(self, words: Sequence[str], names: Mapping[str, str]) -> None:
        self.entries: queue.Queue[Mapping[str, Any]] = queue.Queue()
        self.gate = Gatekeeper(Rules(words), self.entries.put, lambda host, _: [names[host]])
        self._to_proxy: queue.Queue[bytes] = queue.Queue()
        self._wakeup, self._wake = os.pipe()
        poller = zmq.Poller()
        poller.register(self._wakeup, zmq.POLLIN)
        self.proxy = Proxy(poller, self._from_proxy, port=0)
        self.gate.start(self._send)
        self._thread = threading.Thread(target=self._run, args=(poller,))
        self._thread.start()

    def close(self) -> None:
        self._send(b"")
        self._thread.join()
        self.gate.close()
        self.proxy.close()
        os.close(self._wakeup)
        os.close(self._wake)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.proxy.port), timeout=30)

    def _send(self, frame: bytes) -> None:
        self._to_proxy.put(frame)
        os.write(self._wake, b"x")

    def _from_proxy(self, frame: bytes) -> None:
        for _, payload in frames.Frames(limit=1 << 20).feed(frame):
            self.gate.receive(payload)

    def _run(self, poller: zmq.Poller) -> None:
        while True:
            ready = dict(poller.poll())
            if self._wakeup in ready:
                os.read(self._wakeup, 1)
                frame = self._to_proxy.get()
                if not frame:
                    return
                for _, payload in frames.Frames(limit=1 << 20).feed(frame):
                    self.proxy.receive(payload)
            self.proxy.turn(ready)


@contextmanager
def wired(*words: str, **names: str) -> Iterator[Wired]:
    with closing(Wired(words, {name.replace("_", "."): address for name, address in names.items()})) as wire:
        yield wire


@contextmanager
def server() -> Iterator[tuple[socket.socket, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        yield listener, listener.getsockname()[1]


def everything(connection: socket.socket) -> bytes:
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def some(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = connection.recv(size - len(content))
        assert piece, f"it ended after {content!r}"
        content += piece
    return content


AT_ONCE = struct.pack("ii", 1, 0)
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@contextmanager
def tunnel(wire: Wired, listener: socket.socket, port: int) -> Iterator[tuple[socket.socket, socket.socket]]:
    with wire.connect() as program:
        program.sendall(b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % port)
        assert some(program, len(ESTABLISHED)) == ESTABLISHED
        served, _ = listener.accept()
        with served:
            served.settimeout(30)
            yield program, served


def ask(wire: Wired, content: bytes) -> bytes:
    with wire.connect() as program:
        program.sendall(content)
        return everything(program)


def test_a_tunnel_carries_both_ways_and_each_side_ends_by_itself() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire:
        with tunnel(wire, listener, port) as (program, served):
            program.sendall(b"question")
            program.shutdown(socket.SHUT_WR)
            assert everything(served) == b"question"
            served.sendall(b"answer after the end")
            served.close()
            assert everything(program) == b"answer after the end"
        entry = wire.entries.get(timeout=30)
        assert (entry["host"], entry["port"], entry["address"]) == ("localhost", port, "127.0.0.1")
        assert (entry["allowed"], entry["reason"], entry["up"], entry["down"]) == (True, "", 8, 20)


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("localhost:1", 403, "localhost:1 is not among the hosts that DockerSandbox.network allows"),
        ("b.example:443", 403, "b.example:443 is not among"),
        ("127.0.0.1:443", 403, "127.0.0.1:443 is not among"),
        ("private.example:443", 403, "private.example:443 has the address 10.0.0.1, which is not public"),
        ("metadata.example:443", 403, "has the address 169.254.169.254, which is not public"),
        ("mapped.example:443", 403, "which is not public"),
    ],
)
def test_a_refusal_says_why_and_is_written_down(target: str, status: int, said: str) -> None:
    words = ["localhost:443", "private.example", "metadata.example", "mapped.example"]
    names = {
        "private_example": "10.0.0.1",
        "metadata_example": "169.254.169.254",
        "mapped_example": "::ffff:127.0.0.1",
    }
    with wired(*words, **names) as wire:
        answer = ask(wire, f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()).decode()
        first, _, rest = answer.partition("\r\n")
        assert first.startswith(f"HTTP/1.1 {status} ")
        assert said in first
        assert "DockerSandbox.network" in first
        assert rest.endswith(f"\r\n\r\n{first.partition(f'{status} ')[2]}\n")
        entry = wire.entries.get(timeout=30)
        assert (entry["allowed"], f"{entry['host']}:{entry['port']}") == (False, target)
        assert said in entry["reason"]


def test_an_address_that_is_named_may_be_what_a_name_stands_for_and_is_asked_for_once() -> None:
    asked: list[str] = []

    def find(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with server() as (listener, port), wired(f"a.example:{port}", f"127.0.0.1:{port}") as wire:
        wire.gate._find = find
        with wire.connect() as program:
            program.sendall(b"CONNECT a.example:%d HTTP/1.1\r\n\r\n" % port)
            assert some(program, len(ESTABLISHED)) == ESTABLISHED
            listener.accept()[0].close()
            assert everything(program) == b""
    assert asked == ["a.example"]


def test_a_name_without_an_address_and_a_port_without_a_server_are_told_apart() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with wired("a.invalid", f"localhost:{port}") as wire:
        wire.gate._find = lambda host, port: [str(found[4][0]) for found in socket.getaddrinfo("a.invalid", port)]
        assert b"502 The address of a.invalid could not be found" in ask(
            wire, b"CONNECT a.invalid:443 HTTP/1.1\r\n\r\n"
        )
        refused = ask(wire, b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % port)
        assert b"could not be connected to: Connection refused" in refused
        assert [wire.entries.get(timeout=30)["allowed"] for _ in range(2)] == [False, True]


def test_what_follows_a_plain_request_does_not_reach_the_server() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, wire.connect() as program:
        first = b"POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 4\r\n\r\nbody" % (
            port,
            port,
        )
        program.sendall(first + b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n")
        served, _ = listener.accept()
        with served:
            content = b""
            while not content.endswith(b"body"):
                content += served.recv(1000)
            assert b"Connection: close\r\n\r\nbody" in content
            with pytest.raises(ConnectionResetError):
                everything(served)
        assert "more than the one request" in wire.entries.get(timeout=30)["reason"]


class _Kept(BaseHTTPRequestHandler):
    """Keeps connections open if it may, and says whether it was asked not to."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        said = str(self.headers["Connection"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Tests have no use for it."""


def test_a_client_that_keeps_connections_has_one_for_each_request() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Kept) as site:
        port = site.server_address[1]
        threading.Thread(target=site.serve_forever, daemon=True).start()
        with wired(f"localhost:{port}") as wire, requests.Session() as session:
            session.proxies = {"http": f"http://127.0.0.1:{wire.proxy.port}"}
            for _ in range(3):
                assert session.get(f"http://localhost:{port}/", timeout=30).text == "close"
            assert [wire.entries.get(timeout=30)["reason"] for _ in range(3)] == [""] * 3
        site.shutdown()


def test_after_very_many_requests_all_are_refused_and_only_the_first_of_those_is_written_down() -> None:
    with wired("localhost:1") as wire:
        wire.gate._last = wire.proxy._last = MOST_REQUESTS
        for _ in range(3):
            assert b"over 10,000 requests" in ask(wire, b"CONNECT localhost:1 HTTP/1.1\r\n\r\n")
        until(lambda: not wire.gate._open)
        assert wire.entries.qsize() == 1


def test_a_body_in_chunks_is_written_anew() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, wire.connect() as program:
        program.sendall(b"POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\n" % (port, port))
        program.sendall(
            b"Transfer-Encoding: chunked\r\n\r\n0003\r\nabc\r\n0000A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
        )
        served, _ = listener.accept()
        with served:
            expected = b"\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n"
            content = b""
            while not content.endswith(b"0\r\n\r\n"):
                content += served.recv(1000)
            assert content.endswith(expected)
            served.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nKeep-Alive: 5\r\n\r\n")
        expected = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
        assert everything(program) == expected


@pytest.mark.parametrize("response", [b"", b"no head", b"x" * 200_000], ids=["none", "no head", "no end of a head"])
def test_what_is_no_response_is_passed_on_as_it_is(response: bytes) -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, wire.connect() as program:
        program.sendall(b"GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (port, port))
        served, _ = listener.accept()
        with served:
            assert some(served, 5) == b"GET /"
            while not served.recv(1000).endswith(b"\r\n\r\n"):
                pass
            served.sendall(response)
        assert everything(program) == response


@pytest.mark.parametrize("body", [b"x\r\n", b"-1\r\n", b"3;a=b\r\nabc\r\n", b"3\r\nabcd\r\n", b"3\nabc", b"\r\n"])
def test_a_chunk_that_could_be_read_in_two_ways_breaks_the_connection(body: bytes) -> None:
    with server() as (_, port), wired(f"localhost:{port}") as wire, wire.connect() as program:
        program.sendall(b"POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\n" % (port, port))
        program.sendall(b"Transfer-Encoding: chunked\r\n\r\n" + body)
        program.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionResetError):
            everything(program)
        assert wire.entries.get(timeout=30)["reason"].startswith("it broke: ")


def test_a_server_that_breaks_off_looks_broken_inside_too() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, tunnel(wire, listener, port) as (one, other):
        other.sendall(b"half")
        assert some(one, 4) == b"half"
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        other.close()
        with pytest.raises(ConnectionResetError):
            everything(one)
        assert wire.entries.get(timeout=30)["reason"] == "it was reset"


def test_a_server_is_let_go_of_when_the_program_breaks_off() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, tunnel(wire, listener, port) as (one, other):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        one.close()
        with pytest.raises(ConnectionResetError):
            everything(other)


def test_whoever_does_not_read_makes_the_other_side_wait() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, tunnel(wire, listener, port) as (one, other):
        for sender, reader in ((one, other), (other, one)):
            sender.setblocking(False)
            sent = 0
            with pytest.raises(BlockingIOError):  # noqa: PT012 -- it is the loop that comes to an end
                while True:
                    sent += sender.send(bytes(1 << 16))
            sender.setblocking(True)
            assert len(some(reader, sent)) == sent
        assert wire.gate._open[1]._incoming == b""


def test_programs_beyond_the_number_of_places_wait_for_one() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, ExitStack() as waiting:
        with ExitStack() as first:
            for _ in range(frames.MOST_CONNECTIONS):
                first.enter_context(tunnel(wire, listener, port))
            late = waiting.enter_context(wire.connect())
            late.sendall(b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % port)
            assert wire.gate._last == frames.MOST_CONNECTIONS
        assert some(late, len(ESTABLISHED)) == ESTABLISHED


def test_places_are_free_again_however_connections_end() -> None:
    with wired("localhost:1") as wire:
        for _ in range(3 * frames.MOST_CONNECTIONS):
            with wire.connect() as program:
                program.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        for _ in range(3 * frames.MOST_CONNECTIONS):
            wire.connect().close()
        assert b"403 localhost:2 is not among" in ask(wire, b"CONNECT localhost:2 HTTP/1.1\r\n\r\n")
        until(lambda: not wire.gate._open)


def test_closing_ends_what_is_open_and_writes_it_down() -> None:
    with server() as (listener, port), wired(f"localhost:{port}") as wire, tunnel(wire, listener, port) as (_, other):
        wire.gate.close()
        entry = wire.entries.get_nowait()
        assert (entry["allowed"], entry["reason"]) == (True, "the sandbox ended")
        with pytest.raises(ConnectionResetError):
            everything(other)


@pytest.mark.parametrize(
    "told",
    [
        [(2, frames.OPEN, b"")],
        [(1, frames.OPEN, b""), (1, frames.OPEN, b"")],
        [(1, frames.OPEN, b"x")],
        [(1, 9, b"")],
        [(1, frames.OPEN, b""), (1, frames.BYTES, b"")],
        [(1, frames.OPEN, b""), (1, frames.CREDIT, b"\0\0\0\1")],
        [(1, frames.OPEN, b""), (1, frames.CREDIT, b"\0")],
        [(number, frames.OPEN, b"") for number in range(1, frames.MOST_CONNECTIONS + 2)],
    ],
)
def test_frames_that_break_the_rules_are_refused(told: list[tuple[int, int, bytes]]) -> None:
    gate = Gatekeeper(Rules(["localhost:1"]), lambda _: None)
    gate.start(lambda _: None)
    with closing(gate), pytest.raises(ValueError, match="connection"):  # noqa: PT012 -- any of them may be the one
        for number, kind, content in told:
            gate.receive(frames.net(number, kind, content)[5:])


def test_a_payload_too_short_for_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no sense"):
        frames.split_net(b"\0\0\0")


async def test_many_small_pieces_take_no_more_than_the_window() -> None:
    sent: list[bytes] = []
    channel = Channel(1, sent.append, asyncio.get_running_loop())
    for _ in range(frames.WINDOW):
        channel.take(frames.BYTES, b"x")
    with pytest.raises(ValueError, match="more than it may"):
        channel.take(frames.BYTES, b"x")
    assert len(await channel.read(frames.WINDOW)) == frames.WINDOW
    assert sent == [frames.credit(1, frames.WINDOW)]


async def test_nothing_may_follow_the_end() -> None:
    channel = Channel(1, lambda _: None, asyncio.get_running_loop())
    channel.take(frames.END, b"")
    with pytest.raises(ValueError, match="more than it may"):
        channel.take(frames.BYTES, b"x")
