"""Secrets that show by their shape what they are: the keys of well-known services.

Each pattern begins with what only such a key begins with, so that a text without it costs one search, and reads no
character more than a few times, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int, str]
"""Where a secret begins and ends, and what it is."""


def _as_a_word(start: str) -> str:
    """A pattern for what a key begins with, where nothing stands before it that would make it part of a longer word.

    An escape may: much of what is sent has been through JSON or a URL.
    """
    literal = re.escape(start)
    escapes = (r"\\[abfnrtv0]", "%[0-9A-Fa-f]{2}", r"\\x[0-9a-f]{2}", r"\\u[0-9a-f]{4}")
    after = "|".join(f"(?<={escape}{literal})" for escape in escapes)
    return f"{literal}(?:(?<![A-Za-z0-9]{literal})|{after})"


_BY_PREFIX = [
    ("an Anthropic API key", "sk-ant-", r"[A-Za-z0-9_-]{20,}"),
    (
        "an OpenAI API key",
        "sk-",
        r"(?!ant-)(?=[A-Za-z0-9_-]{0,24}?(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12})[A-Za-z0-9_-]{20,}",
    ),
    ("a GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,}"),
    *(("a GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{36,}") for kind in "pousr"),
    ("a GitLab token", "glpat-", r"[A-Za-z0-9_-]{20,}"),
    *(("an AWS access key", kind, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for kind in ("AKIA", "ASIA")),
    ("a Google API key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("a Google client secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    ("a Google access token", "ya29.", r"[A-Za-z0-9_.-]{20,}"),
    *(("a Slack token", f"xox{kind}-", r"[A-Za-z0-9-]{10,}") for kind in "abeoprs"),
    ("a Slack webhook", "hooks.slack.com/services/", r"T[A-Za-z0-9]{6,}/B[A-Za-z0-9]{6,}/[A-Za-z0-9]{16,}"),
    *(("a Stripe key", f"{kind}_{mode}_", r"[A-Za-z0-9]{16,}") for kind in ("sk", "rk") for mode in ("live", "test")),
    ("a Stripe secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    ("a Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("an npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    ("a PyPI token", "pypi-", r"[A-Za-z0-9_-]{50,}"),
    ("a Groq API key", "gsk_", r"[A-Za-z0-9]{32,}"),
    ("an xAI API key", "xai-", r"[A-Za-z0-9]{40,}"),
    ("a Perplexity API key", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("a Replicate token", "r8_", r"[A-Za-z0-9]{32,}"),
    ("a SendGrid API key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("a DigitalOcean token", "dop_v1_", r"[a-f0-9]{64}"),
]

# Each with a text that must be there, in lower case, and a group that holds the secret.
_BY_CONTEXT = [
    (
        "a JSON web token",
        "eyj",
        r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
        r"|eyJ(?<=\\[nrt]eyJ)[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    (
        "a bearer token",
        "bearer",
        r"(?i:bearer)(?:[ \t]{1,4}|%20|\+)(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
    ),
    (
        "an AWS secret key",
        "secret",
        r"(?i:secret[_-]?access[_-]?key)[\\\"']{0,3}\s{0,3}[:=]{1,2}\s{0,3}[\\\"']{0,3}"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    (
        "an Azure storage key",
        "accountkey=",
        r"(?i:accountkey)=(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    (
        "a password in a URL",
        "://",
        r"://[^\s/:@\"'<>`]{0,128}:(?P<secret>[^\s/\"'<>`]{1,256})@",
    ),
    (
        "a private key",
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
        # Its end may have been cut off.
        r"|(?:\s|\\[nr])*+[A-Za-z0-9+/=]{40,}+(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{40,}+)*+)",
    ),
]

_PREFIXED = [(label, start, re.compile(_as_a_word(start) + rest)) for label, start, rest in _BY_PREFIX]
_IN_CONTEXT = [(label, needed, re.compile(pattern)) for label, needed, pattern in _BY_CONTEXT]

_PLACEHOLDER = re.compile(r"(?i)x{5}|\*{3}|your|example|placeholder|redacted|dummy|changeme|abcdefgh|_here\b|-here\b")
_URL_PLACEHOLDER = re.compile(
    r"(?i)\$\w|\$?\{.*\}|%s|%\(\w+\)s|\[.*\]|\.+|\*+|x+|.*(?:your|example).*|pass(?:w(?:or)?d)?|p[ws]|pwd|secret|user|root|admin"
    r"|postgres|mysql|guest|test|token|key|changeme|\d{1,5}"
)
_PEM_LINE = re.compile(r"-----[A-Z0-9 ]+-----")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"[0-9]")


def known_shapes(text: str) -> Iterator[Span]:
    """Where in a text secrets of a well-known shape are; placeholders are none."""
    for label, prefix, pattern in _PREFIXED:
        if prefix in text:
            for match in pattern.finditer(text):
                if _is_random(match[0][len(prefix) :]):
                    yield *match.span(), label
    low = text.lower()
    for label, needed, pattern in _IN_CONTEXT:
        if needed in low:
            for match in pattern.finditer(text):
                group = "secret" if "secret" in pattern.groupindex else 0
                if _is_meant(label, match[group]):
                    yield *match.span(group), label


def is_placeholder(text: str) -> bool:
    """Whether a text stands where a secret would: ``YOUR_API_KEY``, ``sk-xxxxxxxx``, ``<token>``."""
    return bool(_PLACEHOLDER.search(text)) or len(set(text)) <= 3 or (text[:1], text[-1:]) in (("<", ">"), ("{", "}"))


def password_in_url(text: str) -> str:
    """The password in the first URL of a text that has one; empty if there is none."""
    for start, end, label in known_shapes(text) if "://" in text else ():
        if label == "a password in a URL":
            return text[start:end]
    return ""


def _is_meant(label: str, found: str) -> bool:
    if label == "a password in a URL":
        return not (_URL_PLACEHOLDER.fullmatch(found) or re.match(r"\$[A-Za-z_{]|.*\{.*\}", found))
    if label == "a private key":
        return len(re.findall("[A-Za-z0-9+/]", _PEM_LINE.sub("", found))) >= 40 and "..." not in found
    return _is_random(found)


def _is_random(found: str) -> bool:
    """Whether it could be a key: keys are drawn at random, and hold letters and digits of many kinds."""
    return (
        len(set(found)) >= 6
        and _LETTER.search(found) is not None
        and _DIGIT.search(found) is not None
        and not is_placeholder(found)
    )
