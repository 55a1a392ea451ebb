"""What can be read from litellm's errors: the provider's words, its status, and how long it asks to wait."""

from __future__ import annotations

import ast
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

_JSON_MESSAGE = re.compile(r'"message": *("(?:[^"\\]|\\.)*")')
_BYTES = re.compile(r"\bb(['\"]).*\1", re.DOTALL)
_CLASS_NAMES = re.compile(r"^(?:[\w.]*(?:Error|Exception|Timeout|Timeout Error)(?:: | - ))+")
_MOST_CHARACTERS = 300

# Google says in the body how long to wait.
_RETRY_DELAY = re.compile(r'retryDelay\\?": *\\?"([\d.]+)s')

_SECRET_NAME = re.compile(r"key|token|secret|password", re.IGNORECASE)
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
    found = (getattr(link, "status_code", None) for link in chain(error))
    return [status for status in found if isinstance(status, int)]


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
    with suppress(ValueError, OverflowError):
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        if after := headers.get("retry-after"):
            if re.fullmatch(r"[\d.]+", after):
                return float(after)
            return max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    delay = _RETRY_DELAY.search(text)
    return float(delay[1]) if delay else None


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
    text = next(iter(text.strip().splitlines()), "") or "no reason given"
    return _CLASS_NAMES.sub("", text)[:_MOST_CHARACTERS]


def masked(text: str, arguments: Mapping[str, Any]) -> str:
    """A text without keys: those in the arguments and the environment, and what looks like one."""
    held = {**os.environ, **{name: value for name, value in arguments.items() if isinstance(value, str)}}
    for name, value in held.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return _SECRETS.sub("***", text)
