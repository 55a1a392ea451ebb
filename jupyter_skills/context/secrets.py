"""Secrets of the notebook and its environment, taken out of what is sent."""

from __future__ import annotations

import json
import os
import re
from collections import UserDict
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

from jupyter_skills.context.names import looks_secret
from jupyter_skills.context.shapes import Span, is_placeholder, known_shapes, password_in_url

__all__ = ["Redactor", "holds_secret", "looks_secret"]

_ENDINGS = (
    "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PASSPHRASE", "_PWD", "_CREDENTIAL", "_CREDENTIALS", "_PAT"
)  # fmt: skip
_TRUSTED = re.compile(r"(?i)passw|passphrase|pwd|secret|credential")
_MOST_ENTRIES = 1_000
_MOST_PASSES = 50
_LONG = 16
_ACCESS = re.compile(r"""(?:\w++|\.|\[(?:"[^"]*"|'[^']*'|\d+)\])+""")
_WORDS = re.compile(r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)(?:[-_./: ]+(?:[a-z]+|[A-Z]+|[A-Z][a-z]+))*")
_ORDINARY = re.compile(
    "(?i)passwords?|passwort|secrets?|changeme|postgres(?:ql)?|jupyter|default|username|administrator|localhost|undefined"
    "|disabled|enabled|password1|password123|test1234|letmein"
)
_PLACE = re.compile(r"(?:[~.]{0,2}/|[A-Za-z]:[\\/]|\\\\)")
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
        for name, value in environment.items():
            redactor._learn_environment(name, value)
        for name, variable in list(variables.items()):
            try:
                redactor._learn_variable(name, variable)
            except Exception:  # noqa: BLE001, S112 -- objects of the user's may raise anything when looked at
                continue
        return redactor

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
        for form, name in self._names.items():
            if form not in text:
                continue
            literal = re.escape(form)
            short = form.isalnum() and len(form) < _LONG
            for match in re.finditer(rf"{_LEFT}{literal}(?![^\W_])" if short else literal, text):
                yield *match.span(), name
        yield from known_shapes(text)

    def _learn(self, name: str, value: str, trusted: bool) -> None:
        value = value.strip()
        if not _telling(value, trusted):
            return
        forms = _forms(value)
        self._count += value not in self._names
        for form in forms:
            if form not in f"{_MARK}{_NAMELESS}]":
                self._names.setdefault(form, " ".join(name.translate(_NO_BRACKETS).split())[:80])

    def _label(self, name: str) -> str:
        """What stands for a secret of that name: itself must hold none."""
        return _NAMELESS if not name or any(form in f"{_MARK}{name}]" for form in self._names) else name

    def _learn_environment(self, name: str, value: str) -> None:
        if name.upper().endswith(_ENDINGS) or looks_secret(name):
            self._learn(name, value, trusted=bool(_TRUSTED.search(name)))
        if password := password_in_url(value):
            self._learn(name, password, trusted=True)

    def _learn_variable(self, name: str, value: object, within: bool = False) -> None:
        if not isinstance(name, str):
            return
        named = looks_secret(name.rpartition(".")[2]) or (within and looks_secret(name))
        if isinstance(value, bytes) and named and len(value) < 100_000:
            value = value.decode("utf-8", "ignore")
        if isinstance(value, str):
            if named:
                self._learn(name, str.__str__(value), trusted=bool(_TRUSTED.search(name)))
        elif hasattr(type(value), "get_secret_value"):
            hidden = value.get_secret_value()  # type: ignore[attr-defined]
            text = hidden.decode("utf-8", "ignore") if isinstance(hidden, bytes) else hidden
            if isinstance(text, str):
                self._learn(name, text, trusted=True)
        elif value is os.environ:
            for key, entry in os.environ.items():
                self._learn_environment(key, entry)
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
    return looks_secret(last) and _telling(value.strip(), bool(_TRUSTED.search(last)))


def _telling(value: str, trusted: bool) -> bool:
    """Whether a value can be told from prose.

    Args:
        value: The value.
        trusted: Whether it is a password: they are also words, where keys are drawn at random.
    """
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9]"))
    if len(value) < 6 or (len(value) < 8 and kinds < 2) or (value.isdigit() and len(value) < 10):
        return False
    if is_placeholder(value) or _ORDINARY.fullmatch(value):
        return False
    if trusted:
        return not (_PLACE.match(value) and _exists(value))
    if _WORDS.fullmatch(value):
        return len(value) >= 20 and value.isalpha() and not value.istitle()
    return not (_PLACE.match(value) and _exists(value))


def _exists(path: str) -> bool:
    try:
        return os.path.exists(os.path.expanduser(path))
    except ValueError:  # a NUL within
        return False


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
