"""Files that are sent to the server: taken as a stream, bounded, and never holding up anybody else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.utils import ensure_async
from tornado import web
from tornado.concurrent import Future
from tornado.escape import utf8
from tornado.ioloop import IOLoop

from jupyter_skills.errors import SkillsError, UploadTooLarge
from jupyter_skills.server.handlers import SkillsHandler
from jupyter_skills.server.incoming.multipart import FORM, Upload, UploadedFile, form_in, kind_of
from jupyter_skills.server.incoming.workers import off_loop

__all__ = ["Upload", "UploadHandler", "UploadedFile"]

_IN_MEMORY = 1 << 20
_PIECE = 1 << 18

# How much of a refused body is taken for nothing, and for how many seconds: a client that is still sending when the
# connection closes sees an error of its network in place of the answer.
_LINGER_BYTES = 64 << 20
_LINGER_SECONDS = 15.0


@web.stream_request_body
class UploadHandler(SkillsHandler):
    """A handler whose POST takes files, as a form (``multipart/form-data``) or as one zip (``application/zip``).

    tornado runs a verb, and with it the decorators that protect it, when the whole body has come. What they check is
    therefore checked before: in ``prepare``, where no byte of the body has been taken yet.
    """

    def initialize(self, **kwargs: Any) -> None:
        """Called by tornado for each request."""
        super().initialize(**kwargs)
        self._limit: int = self.settings["jupyter_skills_upload_limit"]
        self._taken_bytes = 0
        self._pending = bytearray()
        self._body: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 -- see on_finish
        self._answering_early = False
        self._answered_early = False
        self._is_read = False
        self._patience: float = self.settings["jupyter_skills_upload_patience"]
        self._last_call: object | None = None

    async def prepare(self) -> None:  # type: ignore[override]
        """Called when the headers are there: refuses what is refused whatever the body holds."""
        try:
            await super().prepare()
            if self.request.method == "POST":
                await self._admit()
                self._call_after(self._patience, self._give_up)
        except (web.HTTPError, SkillsError) as error:
            self._turn_away(error)

    async def data_received(self, chunk: bytes) -> None:
        """Called for each piece of the body; the next one is not read before this returns."""
        self._taken_bytes += len(chunk)
        if self._answered_early:
            if self._taken_bytes > self._limit + _LINGER_BYTES:
                self._hang_up()
        elif self._taken_bytes > self._limit:
            self._turn_away(self._too_large())
        else:
            self._pending += chunk
            self._stop_waiting()  # what is done here is none of the client's delay
            if len(self._pending) >= _PIECE:
                piece, self._pending = self._pending, bytearray()
                try:
                    await off_loop(self._body.write, piece)
                except OSError as error:
                    self._turn_away(self._no_room(error))
                    return
            self._call_after(self._patience, self._give_up)

    async def received(self) -> Upload:
        """What was sent, when all of it has come.

        Raises:
            UsageProblem: It can't be read.
            web.HTTPError: It can't be kept, for the disk is full.
        """
        self._stop_waiting()
        kind, boundary = kind_of(self.request.headers.get("Content-Type", ""))
        self._is_read = True
        try:
            return await off_loop(self._read, kind, boundary)
        except OSError as error:
            raise self._no_room(error) from None

    def on_connection_close(self) -> None:
        """Called when the client is gone before it got an answer: what it has sent so far goes as well."""
        super().on_connection_close()
        self._forget()

    def on_finish(self) -> None:
        """Called after the answer."""
        self._forget()

    def finish(self, chunk: str | bytes | None = None, **kwargs: Any) -> Future[None]:  # type: ignore[override]
        """Answers; with an early answer, the connection stays open for what the client is sending."""
        if not self._answering_early:
            return super().finish(chunk, **kwargs)
        self._answering_early, self._answered_early = False, True
        content = utf8(chunk or "")
        self.set_header("Content-Type", "application/json")
        self.set_header("Content-Length", str(len(content)))
        if self._has_body():
            self.set_header("Connection", "close")
        self.write(content)
        return self.flush()

    async def _admit(self) -> None:
        if type(self).post is SkillsHandler.post:
            raise web.HTTPError(405)
        action = HTTP_METHOD_TO_AUTH_ACTION["POST"]
        if not await ensure_async(self.authorizer.is_authorized(self, self.current_user, action, self.auth_resource)):
            raise web.HTTPError(403, f"User is not authorized to {action} on resource: {self.auth_resource}.")
        kind_of(self.request.headers.get("Content-Type", ""))
        length = self.request.headers.get("Content-Length", "0")
        if length.isdigit() and int(length) > self._limit:
            raise self._too_large()

    def _too_large(self) -> UploadTooLarge:
        return UploadTooLarge(
            f"More than {self._limit:,} bytes are sent, which is the most that this server takes",
            "Leave out what the skill doesn't need; whoever runs the server can raise 'SkillsExtension.upload_limit'",
        )

    def _no_room(self, error: OSError) -> web.HTTPError:
        self.log.error("jupyter_skills: an upload can't be written to a temporary file: %s", error)
        return web.HTTPError(507, "The server has no room for the upload")

    def _give_up(self) -> None:
        stalled = web.HTTPError(408, f"Nothing more of the upload came for {self._patience:g} s")
        self._turn_away(stalled, lingers=False)

    def _turn_away(self, error: Exception, *, lingers: bool = True) -> None:
        """Answers with an error before the body has come.

        Args:
            error: What is wrong.
            lingers: Whether more of the body may be on its way; else the connection ends with the answer.
        """
        self._stop_waiting()
        raised = type(error), error, error.__traceback__
        self.log_exception(*raised)
        # A client that asks first has not begun to send, and the end of the connection tells it not to.
        waits_for_word = self._taken_bytes == 0 and self.request.headers.get("Expect", "") == "100-continue"
        self._answering_early = lingers and not waits_for_word
        self.clear()  # and not ``send_error``, which makes an end of the response in any case
        if not lingers:
            self.set_header("Connection", "close")
        self.write_error(self.status_of(error), exc_info=raised)
        if self._answered_early:
            # tornado runs the verb when the body has come; there is nothing left for it to do.
            setattr(self, str(self.request.method).lower(), self._hang_up)
            self._call_after(_LINGER_SECONDS, self._hang_up)

    def _has_body(self) -> bool:
        headers = self.request.headers
        return headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in headers

    def _hang_up(self, *_path: str) -> None:
        if not self._finished:
            super().finish()

    def _read(self, kind: str, boundary: bytes) -> Upload:
        with self._body:
            self._body.write(self._pending)
            self._body.seek(0)
            if kind == FORM:
                return form_in(self._body, boundary)
            query = {name: self.get_query_argument(name) for name in self.request.query_arguments}
            return Upload(query, (UploadedFile("files", "skill.zip", kind, self._body.read()),))

    def _call_after(self, seconds: float, call: Callable[[], None]) -> None:
        self._stop_waiting()
        self._last_call = IOLoop.current().call_later(seconds, call)

    def _stop_waiting(self) -> None:
        if self._last_call is not None:
            IOLoop.current().remove_timeout(self._last_call)
            self._last_call = None

    def _forget(self) -> None:
        self._stop_waiting()
        if not self._is_read:  # otherwise a thread may be at it, and closes it
            self._pending = bytearray()
            with suppress(OSError):  # closing writes what is left, on a full disk in vain
                self._body.close()
