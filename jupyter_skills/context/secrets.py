"""Secrets of the notebook and its environment, taken out of what is sent."""

from __future__ import annotations

import json
import os
import re
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from jupyter_skills.context.names import looks_secret, tells_about
from jupyter_skills.context.shapes import Span, known_shapes, password_in_url
from jupyter_skills.context.telling import is_telling

__all__ = ["Redactor", "holds_secret", "looks_secret", "without_secrets"]

_ENDINGS = (
    "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PASSPHRASE", "_PWD", "_CREDENTIAL", "_CREDENTIALS", "_PAT"
)  # fmt: skip
_TRUSTED = re.compile(r"(?i)passw|passphrase|pwd|secret|credential")
_MOST_ENTRIES = 1_000
_MOST_PASSES = 50
_LONG = 16
_ACCESS = re.compile(r"""(?:\w++|\.|\[(?:"[^"]*"|'[^']*'|\d+)\])+""")
_WITHOUT_NAMES = frozenset({"cookie", "set-cookie", "cookies"})  # those in requests that no rule of names covers
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|apikey|api-key|digest|negotiate)\s+(?=\S)")
_DEEPEST = 200
_MARK = "[redacted: "
_MARKED = re.compile(r"\[redacted: ([^\[\]\n]{1,100})\]")
_NAMELESS = "a secret"
_NO_BRACKETS = str.maketrans("[]", "()")
_LEFT = (
    r"(?:(?<![^\W_])|(?<=\\[abfnrtv0])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\x[0-9a-f][0-9a-f])"
    r"|(?<=\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]))"
)


class Redactor:
    """Replaces secrets in texts by what they are called.

    Secrets are values it was told, in the forms they have in JSON, in Python and in URLs as well, and whatever has the
    shape of a well-known service's key. A value that can't be told from prose stays: it is short, or a plain word.

    Args:
        secrets: Values by their names.
    """

    def __init__(self, secrets: Mapping[str, str] = {}) -> None:
        self._names: dict[str, str] = {}  # by each form of each value
        self._found: dict[str, None] = {}
        self._count = 0
        self._seen: set[tuple[str, str, str]] = set()  # where it was, its name, and its value
        for name, value in secrets.items():
            self._learn(name, value, trusted=True)

    @classmethod
    def of(cls, environment: Mapping[str, str], variables: Mapping[str, object] = {}) -> Redactor:
        """One that knows the secrets of an environment and of a notebook.

        Args:
            environment: Names and values of environment variables.
            variables: The notebook's. Looked at are texts, bytes and pydantic's secrets, also within dicts and lists.
        """
        redactor = cls()
        redactor.learn(environment, variables)
        return redactor

    def learn(self, environment: Mapping[str, str], variables: Mapping[str, object] = {}) -> None:
        """Looks for more secrets, as ``of`` does; what it knows it keeps, and what hasn't changed costs little.

        Args:
            environment: Names and values of environment variables, as they are now.
            variables: The notebook's, as they are now.
        """
        self._learn_whole_environment(environment)
        for name, variable in list(variables.items()):
            try:
                self._learn_variable(name, variable)
            except Exception:  # noqa: BLE001, S112 -- objects of the user's may raise anything when looked at
                continue

    def learn_settings(self, settings: Mapping[str, Any]) -> None:
        """Learns texts that nested settings hold under names of secrets, at any depth of dicts and lists.

        Args:
            settings: Such as ``{"api_key": "…", "extra_headers": {"Authorization": "Bearer …"}}``.
        """
        self._learn_setting("", settings, ())

    def __repr__(self) -> str:
        return f"<Redactor: {self._count} secrets>"

    @property
    def found(self) -> list[str]:
        """What it has replaced so far: names, each once, in the order they were first met."""
        return list(self._found)

    def redact(self, text: str) -> str:
        """A text without its secrets; done twice it is the same as done once. It never raises."""
        for _ in range(_MOST_PASSES):  # what was replaced may have kept its neighbour from being a word of its own
            again = self._pass(text)
            if again == text:
                break
            text = again
        return text

    def _pass(self, text: str) -> str:
        pieces: list[str] = []
        done = 0
        for start, end, name in _apart(self._spans(text)):
            pieces.append(text[done:start])
            done = end
            if not name:
                pieces.append(text[start:end])
                continue
            label = self._label(name)
            self._found[label] = None
            pieces.append(f"{_MARK}{label}]")
        pieces.append(text[done:])
        return "".join(pieces)

    def _spans(self, text: str) -> Iterator[Span]:
        """Where secrets are; and, without a name, what has taken the place of one before."""
        if _MARK in text:
            for match in _MARKED.finditer(text):
                if match[1] in self._found:
                    yield *match.span(), ""
        for form, name in list(self._names.items()):  # another thread may be learning
            if form not in text:
                continue
            literal = re.escape(form)
            short = form.isalnum() and len(form) < _LONG
            for match in re.finditer(rf"{_LEFT}{literal}(?![^\W_])" if short else literal, text):
                yield *match.span(), name
        yield from known_shapes(text)

    def _learn(self, name: str, value: str, trusted: bool) -> None:
        value = value.strip()
        if not is_telling(value, trusted):
            return
        forms = _forms(value)
        self._count += value not in self._names
        for form in forms:
            if form not in f"{_MARK}{_NAMELESS}]":
                self._names.setdefault(form, " ".join(name.translate(_NO_BRACKETS).split())[:80])

    def _label(self, name: str) -> str:
        """What stands for a secret of that name: itself must hold none."""
        return _NAMELESS if not name or any(form in f"{_MARK}{name}]" for form in list(self._names)) else name

    def _is_news(self, place: str, name: str, value: str) -> bool:
        """Whether a name with that value has not been looked at yet."""
        known = len(self._seen)
        self._seen.add((place, name, value))
        return len(self._seen) > known

    def _learn_whole_environment(self, environment: Mapping[str, str]) -> None:
        for name in list(environment):
            value = environment.get(name)
            if value is not None and self._is_news("environment", name, value):
                self._learn_environment(name, value)

    def _learn_environment(self, name: str, value: str) -> None:
        if (name.upper().endswith(_ENDINGS) and not tells_about(name)) or looks_secret(name):
            self._learn(name, value, trusted=bool(_TRUSTED.search(name)))
        if password := password_in_url(value):
            self._learn(name, password, trusted=True)

    def _learn_setting(self, name: str, value: object, around: tuple[int, ...]) -> None:
        if len(around) > _DEEPEST or id(value) in around:
            return
        if isinstance(value, Mapping):
            for key, entry in list(value.items()):
                self._learn_setting(key if isinstance(key, str) else "", entry, (*around, id(value)))
        elif isinstance(value, list | tuple | set | frozenset):
            for entry in list(value):
                self._learn_setting(name, entry, (*around, id(value)))
        elif _hides(name):
            if hasattr(type(value), "get_secret_value"):
                value = value.get_secret_value()  # type: ignore[attr-defined]
            if isinstance(value, bytes):
                value = value.decode("utf-8", "ignore")
            if isinstance(value, str):
                self._learn_header(name, str.__str__(value))

    def _learn_header(self, name: str, value: str) -> None:
        scheme = _SCHEME.match(value)
        self._learn(name, value[scheme.end() :] if scheme else value, trusted=True)
        if name.lower() in _WITHOUT_NAMES:
            for part in value.split(";"):
                self._learn(name, part.partition("=")[2], trusted=False)

    def _learn_variable(self, name: str, value: object, within: bool = False) -> None:
        if not isinstance(name, str):
            return
        named = looks_secret(name.rpartition(".")[2]) or (within and looks_secret(name))
        if isinstance(value, bytes) and named and len(value) < 100_000:
            value = value.decode("utf-8", "ignore")
        if isinstance(value, str):
            if named and self._is_news("variables", name, str.__str__(value)):
                self._learn(name, str.__str__(value), trusted=bool(_TRUSTED.search(name)))
        elif hasattr(type(value), "get_secret_value"):
            hidden = value.get_secret_value()  # type: ignore[attr-defined]
            text = hidden.decode("utf-8", "ignore") if isinstance(hidden, bytes) else hidden
            if isinstance(text, str) and self._is_news("variables", name, text):
                self._learn(name, text, trusted=True)
        elif value is os.environ:
            self._learn_whole_environment(os.environ)
        elif named and not within and isinstance(value, list | tuple | set) and len(value) <= _MOST_ENTRIES:
            for entry in list(value):
                self._learn_variable(name, entry, within=True)
        elif not within and isinstance(value, dict | UserDict) and len(value) <= _MOST_ENTRIES:
            for key, entry in list(value.items()):
                if isinstance(key, str):
                    self._learn_variable(f"{name}.{key}", entry, within=True)


def holds_secret(expression: str, value: str) -> bool:
    """Whether a text is a secret by the name of the variable, attribute or key that holds it.

    Args:
        expression: How it was come by; only such as ``settings.api_key`` or ``config["password"]`` says anything.
        value: The text.
    """
    if len(expression) > 200 or not _ACCESS.fullmatch(expression):
        return False
    last = re.split(r"[.\[]", expression)[-1].strip("\"']")
    return looks_secret(last) and is_telling(value.strip(), bool(_TRUSTED.search(last)))


def without_secrets(value: Any, redact: Callable[[str], str]) -> Any:
    """A copy of nested dicts, lists and tuples that can be shown: such as the arguments of a request.

    Args:
        value: What may be nested; objects of other kinds stay as they are.
        redact: Takes secrets out of a text; texts under the name of a secret don't come through it, but are left out.

    Returns:
        The copy, in which ``"[redacted]"`` stands for everything but None that has the name of a secret.
    """
    return _copied(value, redact, ())


def _copied(value: Any, redact: Callable[[str], str], around: tuple[int, ...]) -> Any:
    if isinstance(value, str):
        return redact(str.__str__(value))
    if not isinstance(value, Mapping | list | tuple):
        return value
    if len(around) > _DEEPEST or id(value) in around:
        return "…"
    within = (*around, id(value))
    if isinstance(value, Mapping):
        return {
            redact(key) if isinstance(key, str) else key: "[redacted]"
            if isinstance(key, str) and _hides(key) and entry is not None
            else _copied(entry, redact, within)
            for key, entry in value.items()
        }
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and _hides(value[0]):
        return (value[0], "[redacted]")  # one of several headers
    copies = [_copied(entry, redact, within) for entry in value]
    return tuple(copies) if isinstance(value, tuple) else copies


def _hides(name: str) -> bool:
    return looks_secret(name) or name.lower() in _WITHOUT_NAMES


def _forms(value: str) -> list[str]:
    """A value as it stands in text, JSON, Python and URLs."""
    plain = value.encode("utf-8", "replace").decode()
    quoted = [quote(plain), quote(plain, safe=""), quote_plus(plain)]
    lower = [re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in quoted]
    written = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]]
    twice = [json.dumps(form)[1:-1] for form in written[:2]]
    return list(dict.fromkeys([value, *quoted, *lower, *written, *twice]))


def _apart(spans: Iterator[Span]) -> list[Span]:
    """The same in order, where those that overlap are one, called like the longest of them."""
    apart: list[Span] = []
    longest = 0
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if apart and start < apart[-1][1]:
            begin, until, known = apart[-1]
            if not known and end <= until:
                continue  # within what stands for a secret already
            if not known or end - start > longest:
                known, longest = name or known, end - start
            apart[-1] = (begin, max(until, end), known)
        else:
            apart.append((start, end, name))
            longest = end - start
    return apart
