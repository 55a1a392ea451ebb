"""The head of a request to the proxy: read strictly, and written anew for the server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_skills.sandbox.docker.egress.rules import authority_of

LARGEST_HEAD = 32 * 1024
END_OF_HEAD = b"\r\n\r\n"
_MOST_FIELDS = 200
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(rf"({_WORD}) ([!-~]+) HTTP/(1\.[01])")
_FIELD = re.compile(rf"({_WORD}):([\t -~\x80-\xff]*)")
_URI = re.compile(r"(?i:http)://([^/?#\\]*)([/?][^#]*)?")
_INTERIM = re.compile(rb"HTTP/1\.[01] 1[0-9][0-9]\b")
_ON_CONNECTIONS = {b"connection", b"keep-alive", b"proxy-connection"}
_LENGTH = re.compile(r"[0-9]{1,15}")
# They are between a client and its proxy, or written anew. Source: RFC 9110, section 7.6.1.
_DROPPED = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class Refused(Exception):
    """A request that goes no further; raised and caught on the way out only.

    Args:
        status: What HTTP calls it.
        reason: Why, in one line, for the program inside and for the audit.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason

    def answer(self) -> bytes:
        """The response. The reason stands in its first line, too: that is what most clients show."""
        body = f"{self.reason}\n".encode()
        head = (
            f"HTTP/1.1 {self.status} {self.reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


@dataclass(frozen=True)
class Request:
    """What a program asks of the proxy.

    Args:
        host: In the form that ``host_of`` gives.
        port: From 1 to 65535.
        head: What the server gets in place of the head; None if it gets what follows as it is (``CONNECT``).
        length: How many bytes of body follow; None if they come in chunks.
    """

    host: str
    port: int
    head: bytes | None
    length: int | None = 0


def parse(head: bytes) -> Request:
    """Reads a head, the empty line at its end included.

    Raises:
        Refused: It is no request to a proxy, or could be read in two ways.
    """
    lines = head.removesuffix(END_OF_HEAD).decode("latin-1").split("\r\n")
    start = _REQUEST_LINE.fullmatch(lines[0])
    fields = [_FIELD.fullmatch(line) for line in lines[1:]]
    if start is None or not head.endswith(END_OF_HEAD) or None in fields or len(fields) > _MOST_FIELDS:
        raise _malformed("it is not written as HTTP/1.1 wants it")
    method, target, version = start.groups()
    pairs = [(field[1], field[2].strip(" \t")) for field in fields if field is not None]
    if method == "CONNECT":
        host, port = _authority(target, None)
        _check_host(pairs, host, port, only_host=True)
        return Request(host, port, None)
    uri = _URI.fullmatch(target)
    if uri is None:
        raise _malformed("a proxy is asked with CONNECT, or with a whole address that begins with http://")
    host, port = _authority(uri[1], 80)
    if not _check_host(pairs, host, port) and version == "1.1":
        raise _malformed("it has no Host field")
    length = _length(pairs, version)
    path = uri[2] or "/"
    named = f"[{host}]" if ":" in host else host
    dropped = _DROPPED | {word.strip().lower() for word in ",".join(_values(pairs, "connection")).split(",")}
    # One request for each connection: the next may be for another host, and is looked at afresh.
    written = [
        f"{method} {'/' * path.startswith('?')}{path} HTTP/{version}",
        f"Host: {named}" + (f":{port}" if port != 80 else ""),
        *(f"{name}: {value}" for name, value in pairs if name.lower() not in dropped),
        *_framing(length, bool(_values(pairs, "content-length"))),
        "Connection: close",
    ]
    return Request(host, port, "\r\n".join([*written, "", ""]).encode("latin-1"), length)


def is_interim(response: bytes) -> bool:
    """Whether another head follows that of a response, as after ``100 Continue``."""
    return _INTERIM.match(response) is not None


def closing(response: bytes) -> bytes:
    """The head of a response, saying that the connection ends with it; one that is interim, or none, as it is."""
    if is_interim(response) or not response.startswith(b"HTTP/"):
        return response
    status, *fields = response.split(b"\r\n")
    kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in _ON_CONNECTIONS]
    return b"\r\n".join([status, b"Connection: close", *kept])


def _authority(text: str, default: int | None) -> tuple[str, int]:
    try:
        host, port = authority_of(text)
    except ValueError:
        raise _malformed("its host can't be read, or could be read in two ways") from None
    port = port or default
    if port is None:
        raise _malformed("it names no port")
    return host, port


def _check_host(pairs: Sequence[tuple[str, str]], host: str, port: int, *, only_host: bool = False) -> bool:
    """Whether there is a Host field, which then says the same as the request's first line."""
    values = _values(pairs, "host")
    if not values:
        return False
    said = _authority(values[0], port if only_host else 80)
    if len(values) > 1 or said != (host, port):
        raise _malformed("its Host field names another host than its first line")
    return True


def _length(pairs: Sequence[tuple[str, str]], version: str) -> int | None:
    lengths, codings = _values(pairs, "content-length"), _values(pairs, "transfer-encoding")
    if codings:
        if lengths or [coding.lower() for coding in codings] != ["chunked"] or version != "1.1":
            raise _malformed("where its body ends could be read in two ways")
        return None
    if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
        raise _malformed("where its body ends could be read in two ways")
    return int(lengths[0]) if lengths else 0


def _framing(length: int | None, said: bool) -> list[str]:
    if length is None:
        return ["Transfer-Encoding: chunked"]
    return [f"Content-Length: {length}"] if said else []


def _values(pairs: Sequence[tuple[str, str]], name: str) -> list[str]:
    return [value for field, value in pairs if field.lower() == name]


def _malformed(why: str) -> Refused:
    return Refused(400, f"The request was not passed on: {why}")
