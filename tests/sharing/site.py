"""A real HTTP server in a thread that answers as a test says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tornado.httputil import HTTPFile, parse_body_arguments


@dataclass
class Request:
    """What the server was asked, with its form read by tornado."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[HTTPFile]] = field(default_factory=dict)


@dataclass
class Answer:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Route = bytes | Answer | Callable[[Request], Answer] | Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *_: Any) -> None:
        """Nothing is written to the terminal."""

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        request = Request(self.command, parts.path, query, {k.lower(): v for k, v in self.headers.items()}, body)
        if body:
            arguments: dict[str, list[bytes]] = {}
            parse_body_arguments(self.headers["Content-Type"], body, arguments, request.files)
            request.fields = {key: values[-1].decode() for key, values in arguments.items()}
        self.site.requests.append(request)
        found = self.site.routes.get(parts.path, Answer(b"nothing here", 404))
        if callable(found):
            found = found(request) if parts.path not in self.site.raw else found(self)
        if found is None:
            self.close_connection = True
            return
        answer = Answer(found) if isinstance(found, bytes) else found
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = _handle  # noqa: N815


@dataclass
class Site:
    """The server: what it offers by path, and what it was asked."""

    url: str = ""
    routes: dict[str, Any] = field(default_factory=dict)
    raw: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def stream(self, path: str, write: Callable[[Handler], None]) -> None:
        """Answers by a function that writes to the connection itself, which ends with it."""
        self.raw.add(path)
        self.routes[path] = write


@contextmanager
def site() -> Iterator[Site]:
    place = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"site": place}))
    server.daemon_threads = True
    place.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield place
    finally:
        place.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
