"""The base of all handlers: one user's view of the store, JSON in and out, and our errors with their status codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from http.client import responses
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from jupyter_server.base.handlers import APIHandler
from tornado import web

from jupyter_skills.errors import (
    EngineMissing,
    NotYours,
    SkillNotFound,
    SkillProblem,
    SkillsError,
    StoreConflict,
    StoreProblem,
    UploadTooLarge,
    UsageProblem,
)
from jupyter_skills.server.events import emitted
from jupyter_skills.server.identity import owner_of
from jupyter_skills.server.incoming.json_object import object_in
from jupyter_skills.server.incoming.workers import off_loop_to_answer
from jupyter_skills.server.outgoing import in_json, list_in_json
from jupyter_skills.server.wording import over_http
from jupyter_skills.store.location import current_user

if TYPE_CHECKING:
    from jupyter_skills.store.records import Page
    from jupyter_skills.store.store import SkillStore

Item = TypeVar("Item")

AUTH_RESOURCE = "jupyter_skills"
USUAL_PAGE = 20

VERBS = ("get", "head", "post", "put", "patch", "delete")

_FLAGS = {"true": True, "1": True, "false": False, "0": False}

_NEXT_STEPS = {
    403: "Give the server's token in the header 'Authorization: token …', and ask for no more than you are allowed to",
    404: "See 'jupyter-skills/api/spec.yaml' for all routes",
    405: "See the header 'Allow' for what this route takes",
    408: "Send it again, without a pause; whoever runs the server can raise 'SkillsExtension.upload_patience'",
    500: "The server's log says why",
    507: "Try again later, or ask whoever runs the server to make room in its folder of temporary files",
}


class SkillsHandler(APIHandler):
    """What every handler of this extension inherits.

    Each verb of a concrete handler carries ``@web.authenticated`` and ``@authorized`` itself: on an
    inherited method the latter would remember the resource of whichever subclass was called first.
    """

    auth_resource = AUTH_RESOURCE

    STATUS: ClassVar[tuple[tuple[type[SkillsError], int], ...]] = (
        (SkillNotFound, 404),
        (UploadTooLarge, 413),
        (SkillProblem, 422),
        (NotYours, 403),
        (StoreConflict, 409),
        (StoreProblem, 503),
        (UsageProblem, 400),
        (EngineMissing, 503),
    )
    """The first class that fits is taken; an error of no class here is the server's own fault."""

    @property
    def owner(self) -> str:
        """The name under which the store knows who asks."""
        return owner_of(self)

    @property
    def store(self) -> SkillStore:
        """The store as the user of this request sees it."""
        store: SkillStore = self.settings["jupyter_skills_store"].for_user(self.owner)
        return store

    async def prepare(self) -> None:  # type: ignore[override]
        """Called before any verb: nobody gets further without being known, whatever a verb forgot."""
        await super().prepare()
        if self.request.method != "OPTIONS" and not self.current_user:
            raise web.HTTPError(403)

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        """Called for parts of the URL: what is no text names nothing that exists, which is no reason to fail."""
        return value.decode("utf-8", "replace")

    def compute_etag(self) -> str | None:
        """Called before a response is written: only content has a tag, and says so itself."""
        return None

    def reply(self, value: object, status: int = 200) -> None:
        """Answers with JSON that is soon written; for lists see ``reply_list``."""
        self.set_status(status)
        self.finish(in_json(value))

    async def reply_page(self, page: Page[Item], told: Callable[[Item], object]) -> None:
        """Answers with one page of a list; see ``reply_list``."""
        await self.reply_list(page.items, told, cursor=page.cursor, has_more=page.has_more)

    async def reply_list(
        self, items: Iterable[Item], told: Callable[[Item], object], *, key: str = "data", **around: object
    ) -> None:
        """Answers with a JSON object that holds a list, which others need not wait for however long it is.

        Args:
            items: What is on the list.
            told: What ``json.dumps`` takes in place of an item; called on a thread.
            key: The list's key in the object.
            around: What else is in the object.
        """
        self.finish(await off_loop_to_answer(list_in_json, items, told, key, around))

    def page(self) -> tuple[int, str | None]:
        """How many items are asked for, and after which one; from ``?limit=…&after=…``.

        Raises:
            UsageProblem: The former is no number.
        """
        limit = self.get_query_argument("limit", str(USUAL_PAGE))
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10):
            raise UsageProblem(f"'limit' is {limit!r}, which is no number of items", "Give one from 1 to 1000")
        return int(limit), self.get_query_argument("after", None)

    def order(self) -> Literal["desc", "asc"]:
        """Which item comes first, from ``?order=…``.

        Raises:
            UsageProblem: It is neither ``desc``, newest first, nor ``asc``.
        """
        match self.get_query_argument("order", "desc"):
            case "desc":
                return "desc"
            case "asc":
                return "asc"
            case other:
                raise UsageProblem(f"'{other}' is no order", "Give 'desc', which is newest first, or 'asc'")

    def flag(self, name: str) -> bool:
        """Whether ``?name=true`` was given; see ``as_flag``."""
        return as_flag(name, self.get_query_argument(name, "false"))

    def json_body(self) -> dict[str, Any]:
        """The JSON object that was sent.

        Raises:
            UsageProblem: It is none.
        """
        return object_in(self.request.body, "The request's body")

    def tell(self, action: str, **facts: Any) -> None:
        """Says what has happened, to whoever listens to the server's events and in the log.

        All users of a server hear its events. They hear to what it happened only if it is the work of the account that
        the server runs as: what is done for others is theirs.

        Args:
            action: One of those that the event's schema names.
            facts: What it happened to. Only what the schema names goes into the event.
        """
        told = {"action": action, **facts, "user": self.owner}
        # The words are for people who read the log, the record's attribute for programs that collect it.
        words = " ".join(f"{key}={json.dumps(value)}" for key, value in told.items())
        self.log.info("jupyter_skills %s", words, extra={"jupyter_skills": told})
        emitted(self.event_logger, told if self.owner == current_user() else {"action": action})

    def problem(self, status: int, error: SkillsError) -> dict[str, Any]:
        """The JSON that tells of an error; other shapes than ours override it.

        Args:
            status: The status code of the response.
            error: What went wrong; a bare ``SkillsError`` if it was nothing of ours.
        """
        reason = responses.get(status, "Error") if type(error) is SkillsError else type(error).__name__
        shown = over_http(error)
        return {"message": shown.message, "next_step": shown.next_step, "reason": reason}

    def status_of(self, error: BaseException | None) -> int:
        """The status code that an error stands for."""
        if isinstance(error, web.HTTPError):
            return error.status_code
        return next((status for kind, status in self.STATUS if isinstance(error, kind)), 500)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Called by tornado for whatever a handler raised."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        status = status_code if error is None else self.status_of(error)
        self.set_status(status)
        if status == 405:
            self.set_header("Allow", ", ".join(self._taken()))
        self.finish(in_json(self.problem(status, _in_our_terms(status, error))))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Called by tornado: an error of ours is an answer, and no traceback for the log."""
        if isinstance(value, SkillsError):
            level = self.log.warning if self.status_of(value) >= 500 else self.log.info
            level("%s %s: %s: %s", self.request.method, self.request.path, type(value).__name__, value)
        else:
            super().log_exception(typ, value, tb)

    def _taken(self) -> list[str]:
        base = web.RequestHandler
        mine = (verb for verb in VERBS if getattr(type(self), verb) is not getattr(base, verb))
        return [*(verb.upper() for verb in mine), "OPTIONS"]


class UnknownRoute(SkillsHandler):
    """Whatever else is asked for below ``/jupyter-skills``."""

    async def prepare(self) -> None:  # type: ignore[override]
        """Called before any verb; there are none."""
        await super().prepare()
        if self.request.method != "OPTIONS":
            raise web.HTTPError(404, f"There is nothing at '{self.request.path}'")


def as_flag(name: str, word: str) -> bool:
    """What a word says that stands for yes or no.

    Raises:
        UsageProblem: It says neither.
    """
    if word not in _FLAGS:
        raise UsageProblem(f"'{name}' is {word!r}, which is neither yes nor no", "Give 'true' or 'false'")
    return _FLAGS[word]


def _in_our_terms(status: int, error: BaseException | None) -> SkillsError:
    if isinstance(error, SkillsError):
        return error
    message = responses.get(status, "Error")
    if isinstance(error, web.HTTPError) and error.log_message:
        # As tornado itself does it: a message without arguments may hold a percent sign.
        message = error.log_message % error.args if error.args else error.log_message
    elif status == 500:
        message = "The server failed at this"
    return SkillsError(message, _NEXT_STEPS.get(status, ""))
