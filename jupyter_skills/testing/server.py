"""A real HTTP server that answers as a provider would, from a script."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from jupyter_skills.testing import wire_anthropic, wire_gemini, wire_openai, wire_responses
from jupyter_skills.testing.script import Exchange, Turn, exchanges_from_file

_WIRES = {
    re.compile(r"/v1/chat/completions"): wire_openai,
    re.compile(r"/v1/responses"): wire_responses,
    re.compile(r"/v1/messages"): wire_anthropic,
    re.compile(r"/models/[^/]+:(?:streamG|g)enerateContent"): wire_gemini,
}


@dataclass(frozen=True)
class Request:
    """A request that came in.

    Args:
        path: The path it asked for.
        headers: Its headers, names in lower case.
        body: Its JSON.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ScriptedModel:
    """A model server on a free port of this machine.

    It speaks as OpenAI (chat completions and responses), Anthropic or Gemini by the path that is asked for, and
    refuses histories that these refuse.

    Args:
        script: Turns, given out one after the other; or exchanges, chosen by the prompt, in any order and
            as often as wanted. A request that the script has nothing for fails with status 500.
        key: The key that requests must carry; any will do if not given.
    """

    def __init__(self, script: Iterable[Turn | Exchange] = (), *, key: str = "") -> None:
        self.requests: list[Request] = []
        self._queue: deque[Turn] = deque()
        self._exchanges: list[Exchange] = []
        self._last = Turn(status=500, message="nothing was asked before")
        self._last_body: dict[str, Any] | None = None
        self._key = key
        self._changed = threading.Condition()
        self._released = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.add(*script)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """A server that follows a script in a YAML file, already started."""
        return cls(exchanges_from_file(path)).start()

    def add(self, *script: Turn | Exchange) -> None:
        """Adds to the script."""
        self._queue.extend(entry for entry in script if isinstance(entry, Turn))
        self._exchanges.extend(entry for entry in script if isinstance(entry, Exchange))

    @property
    def url(self) -> str:
        """What OpenAI-shaped clients take as their base URL."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """What Anthropic- and Gemini-shaped clients take as their base URL."""
        assert self._server is not None, "the server is not started"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> Self:
        """Starts to serve, on a thread that ends with the process."""
        handler = type("Handler", (_Handler,), {"scripted": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, name="scripted-model", daemon=True).start()
        return self

    def stop(self) -> None:
        """Stops; streams that are held break off."""
        self._released.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def release(self) -> None:
        """Lets streams go on that ``hold_after`` holds back."""
        self._released.set()

    def wait_for_requests(self, count: int, timeout: float = 30.0) -> bool:
        """Waits until so many requests have come in; false if that takes longer than ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= count, timeout)

    def _received(self, request: Request) -> None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    def _turn_for(self, request: Request, wire: ModuleType) -> Turn:
        if self._key and self._key not in (
            request.headers.get("x-api-key"),
            request.headers.get("x-goog-api-key"),
            request.headers.get("authorization", "").removeprefix("Bearer "),
        ):
            return Turn(status=401, message="invalid key")
        if refusal := wire.refusal(request.body):
            return Turn(status=400, message=refusal, error_type="invalid_request_error")
        place: tuple[str, int] = wire.position(request.body)
        prompt, step = place
        for exchange in self._exchanges:
            if exchange.prompt in prompt and step < len(exchange.turns):
                self._last = exchange.turns[step]
                return self._last
        if int(request.headers.get("x-stainless-retry-count", 0)) and request.body == self._last_body:
            return self._last  # the client's own second try at the same request
        self._last_body = request.body
        if self._queue:
            self._last = self._queue.popleft()
            return self._last
        return Turn(status=500, message=f"the script has no answer to {prompt[:60]!r} at step {step + 1}")


class _Server(ThreadingHTTPServer):
    """One thread for each connection."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Called for what a handler raises; clients may hang up when they like, and that is nobody's business."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Reads a request, and writes the scripted turn in the wire format of the path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else head and body of an answer may wait 40 ms for each other
    scripted: ScriptedModel

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name is inherited
        """Says nothing: tests and notebooks read the standard error."""

    def do_POST(self) -> None:
        """Called for each request."""
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.scripted._server is None:  # a connection from before it was stopped
            self.close_connection = True
            return None
        path = self.path.partition("?")[0]
        wire = next((wire for pattern, wire in _WIRES.items() if pattern.fullmatch(path)), None)
        if wire is None:
            return self._send(404, {"error": {"message": f"no such path: {path}"}})
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path, headers, json.loads(content))
        self.scripted._received(request)
        turn = self.scripted._turn_for(request, wire)
        time.sleep(turn.delay)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # clients may hang up when they like
            streams = wire.streams(path, request.body)
            if turn.raw is None and streams and (turn.status == 200 or turn.fails_after is not None):
                self._stream(turn, wire, request.body)
            elif turn.status != 200:
                waits = {} if turn.asked_wait is None else {"retry-after": turn.asked_wait}
                self._send(turn.status, _or(turn.raw, wire.failure(turn)), {**waits, **turn.headers})
            else:
                self._send(200, _or(turn.raw, wire.whole(turn, request.body)), turn.headers)
        return None

    def _send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        html = isinstance(body, str)
        content = (body if html else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", "text/html" if html else "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, turn: Turn, wire: ModuleType, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = list(wire.events(turn, body))
        if turn.fails_after is not None:
            events = [*events[: turn.fails_after], wire.failure_event(turn)]
        end = len(events) // 2 if turn.break_off else len(events)
        for count, (name, data) in enumerate(events[:end]):
            if count == turn.hold_after:
                self.scripted._released.wait()
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self._chunk(f"{head}data: {text}\n\n".encode())
        if turn.break_off == "abort":
            self.close_connection = True
        else:
            self._chunk(b"")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()


def _or(raw: Any, usual: Any) -> Any:
    return usual if raw is None else raw
