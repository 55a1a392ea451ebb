"""The base of all handlers: our errors as JSON, each class with its status code."""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler

from jupyter_skills.errors import EngineMissing, InvalidSkill, SkillNotFound, SkillsError, UsageProblem

AUTH_RESOURCE = "jupyter_skills"

# The first class that fits is taken; an error of no class here is the server's own fault.
_STATUS: tuple[tuple[type[SkillsError], int], ...] = (
    (SkillNotFound, 404),
    (InvalidSkill, 422),
    (UsageProblem, 400),
    (EngineMissing, 503),
)


class SkillsHandler(APIHandler):
    """What every handler of this extension inherits.

    Each verb of a concrete handler carries ``@web.authenticated`` and ``@authorized`` itself: on an
    inherited method the latter would remember the resource of whichever subclass was called first.
    """

    auth_resource = AUTH_RESOURCE

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Called by tornado for whatever a handler raised."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        if not isinstance(error, SkillsError):
            super().write_error(status_code, **kwargs)
            return
        self.set_status(next((status for kind, status in _STATUS if isinstance(error, kind)), 500))
        self.set_header("Content-Type", "application/json")
        body = {"message": error.message, "next_step": error.next_step, "reason": type(error).__name__}
        self.finish(json.dumps(body))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Called by tornado: an error of ours is an answer, and no traceback for the log."""
        if isinstance(value, SkillsError):
            self.log.info("%s: %s", type(value).__name__, value)
        else:
            super().log_exception(typ, value, tb)
