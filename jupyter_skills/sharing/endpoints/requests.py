"""Requests to an endpoint, and what its answers mean whatever its shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from jupyter_skills.errors import RemoteDamaged, RemoteRefused, UsageProblem
from jupyter_skills.sharing.endpoints.endpoint import PROVIDERS, Shape
from jupyter_skills.sharing.fetched import Limits
from jupyter_skills.sharing.reference import without_credentials
from jupyter_skills.sharing.web import Reply, exchange, refusal

if TYPE_CHECKING:
    import httpx

MOST_PAGES = 1000  # of a list that never ends
_NEXT_STEPS = {
    401: "Check the key in the environment; --key-env names another variable",
    403: "Check what the key is good for; --key-env names another variable",
    404: "Check the address and the id",
    413: "Make the skill smaller",
    429: "Wait a moment, and try again",
}


def base_of(address: str | None, shape: Shape) -> str:
    """The address that ``/v1/…`` comes after.

    Raises:
        UsageProblem: There is none, or it holds a password.
    """
    if address is None:
        if shape not in PROVIDERS:
            raise UsageProblem(f"The address of the {shape} endpoint is missing", "Give it, as in https://host:4000")
        return PROVIDERS[shape]
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    shown = without_credentials(address)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise UsageProblem(f"'{shown}' is no address of an endpoint", "Give one that begins with https://")
    if "@" in parts.netloc or parts.query:
        raise UsageProblem(
            f"The address of '{shown}' has more in it than an address", "Keep the key in the environment"
        )
    return shown.rstrip("/").removesuffix("/v1").rstrip("/")


@dataclass(frozen=True)
class Requests:
    """What sends the requests of one endpoint.

    Args:
        client: See ``web.connection``; it holds the headers.
        base: The address that ``/v1/…`` comes after.
        secret: The key, kept out of whatever is shown.
        limits: Bounds on each answer.
    """

    client: httpx.AsyncClient
    base: str
    secret: str
    limits: Limits

    async def json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """The JSON object that a request is answered with.

        Args:
            method: ``GET`` and so on.
            path: Below ``/v1``.
            more: See ``web.exchange``.

        Raises:
            RemoteProblem: It can't be had.
        """
        reply = await self._answer(method, path, **more)
        try:
            told = json.loads(reply.body)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise RemoteDamaged(
                f"'{self.base}' does not answer as a skills endpoint does", "Check the address and shape"
            )
        return told

    async def bytes(self, path: str, **more: Any) -> bytes:
        """The bytes that lie at a path.

        Raises:
            RemoteProblem: They can't be had.
        """
        return (await self._answer("GET", path, **more)).body

    async def _answer(self, method: str, path: str, **more: Any) -> Reply:
        reply = await exchange(self.client, method, f"{self.base}/v1{path}", self.limits, **more)
        if 300 <= reply.status < 400:
            # Jupyter's way of asking for a login; and whoever else it is, the key is not for them.
            place = without_credentials(reply.headers.get("location", ""))
            raise RemoteRefused(f"'{self.base}' sends us elsewhere, to '{place}'", _NEXT_STEPS[401])
        if reply.status >= 400:
            words = refusal(reply, [self.secret])
            raise Refusal(reply.status, f"'{self.base}' refused: {words}", _NEXT_STEPS.get(reply.status, "See its log"))
        return reply


class AnsweredEndpoint:
    """What the endpoints of all shapes have in common: something that sends their requests.

    Args:
        requests: What sends the requests.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    @property
    def place(self) -> str:
        """See ``Endpoint``."""
        return self._requests.base


class Refusal(RemoteRefused):
    """The other side said no, with a status.

    Args:
        status: The HTTP status.
        message: See ``SkillsError``.
        next_step: See ``SkillsError``.
    """

    def __init__(self, status: int, message: str, next_step: str) -> None:
        super().__init__(message, next_step)
        self.status = status


def path_of(*parts: str) -> str:
    """A path below ``/v1``, whose parts may hold anything.

    Raises:
        UsageProblem: A part would lead elsewhere, or is no text.
    """
    if any(part in ("", ".", "..") for part in parts):
        raise UsageProblem("An id can't be empty or dots", "Give the id as the other store shows it")
    try:
        return "".join(f"/{quote(part, safe='')}" for part in parts)
    except UnicodeEncodeError:
        raise UsageProblem("An id has half a character in it", "Give the id as the other store shows it") from None


def text(told: dict[str, Any], *keys: str) -> str:
    """The first text that is there under one of some keys; empty if there is none."""
    values = (told.get(key) for key in keys)
    return next((value for value in values if isinstance(value, str) and value), "")


def rows(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a page that have an id."""
    data = told.get("data")
    return [item for item in data if isinstance(item, dict) and text(item, "id")] if isinstance(data, list) else []


def zip_part(field: str, archive: bytes, name: str) -> list[tuple[str, tuple[str, bytes, str]]]:
    """A zip as the one file of a form."""
    return [(field, (f"{name}.zip", archive, "application/zip"))]
