"""What a user's word for a skill refers to: a place on this machine, an address, or a git repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit, urlunsplit

from jupyter_skills.errors import InvalidArchive, UsageProblem
from jupyter_skills.skills.archive.names import parts_of
from jupyter_skills.skills.places import expanded

_GIT = "git+"
_GIT_SCHEMES = ("https", "ssh", "file")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

# What git would take for an option, another reference or a search; and what no reference may have in it.
_NO_REVISION = re.compile(r"\A[-+]|\.\.|@\{|[\x00-\x20\x7f~^:?*\[\\]|\A\Z")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Reference:
    """Where a skill is to be fetched from.

    Args:
        kind: ``local``: a path, or the name of a skill that can be discovered; ``web``: an address; ``git``: a
            repository.
        address: The path, name or URL, with the credentials in it if there are any.
        revision: The branch, tag or commit, of a repository.
        folder: The folder in the repository, if the user named one.
        name: The skill to choose where there are several.
    """

    kind: Literal["local", "web", "git"]
    address: str
    revision: str | None = None
    folder: str | None = None
    name: str | None = None

    @property
    def shown(self) -> str:
        """The address without credentials."""
        return without_credentials(self.address)


def parse(text: str, revision: str | None = None) -> Reference:
    """Reads a reference.

    Args:
        text: ``git+URL@REVISION#subdirectory=FOLDER`` (or ``#NAME``), ``https://…`` (with ``#NAME``), a path or a name.
        revision: The revision of a git repository, if it is not in the reference.

    Raises:
        UsageProblem: It can't be one.
    """
    if _CONTROL.search(text):
        raise UsageProblem("A reference can't hold characters that can't be shown", "Check it for slips")
    if text.startswith(_GIT):
        return _git(text.removeprefix(_GIT), revision)
    if revision is not None:
        raise UsageProblem(
            "A revision goes with a git repository only", "Write git+ in front of the repository's address"
        )
    scheme = text.partition("://")[0] if "://" in text else ""
    if not scheme:
        return Reference("local", text)
    if scheme.lower() not in ("https", "http"):
        raise UsageProblem(f"Skills can't be fetched by '{scheme}'", "Give a path, an https:// address or a git+ one")
    address, _, fragment = text.partition("#")
    check_address(address)
    return Reference("web", address, name=unquote(fragment) or None)


def check_address(address: str) -> SplitResult:
    """The parts of an address on the web.

    Raises:
        UsageProblem: It is none, or what came from there could be changed on the way.
    """
    parts = _split(address)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise UsageProblem(
            f"'{without_credentials(address)}' is no address of a site", "Give one that begins with https://"
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise UsageProblem(
            f"What comes from '{without_credentials(address)}' could be changed on the way",
            "Give the address with https://",
        )
    return parts


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine."""
    return _split(address).hostname in _LOOPBACK


def without_credentials(address: str) -> str:
    """An address as it may be shown and noted: without user, password, query and fragment; a login's name stays."""
    if "://" not in address:
        return address
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        user = parts.username if parts.scheme == "ssh" else None
    except ValueError:
        return f"{address.partition('://')[0]}://…"
    return urlunsplit((parts.scheme, f"{user}@{host}" if user else host, parts.path, "", ""))


def _git(text: str, revision: str | None) -> Reference:
    address, _, fragment = text.partition("#")
    folder, name = _choice(unquote(fragment))
    written: str | None = None
    if "://" in address:
        parts = _split(address)
        if parts.scheme not in _GIT_SCHEMES:
            raise UsageProblem(
                f"A repository can't be fetched by '{parts.scheme}'", "Use git+https://, git+ssh:// or git+file://"
            )
        path, at, written = parts.path.rpartition("@") if "@" in parts.path else (parts.path, "", "")
        if parts.scheme == "file":
            address = unquote(path)
        elif not parts.hostname or parts.hostname.startswith("-"):
            raise UsageProblem(f"'{without_credentials(address)}' names no host", "Check the repository's address")
        else:
            address = urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
    else:
        path, at, written = address.rpartition("@") if "@" in address else (address, "", "")
        if at and expanded(address).is_dir():
            path, at, written = address, "", ""
        address = str(expanded(path).absolute())
    if at and revision not in (None, written):
        raise UsageProblem(f"Two revisions are named: '{written}' and '{revision}'", "Give one of them")
    wanted = written if at else revision
    if wanted is not None and _NO_REVISION.search(wanted):
        raise UsageProblem(f"'{wanted}' can't be a revision", "Give a branch, a tag or the hash of a commit")
    return Reference("git", address, wanted, folder, name)


def _choice(fragment: str) -> tuple[str | None, str | None]:
    """The folder and the name that a fragment chooses."""
    if "=" not in fragment:
        return None, fragment or None
    fields = {key: values[-1] for key, values in parse_qs(fragment, keep_blank_values=True).items()}
    folder = fields.pop("subdirectory", "").strip("/")
    fields.pop("egg", None)  # pip's, of no meaning here
    if fields:
        raise UsageProblem(f"'#{next(iter(fields))}=' has no meaning here", "Use #subdirectory=FOLDER or #NAME")
    if folder:
        try:
            parts_of(folder)
        except InvalidArchive as error:
            raise UsageProblem(error.message, "Give the path of a folder in the repository") from None
    return folder or None, None


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise UsageProblem(f"'{without_credentials(address)}' is no address", "Check it for slips") from None
    return parts
