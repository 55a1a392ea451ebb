"""Requests to other servers, whose answers are bounded in size and time. httpx is imported here only, when needed."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

import jupyter_skills
from jupyter_skills.errors import RemoteDamaged, RemoteRefused, RemoteUnreachable, UsageProblem
from jupyter_skills.sharing.fetched import Limits
from jupyter_skills.sharing.reference import check_address, without_credentials
from jupyter_skills.skills.archive.names import shown

if TYPE_CHECKING:
    import httpx

_CONNECT_SECONDS, _SILENT_SECONDS = 10.0, 60.0
_MOST_REDIRECTS = 5
_MOST_OF_AN_ERROR = 64 * 1024
_LONGEST_MESSAGE = 300
_REDIRECTS = (301, 302, 303, 307, 308)
_CHECK = "Check the address and your connection, and try again"


@dataclass(frozen=True)
class Reply:
    """What a server answered.

    Args:
        url: The address that was asked.
        status: The HTTP status.
        headers: The headers, by their names in lower case.
        body: The body; at most its beginning if the status tells of an error.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Login:
    """Headers for one site, which follow nobody elsewhere.

    Args:
        address: An address of the site.
        headers: The headers.
    """

    address: str
    headers: Mapping[str, str] = field(repr=False)

    def at(self, url: str) -> Mapping[str, str]:
        """The headers for an address."""
        return self.headers if _site(url) == _site(self.address) else {}

    @property
    def secrets(self) -> tuple[str, ...]:
        """What is never shown: the keys in the headers, and the credentials of the address, however they are sent."""
        return (*(value.partition(" ")[2] or value for value in self.headers.values()), *_credentials(self.address))


@asynccontextmanager
async def connection(headers: Mapping[str, str] | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client that follows nothing by itself; proxies and certificates are those of the environment.

    Raises:
        UsageProblem: The environment names a proxy that can't be used.
    """
    import httpx

    always = {"User-Agent": f"jupyter-skills/{jupyter_skills.__version__}", "Accept-Encoding": "identity"}
    timeout = httpx.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS)
    try:
        client = httpx.AsyncClient(headers={**always, **(headers or {})}, timeout=timeout, follow_redirects=False)
    except (ValueError, ImportError, OSError) as error:
        raise UsageProblem(
            f"The environment names a proxy or certificates of no use: {error}", "Correct them"
        ) from None
    async with client:
        yield client


async def exchange(client: httpx.AsyncClient, method: str, url: str, limits: Limits, **more: Any) -> Reply:
    """Sends one request and reads the answer whole.

    Args:
        client: See ``connection``.
        method: ``GET`` and so on.
        url: The address.
        limits: How large the answer may be, and how long it may take.
        more: What httpx's ``stream`` takes: ``headers``, ``params``, ``data``, ``files``.

    Raises:
        RemoteUnreachable: No connection, or no whole answer in time.
        RemoteDamaged: The answer is too large.
        UsageProblem: The address is none.
    """
    import httpx

    place = urlsplit(without_credentials(url)).netloc
    try:
        async with asyncio.timeout(limits.seconds), client.stream(method, url, **more) as response:
            most = limits.size if response.status_code < 400 else _MOST_OF_AN_ERROR
            body = await _body(response, most, place)
            headers = {key.lower(): value for key, value in response.headers.items()}
            return Reply(url, response.status_code, headers, body)
    except (TimeoutError, httpx.TimeoutException):
        raise RemoteUnreachable(f"'{place}' did not answer in time", _CHECK) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
        raise UsageProblem(f"'{without_credentials(url)}' is no address", "Check it for slips") from None
    except httpx.RemoteProtocolError as error:
        raise RemoteUnreachable(f"The answer of '{place}' broke off: {error}", "Try again") from None
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise RemoteUnreachable(f"There is no connection to '{place}': {reason}", _CHECK) from None


async def _body(response: httpx.Response, most: int, place: str) -> bytes:
    """The bytes as they were sent; compressed ones could grow without bound."""
    is_error = response.status_code >= 400
    if response.headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        if is_error:
            return b""
        raise RemoteDamaged(f"'{place}' sends what it was not asked for: compressed bytes", "Tell whoever runs it")
    chunks: list[bytes] = []
    length = 0
    async for chunk in response.aiter_raw():
        chunks.append(chunk)
        length += len(chunk)
        if length > most:
            if is_error:
                break
            raise RemoteDamaged(
                f"'{place}' sends more than {_mebibytes(most)}, more than a skill may have", "Check the address"
            )
    return b"".join(chunks)[:most]


async def download(client: httpx.AsyncClient, url: str, limits: Limits, login: Login | None = None) -> Reply:
    """What lies at an address, which may have moved within its scheme.

    Args:
        client: See ``connection``.
        url: The address.
        limits: See ``exchange``.
        login: What to show to the one site that it is for.

    Raises:
        RemoteRefused: The server has no such thing, or gives it to others only.
        RemoteUnreachable: See ``exchange``.
        RemoteDamaged: See ``exchange``.
        UsageProblem: See ``exchange``.
    """
    scheme = check_address(url).scheme
    for _ in range(_MOST_REDIRECTS + 1):
        reply = await exchange(client, "GET", url, limits, headers=login.at(url) if login else None)
        if reply.status not in _REDIRECTS or "location" not in reply.headers:
            break
        # The credentials of an address go along only where the new one is relative to it.
        url = joined(url, reply.headers["location"])
        if urlsplit(url).scheme != scheme:
            raise RemoteRefused(
                f"'{without_credentials(reply.url)}' leads from {scheme} to another scheme,"
                f" '{without_credentials(url)}'",
                "Give the address that you trust",
            )
        check_address(url)
    else:
        raise RemoteRefused(f"'{without_credentials(url)}' leads on and on", "Check the address")
    if reply.status != 200:
        secrets = (*(login.secrets if login else ()), *_credentials(reply.url))
        raise RemoteRefused(
            f"'{without_credentials(reply.url)}' can't be had: {refusal(reply, secrets)}",
            "Check the address, and who may read it",
        )
    return reply


def joined(base: str, url: str) -> str:
    """An address that a server gives, relative to another one.

    Raises:
        RemoteDamaged: It is none.
    """
    try:
        return urljoin(base, url)
    except ValueError:
        raise RemoteDamaged(
            f"'{without_credentials(base)}' leads to {shown(url)}, which is no address", "Tell whoever runs it"
        ) from None


def refusal(reply: Reply, secrets: Iterable[str] = ()) -> str:
    """What a server said when it said no, in a few words of its own.

    Args:
        reply: The answer.
        secrets: What is not shown, for some servers say what they were shown.
    """
    words: Any = ""
    try:
        told = json.loads(reply.body)
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict):
        inner = told.get("error", told.get("detail", told))
        words = inner.get("message", "") if isinstance(inner, dict) else inner
        words = words or told.get("message", "")
    text = words if isinstance(words, str) else ""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "…")
    text = " ".join(text.split())  # and only then is it cut, for a part of a secret would not be found
    return f"status {reply.status}" + (f", {text[:_LONGEST_MESSAGE]}" if text else "")


def _credentials(address: str) -> Iterator[str]:
    """The user and the password in an address, as they are written, meant and sent; either may be a token."""
    written = urlsplit(address).netloc.rpartition("@")[0]
    user, _, password = written.partition(":")
    for part in (user, password) if written else ():
        yield from (part, unquote(part))
    if written:
        yield base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode(errors="replace")).decode()


def _site(url: str) -> tuple[str, str | None, int | None]:
    parts = check_address(url)
    return parts.scheme, parts.hostname, parts.port


def _mebibytes(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size:,} bytes"
