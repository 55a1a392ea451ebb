"""Whose key goes to which server, and in which header.

A key is read from the environment only: what stands on a command line can be read by every user of the machine. No
key goes to a server that it was not made for, only because somebody has said to push or pull there: without being
named, a provider's key goes to the provider itself, Jupyter's token to a Jupyter server, which ``/jupyter-skills`` in
an address tells, on this machine, and either to nobody else. LiteLLM's key goes to the LiteLLM proxy that is asked.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from jupyter_skills.errors import UsageProblem
from jupyter_skills.sharing.endpoints.endpoint import PROVIDERS, Shape
from jupyter_skills.sharing.reference import is_loopback

_JUPYTER, _JUPYTER_KEY = "jupyter-skills", "JUPYTER_TOKEN"
_KEYS: dict[Shape, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "litellm": "LITELLM_API_KEY",
}
_ANTHROPIC_VERSION = "2023-06-01"


def credentials(shape: Shape, base: str, variable: str | None = None) -> tuple[str, dict[str, str]]:
    """The key for an endpoint, and the headers that carry it.

    Args:
        shape: Whose API the endpoint speaks.
        base: Its address.
        variable: The environment variable that holds the key; the usual one of the place if not given.

    Raises:
        UsageProblem: The variable that was named is not set, or the key is needed and in none, or can't be sent.
    """
    headers = {"anthropic-version": _ANTHROPIC_VERSION} if shape == "anthropic" else {}
    if _is_jupyter(base):
        key = _jupyter_key(base, variable)
        return key, {**headers, **_authorization(key, "token")}
    known = shape == "litellm" or base == PROVIDERS[shape] or is_loopback(base)
    if variable is None and not known:
        raise UsageProblem(f"No key is known to be meant for '{base}'", f"Name its variable: --key-env {_KEYS[shape]}")
    key = _key_in(variable or _KEYS[shape])
    return key, {**headers, **({"X-Api-Key": key} if shape == "anthropic" else _authorization(key, "Bearer"))}


def login(address: str, variable: str | None = None) -> dict[str, str]:
    """The header for a site that skills are fetched from; most sites need none.

    Raises:
        UsageProblem: The variable that was named holds no key.
    """
    if _is_jupyter(address):
        return _authorization(_jupyter_key(address, variable), "token")
    return _authorization(_key_in(variable), "Bearer") if variable else {}


def _jupyter_key(address: str, variable: str | None) -> str:
    """The token for a Jupyter server; empty if there is none that is meant for it."""
    if variable is None and not (is_loopback(address) and os.environ.get(_JUPYTER_KEY)):
        return ""
    return _key_in(variable or _JUPYTER_KEY)


def _is_jupyter(address: str) -> bool:
    return _JUPYTER in urlsplit(address).path.split("/")


def _authorization(key: str, scheme: str) -> dict[str, str]:
    return {"Authorization": f"{scheme} {key}"} if key else {}


def _key_in(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageProblem(
            f"The environment variable {variable} holds no key", "Set it, or name another with --key-env"
        )
    if not (key.isascii() and key.isprintable()):
        raise UsageProblem(f"What the environment variable {variable} holds is no key", "Check it for slips")
    return key
