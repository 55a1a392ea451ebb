"""What the handlers for other makers' clients share: how these know an error and a version."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from tornado import web

from jupyter_skills.errors import SkillsError, StoreBusy, StoreUnreachable, UsageProblem
from jupyter_skills.server.handlers import SkillsHandler
from jupyter_skills.server.wording import over_http

_NO_TOKEN = SkillsError("The request has no token of this server", "Give the client the server's token as its API key")

_LATEST = "latest"

# What may be gone when the client asks again by itself.
_PASSING = (StoreBusy, StoreUnreachable)


class ClientHandler(SkillsHandler):
    """A handler that an unchanged client of another API talks to."""

    REQUEST_ID: ClassVar[str]
    """The header in which the client looks for the id of a request."""

    @property
    def request_id(self) -> str:
        """A name for this request, which the client shows with an error."""
        if not hasattr(self, "_request_id"):
            self._request_id = f"req_{uuid.uuid4().hex}"
        return self._request_id

    def set_default_headers(self) -> None:
        """Called before a verb, and once more before an error is written."""
        super().set_default_headers()
        self.set_header(self.REQUEST_ID, self.request_id)

    def status_of(self, error: BaseException | None) -> int:
        """The status code that an error stands for; 401 instead of Jupyter's 403 for somebody who is not known."""
        status = super().status_of(error)
        refused = status == 403 and isinstance(error, web.HTTPError)
        return 401 if refused and self._is_unknown() else status

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Called by tornado for whatever a handler raised; keeps the client from asking again in vain."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        status = status_code if error is None else self.status_of(error)
        if status == 401:
            self.set_header("WWW-Authenticate", "Bearer")
            kwargs["exc_info"] = (web.HTTPError, web.HTTPError(401), None)
        if status < 500 or (isinstance(error, SkillsError) and not isinstance(error, _PASSING)):
            self.set_header("X-Should-Retry", "false")
        super().write_error(status, **kwargs)

    def words_for(self, status: int, error: SkillsError) -> str:
        """An error as one line."""
        return str(_NO_TOKEN if status == 401 else over_http(error))

    def _is_unknown(self) -> bool:
        # A host that is not allowed is refused in the same way, and no token would help.
        return getattr(self, "_jupyter_current_user", None) is None and self.check_host()


def one_to_delete(version: str) -> str:
    """The version that is to be deleted, which can't be asked for twice.

    Raises:
        UsageProblem: It is ``latest``, which names another version after the first was deleted.
    """
    if version == _LATEST:
        raise UsageProblem(f"'{_LATEST}' is no version to delete", "Name one by its id or number")
    return version
