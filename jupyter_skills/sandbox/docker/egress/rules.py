"""What the sandbox may connect to: hosts and ports by name, and which addresses a name may stand for."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from jupyter_skills.errors import UsageProblem

WEB_PORTS = frozenset({80, 443})
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER_LIKE = re.compile(r"[0-9]+|0x[0-9a-f]*")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
_LARGEST_NAME = 253

# Addresses that count as public and yet are no place of the public's: protocol assignments with Oracle's metadata
# service among them, Azure's metadata service, and relays that carry IPv4 inside IPv6.
# Sources: the IANA special-purpose address registries; the providers' manuals.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20")
)
_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def host_of(text: str) -> str:
    """A host as it is compared: in small letters, without a dot at its end, an address in its shortest form.

    Args:
        text: A name in ASCII, an IPv4 address in four decimal numbers, or an IPv6 address in brackets.

    Raises:
        ValueError: It is none of these, or could be taken for another.
    """
    if not text.isascii():
        raise ValueError("it is not in ASCII")
    if text.startswith("[") and text.endswith("]"):
        if "%" in text:
            raise ValueError("it names an interface")
        return str(ipaddress.IPv6Address(text[1:-1]))
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _LARGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("it is no host name")
    if _NUMBER_LIKE.fullmatch(labels[-1]):
        return str(ipaddress.IPv4Address(name))
    return name


def authority_of(text: str) -> tuple[str, int | None]:
    """The host, as ``host_of`` gives it, and the port, if one is named, of ``host[:port]``.

    Raises:
        ValueError: It is something else, or has more in it, such as a user's name.
    """
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        raise ValueError("it is no host with a port")
    port = int(found[2]) if found[2] else None
    if port is not None and port > 65535:
        raise ValueError("there is no such port")
    return host_of(found[1]), port


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet at large.

    Not to this machine, its networks, the link, a group, a provider's metadata service, or IPv4 in disguise.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _UNICAST or address.scope_id is not None:
            return False
    return (
        address.is_global
        and not (address.is_multicast or address.is_reserved or address.is_unspecified)
        and not any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    )


@dataclass(frozen=True)
class _Rule:
    """One word of the list: a host, or all below it, and the ports."""

    host: str
    below: bool
    ports: frozenset[int]

    def fits(self, host: str, port: int) -> bool:
        named = host.endswith(f".{self.host}") if self.below else host == self.host
        return named and port in self.ports


class Rules:
    """The hosts and ports that the sandbox may connect to.

    Args:
        words: ``example.org``, ``*.example.org`` (all below it), or an address; ports 80 and 443 if none follows, as
            in ``example.org:8080``. ``localhost`` is this machine, and needs its port.

    Raises:
        UsageProblem: A word is none of these.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._rules = tuple(_rule(word) for word in words)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def allow(self, host: str, port: int) -> bool:
        """Whether a host, in the form that ``host_of`` gives, is named with this port."""
        return any(rule.fits(host, port) for rule in self._rules)

    def allow_address(self, address: Address, port: int) -> bool:
        """Whether a name that is allowed may stand for this address: it is public, or named itself."""
        return is_public(address) or self.allow(str(address), port)

    @property
    def direct(self) -> list[str]:
        """The names of loopback that mean the sandbox's own: those the list does not give to this machine."""
        return [host for host in _LOOPBACK if not any(rule.host == host for rule in self._rules)]


def _rule(word: str) -> _Rule:
    try:
        below = word.startswith("*.")
        host, port = authority_of(_ascii(f"[{word}]" if word.count(":") > 1 and "[" not in word else word[2 * below :]))
    except ValueError as error:
        raise _bad(word, str(error)) from None
    if below and ("." not in host or _address(host) is not None):
        raise _bad(word, "a '*.' stands before a name of two parts or more")
    if host == "localhost" and port is None:
        raise _bad(word, "localhost needs its port, as in localhost:8000")
    address = _address(host)
    if address is not None and (address.is_unspecified or address.is_multicast):
        raise _bad(word, "nothing can be connected to there")
    return _Rule(host, below, WEB_PORTS if port is None else frozenset({port}))


def _ascii(word: str) -> str:
    """A name in the letters of any language as the domain name system has it."""
    if word.isascii():
        return word
    name, colon, port = word.partition(":")
    coded = name.encode("idna").decode()  # a UnicodeError is a ValueError
    if coded.encode().decode("idna") != name.lower():
        raise ValueError("it can be read in two ways; write it as it is registered, with xn--")
    return coded + colon + port


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _bad(word: str, why: str) -> UsageProblem:
    return UsageProblem(
        f"DockerSandbox.network can't have {word!r}: {why}",
        "Name hosts like 'example.org', '*.example.org' or 'example.org:8080'",
    )
