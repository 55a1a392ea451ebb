"""What can be read from litellm's errors: the provider's words, its status, and how long it asks to wait."""

from __future__ import annotations

import ast
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

_JSON_MESSAGE = re.compile(r'"message": *("(?:[^"\\]|\\.)*")')
_BYTES = re.compile(r"\bb(['\"]).*\1", re.DOTALL)
_CLASS_NAMES = re.compile(r"^(?:[\w.]*(?:Error|Exception|Timeout|Timeout Error)(?:: | - ))+")
_HTML = re.compile(r"(?:b?['\"]\s*)?<(?:!doctype html|html)\b.*(?:</html>\s*['\"]?|$)", re.DOTALL | re.IGNORECASE)
_MOST_CHARACTERS = 300

# Google says in the body how long to wait.
_RETRY_DELAY = re.compile(r'retryDelay\\?": *\\?"([\d.]+)s')

# Whoever asks for more has made a mistake, or was not understood.
_LONGEST_WAIT = 30 * 86_400.0

_SECRET_NAME = re.compile(r"key|token(?!s)|secret|password|authorization|cookie", re.IGNORECASE)
_SHORTEST_SECRET = 8
_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx)[-_][\w*.-]{6,}|\bAIza[\w*-]{10,}"
    r"|(?<=key provided: )[^\s,'\"]*[^\s.,'\"]|(?<=[Bb]earer )[\w*.~+/=-]{8,}|(?<=//)[^/@\s]+(?=@)"
)


def chain(error: BaseException | None) -> list[BaseException]:
    """An error and those that it came from, the nearest first."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        link = waiting.pop(0)
        if isinstance(link, BaseException) and link not in seen:
            seen.append(link)
            waiting += [getattr(link, "original_exception", None), link.__cause__, link.__context__]
    return seen


def statuses(error: Exception) -> list[int]:
    """The HTTP statuses of an error and of those it came from: litellm has no class for some, such as 529."""
    links = chain(error)
    # An error within a stream has none of its own: some providers put it into the body.
    told = [link.body.get("code") for link in links if _in_stream(link)]  # type: ignore[attr-defined]
    codes = [int(code) for code in told if re.fullmatch(r"[45]\d\d", str(code))]
    found = (getattr(link, "status_code", None) for link in links)
    return codes + [status for status in found if isinstance(status, int)]


def _in_stream(link: BaseException) -> bool:
    return isinstance(getattr(link, "body", None), dict) and not hasattr(link, "status_code")


def words(error: Exception) -> str:
    """All that is said in an error, with the codes that the provider gave beside its message."""
    bodies = [body for link in chain(error) if isinstance(body := getattr(link, "body", None), dict)]
    return " ".join([str(error), *(str(body[name]) for body in bodies for name in ("code", "type") if body.get(name))])


def headers(error: Exception) -> dict[str, str]:
    """The headers of the provider's response, names in lower case."""
    merged: dict[str, str] = {}
    for link in chain(error):
        for holder in (link, getattr(link, "response", None)):
            for name in ("litellm_response_headers", "headers"):
                held = getattr(holder, name, None)
                if isinstance(held, Mapping):
                    merged = {**{str(key).lower(): str(value) for key, value in held.items()}, **merged}
    return merged


def wait_asked(headers: Mapping[str, str], text: str) -> float | None:
    """How many seconds the provider asks to wait, if it does.

    Args:
        headers: Those of its response.
        text: What its response says.
    """
    if (milliseconds := _wait(headers.get("retry-after-ms", ""), 0.001)) is not None:
        return milliseconds
    if (seconds := _wait(after := headers.get("retry-after", ""))) is not None:
        return seconds
    with suppress(ValueError, OverflowError):
        return _wait(str(parsedate_to_datetime(after).timestamp() - time.time()))
    delay = _RETRY_DELAY.search(text)
    return _wait(delay[1]) if delay else None


def _wait(number: str, unit: float = 1.0) -> float | None:
    try:
        seconds = float(number) * unit
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) and seconds <= _LONGEST_WAIT else None


def said(error: Exception) -> str:
    """What the provider said in one line, without litellm's class names and the provider's JSON around it."""
    text = str(getattr(error, "message", "") or error)
    if quoted := _BYTES.search(text):
        with suppress(ValueError, SyntaxError):  # litellm shows some bodies as Python does
            text = ast.literal_eval(quoted[0]).decode(errors="replace")
    if quoted := _JSON_MESSAGE.search(text):
        try:
            text = json.loads(quoted[1], strict=False)
        except ValueError:  # or quotes them twice
            text = quoted[1][1:-1]
    text = _HTML.sub("an HTML page", text)
    text = next(iter(text.strip().splitlines()), "") or "no reason given"
    return _CLASS_NAMES.sub("", text)[:_MOST_CHARACTERS]


def masked(text: str, arguments: Mapping[str, Any]) -> str:
    """A text without keys: those in the arguments and the environment, and what looks like one."""
    environment = {value for value in _secrets(os.environ) if len(value) >= _SHORTEST_SECRET}
    for value in sorted(environment | set(_secrets(arguments)), key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
        else:  # so short a key may be part of any word
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "***", text)
    return _SECRETS.sub("***", text)


def _secrets(value: Any, *, named: bool = False) -> Iterator[str]:
    """The texts that stand under the name of a secret, at any depth."""
    if isinstance(value, Mapping):
        for name, held in value.items():
            yield from _secrets(held, named=named or _SECRET_NAME.search(str(name)) is not None)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _secrets(held, named=named)
    elif named and isinstance(value, str) and value.strip():
        yield value
        yield from value.split()[1:]  # what follows "Bearer"
