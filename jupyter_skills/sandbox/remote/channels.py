"""One kernel of a Jupyter server, or of a gateway: its REST API and its websocket.

``jupyter_server.gateway`` has a client of its own, but that sends no token over the websocket and takes a processor
while it waits. Its settings are used here as they are: addresses, token, headers, certificates, cookies.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import ssl
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from jupyter_server.gateway.gateway_client import GatewayClient
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, WebSocketError, websocket_connect

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.sandbox.exchange import is_bounded

_UNREACHABLE = (OSError, HTTPClientError, WebSocketError)
_LARGEST_MESSAGE = 128 * 1024 * 1024
_PING_INTERVAL = 30.0
_WATCH_INTERVAL = 3.0
_DELETE_WITHIN = 30.0
_TRY_AGAIN = 0.5
_AT_EXIT_WITHIN = 5.0


class Channels:
    """A kernel on a server. All but ``end_at_exit`` is called in one event loop only.

    Args:
        server: The server's address, and what it wants to see.
        on_message: Called with each message from the kernel.
        on_gone: Called once if the kernel or the way to it is lost, with what happened.
    """

    def __init__(
        self,
        server: GatewayClient,
        on_message: Callable[[Mapping[str, Any]], None],
        on_gone: Callable[[SandboxDied], None],
    ) -> None:
        self._server = server
        self._on_message = on_message
        self._on_gone = on_gone
        self._session = uuid.uuid4().hex
        self._kernel = ""
        self._socket: WebSocketClientConnection | None = None
        self._unsent: list[str] = []
        self._listening: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._ending = False

    @property
    def kernel(self) -> str:
        """The kernel's id on the server; empty before it was started and after it was deleted."""
        return self._kernel

    async def start(self, name: str) -> None:
        """Starts a kernel.

        Args:
            name: Of its kernelspec.

        Raises:
            SandboxFailed: There is none, or it did not start.
            SandboxDied: ``end`` was called before it was asked for.
        """
        async with self._starting:
            status, _ = await self._fetch("GET", self._server.kernelspecs_endpoint, name)
            if status == 404:
                raise SandboxFailed(
                    f"The Jupyter server at {self._shown} has no kernel '{name}'",
                    "Install its kernelspec there, or name another one",
                )
            if self._ending:
                raise SandboxDied("lost", "it is not wanted any more")
            allowed = self._server.allowed_envs.split(",")
            environment = {
                key: value for key, value in os.environ.items() if key.startswith("KERNEL_") or key in allowed
            }
            wish = {"name": name, "env": environment}
            status, model = await self._fetch("POST", self._server.kernels_endpoint, body=wish)
            self._kernel = str(model.get("id") or "")
        if not self._kernel:
            reason = model.get("message") or model.get("reason") or f"status {status}"
            raise SandboxFailed(
                f"The Jupyter server at {self._shown} did not start '{name}': {reason}", "Look into the server's log"
            )

    async def connect(self) -> None:
        """Connects to the kernel that was started.

        Raises:
            SandboxFailed: It can't be reached.
            SandboxDied: It ended before it could be.
        """
        self._watching = asyncio.ensure_future(self._watch())
        connecting = asyncio.ensure_future(self._connect())  # for a kernel that is dead it does not come to an end
        try:
            await asyncio.wait({connecting, self._watching}, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise SandboxDied("exited", "it ended while it started")
            connecting.result()
        except _UNREACHABLE as error:
            raise self._unreachable(error) from None
        finally:
            connecting.cancel()
        self._listening = asyncio.ensure_future(self._listen())

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a message, in the form that the websocket takes."""
        text = json.dumps(message)
        if self._socket is not None:
            with contextlib.suppress(WebSocketClosedError):
                self._socket.write_message(text)
                return
        self._unsent.append(text)

    async def interrupt(self) -> None:
        """Has the server interrupt the kernel."""
        await self._fetch("POST", self._server.kernels_endpoint, self._kernel, "interrupt", body={})

    async def end(self) -> str:
        """Has the server end the kernel; also one that is only about to start.

        Returns:
            Why it may still be there; empty if it is gone.
        """
        self._ending = True
        async with self._starting:  # what is asked for can't be taken back before it has an id
            pass
        for task in (self._listening, self._watching):
            if task is not None:
                task.cancel()
        if self._socket is not None:
            self._socket.close()
        return await self._delete() if self._kernel else ""

    def end_at_exit(self) -> None:
        """Ends the kernel while Python ends, when no event loop can do so any more."""
        if not self._kernel:
            return
        arguments = self._server.load_connection_args(headers={})
        headers = arguments["headers"]
        if self._server.http_user:
            user = f"{self._server.http_user}:{self._server.http_pwd or ''}"
            headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        address = self._url(self._server.url, self._server.kernels_endpoint, self._kernel)
        request = urllib.request.Request(address, headers=headers, method="DELETE")  # noqa: S310 -- it is the server's
        context = ssl.create_default_context(cafile=self._server.ca_certs)
        if not self._server.validate_cert:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self._server.client_cert:
            context.load_cert_chain(self._server.client_cert, self._server.client_key)
        # Tornado, which talks to the server otherwise, knows no proxies either.
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        with contextlib.suppress(Exception):  # nobody is there any more to be told
            urllib.request.build_opener(*handlers).open(request, timeout=_AT_EXIT_WITHIN).close()

    async def _delete(self) -> str:
        deadline = asyncio.get_running_loop().time() + _DELETE_WITHIN
        unanswered = False
        while True:
            try:
                status, _ = await self._fetch(
                    "DELETE", self._server.kernels_endpoint, self._kernel, within=_DELETE_WITHIN
                )
            except SandboxFailed as error:
                if unanswered:
                    return error.message
                unanswered = True
            else:
                if status < 300 or status == 404:
                    self._kernel = ""
                    return ""
                if asyncio.get_running_loop().time() > deadline:
                    return f"status {status}"
            await asyncio.sleep(_TRY_AGAIN)  # Jupyter can't end a kernel while it restarts it

    async def _connect(self) -> None:
        address = self._url(_websockets(self._server), self._server.kernels_endpoint, self._kernel, "channels")
        request = HTTPRequest(f"{address}?session_id={self._session}", **self._server.load_connection_args(headers={}))
        self._socket = await websocket_connect(request, max_message_size=_LARGEST_MESSAGE, ping_interval=_PING_INTERVAL)
        unsent, self._unsent = self._unsent, []
        for text in unsent:
            await self._socket.write_message(text)

    async def _listen(self) -> None:
        """Takes what comes. A connection that breaks is made anew once; the server has kept what came meanwhile."""
        heard = True
        while heard and not self._ending:
            heard = False
            assert self._socket is not None
            while (text := await self._socket.read_message()) is not None:
                heard = True
                if isinstance(text, str) and is_bounded([text.encode()]):
                    with contextlib.suppress(ValueError, RecursionError):
                        self._take(json.loads(text))
            self._socket = None
            if heard and not self._ending:
                try:
                    await self._connect()
                except _UNREACHABLE:
                    break
        self._gone(SandboxDied("lost", "The connection to the isolated kernel is lost"))

    async def _watch(self) -> None:
        """Asks for the kernel now and then: a server keeps the websocket of one that it has ended."""
        while not self._ending:
            await asyncio.sleep(_WATCH_INTERVAL)
            try:
                status, model = await self._fetch("GET", self._server.kernels_endpoint, self._kernel)
            except SandboxFailed:
                continue  # if the server is gone for good, the websocket tells
            if status == 404 or model.get("execution_state") == "dead":
                self._gone(SandboxDied("lost", "The server has ended the isolated kernel"))

    def _take(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        header, content = message.get("header"), message.get("content")
        kind = header.get("msg_type") if isinstance(header, dict) else None
        if kind == "status" and not message.get("parent_header") and isinstance(content, dict):
            # From the server itself. One that was restarted has none of the variables: that is a death.
            if content.get("execution_state") in ("restarting", "autorestarting", "dead"):
                self._gone(SandboxDied("exited", "The isolated kernel ended"))
            return
        self._on_message({**message, "msg_type": kind})

    def _gone(self, error: SandboxDied) -> None:
        if not self._ending:
            self._ending = True
            self._on_gone(error)

    async def _fetch(
        self, method: str, *path: str, body: Mapping[str, Any] | None = None, within: float | None = None
    ) -> tuple[int, Mapping[str, Any]]:
        """The status and the JSON of a response.

        Raises:
            SandboxFailed: There is none, or the token was refused.
        """
        if not self._server.url:
            raise SandboxFailed("No Jupyter server is named", "Set GatewayClient.url, or JUPYTER_GATEWAY_URL")
        try:
            arguments = self._server.load_connection_args(headers={"Content-Type": "application/json"})
        except ValueError:
            raise SandboxFailed("GatewayClient.headers is no JSON", "Write them as a JSON object") from None
        if within is not None:
            arguments |= {"connect_timeout": within, "request_timeout": within}
        text = None if body is None else json.dumps(body)
        url = self._url(self._server.url, *path)
        try:
            response = await AsyncHTTPClient().fetch(url, method=method, body=text, raise_error=False, **arguments)
        except _UNREACHABLE as error:
            raise self._unreachable(error) from None
        self._server.update_cookies(response.headers)
        if response.code in (401, 403):
            raise SandboxFailed(
                f"The Jupyter server at {self._shown} refused the token",
                "Set GatewayClient.auth_token, or JUPYTER_GATEWAY_AUTH_TOKEN",
            )
        if response.code == 599:
            raise self._unreachable(response.error or response.reason)
        try:
            answer = json.loads(response.body or b"{}")
        except ValueError:
            answer = {}
        return response.code, answer if isinstance(answer, dict) else {}

    def _unreachable(self, reason: object) -> SandboxFailed:
        return SandboxFailed(
            f"The Jupyter server at {self._shown} does not answer: {reason}",
            "Check that it runs, and GatewayClient.url",
        )

    @property
    def _shown(self) -> str:
        """The address as it may be shown: there may be a password in it."""
        parts = urlsplit(str(self._server.url))
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    @staticmethod
    def _url(base: str | None, endpoint: str, *names: str) -> str:
        quoted = "".join(f"/{quote(name, safe='')}" for name in names)
        return f"{(base or '').rstrip('/')}/{endpoint.strip('/')}{quoted}"


def _websockets(server: GatewayClient) -> str:
    """The address for websockets; the one that ``GatewayClient`` makes up is in lower case throughout."""
    url, named = str(server.url), server.ws_url
    made_up = url.lower().replace("http", "ws")
    return named if named and named != made_up else f"ws{url[len('http') :]}"
