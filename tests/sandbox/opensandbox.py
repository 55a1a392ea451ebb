"""An HTTP server that speaks OpenSandbox's protocol, and runs what it is sent in our own containers.

https://github.com/alibaba/OpenSandbox: as much of its API as litellm uses.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from jupyter_skills.errors import SandboxDied, SandboxProblem
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.docker.host import DockerHost
from jupyter_skills.sandbox.host import Content
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.thread import LoopThread

KEY = "for-the-tests"


class OpenSandbox:
    """The provider: its address, and the sandboxes there are."""

    def __init__(self) -> None:
        self.thread = LoopThread("the provider's kernels")
        self.sandboxes: dict[str, DockerHost] = {}
        provider = self

        class Handler(_Handler):
            served = provider

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for number in list(self.sandboxes):
            self.thread.submit(self.delete(number)).result(20)
        self.thread.stop()

    async def create(self) -> str:
        settings = DockerSandbox()
        host = DockerHost(await asyncio.to_thread(Engine), settings.image, settings)
        await host.start()
        number = uuid.uuid4().hex
        self.sandboxes[number] = host
        return number

    async def delete(self, number: str) -> None:
        if host := self.sandboxes.pop(number, None):
            await host.end()

    async def run(self, number: str, code: str) -> list[dict[str, Any]]:
        """What OpenSandbox tells of an execution. A kernel that ends is replaced by another, without a word."""
        events: list[dict[str, Any]] = []

        def on_message(kind: str, content: Content) -> None:
            if kind == "stream":
                events.append({"type": content["name"], "text": content["text"]})
            elif kind in ("display_data", "execute_result"):
                events.append({"type": "result", "results": content["data"]})
            elif kind == "error":
                events.append({"type": "error", "error": dict(content)})

        request = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "user_expressions": {}}
        try:
            await self.sandboxes[number].request("execute_request", request, on_message)
        except SandboxDied:
            if number in self.sandboxes:
                fresh = await self.create()
                self.sandboxes[number] = self.sandboxes.pop(fresh)
        return events


class _Handler(BaseHTTPRequestHandler):
    served: OpenSandbox

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/sandboxes":
            if self.headers["OPEN-SANDBOX-API-KEY"] != KEY:
                self._answer(401, {"code": "UNAUTHORIZED", "message": "no such key"})
                return
            try:
                number = self.served.thread.submit(self.served.create()).result(60)
            except SandboxProblem as error:
                self._answer(500, {"code": "FAILED", "message": str(error)})
            else:
                self._answer(202, {"id": number, "status": {"state": "Running"}})
        elif (number := self.path.split("/")[2]) in self.served.sandboxes:
            events = self.served.thread.submit(self.served.run(number, body["code"])).result(120)
            self._send(200, "".join(f"data: {json.dumps(event)}\n\n" for event in events), "text/event-stream")
        else:
            self._answer(404, {"code": "NOT_FOUND", "message": "no such sandbox"})

    def do_GET(self) -> None:
        number = self.path.split("/")[3]
        self._answer(200, {"endpoint": f"{self.headers['Host']}/execd/{number}"})

    def do_DELETE(self) -> None:
        self.served.thread.submit(self.served.delete(self.path.split("/")[3])).result(60)
        self._answer(204, {})

    def log_message(self, *_: Any) -> None:
        """Nothing is to be printed."""

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body) if status != 204 else "", "application/json")

    def _send(self, status: int, text: str, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        try:
            self.wfile.write(text.encode())
        except OSError:  # whoever asked has given it up
            self.close_connection = True


@contextmanager
def opensandbox() -> Iterator[OpenSandbox]:
    """Runs the provider on a free port."""
    provider = OpenSandbox()
    try:
        yield provider
    finally:
        provider.close()
