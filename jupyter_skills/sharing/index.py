"""Skills that a site offers in its ``/.well-known/agent-skills`` index (discovery, version 0.2.0)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from jupyter_skills.errors import RemoteDamaged, RemoteRefused
from jupyter_skills.sharing.choice import chosen
from jupyter_skills.sharing.fetched import Fetched, Limits
from jupyter_skills.sharing.opened import archived, manifest_only
from jupyter_skills.sharing.reference import Reference, without_credentials
from jupyter_skills.sharing.web import Login, download, joined
from jupyter_skills.skills.archive.names import shown

if TYPE_CHECKING:
    import httpx

WELL_KNOWN = ".well-known/agent-skills/index.json"
_MOST_OF_AN_INDEX = 8 * 1024 * 1024
_MOST_AT_ONCE = 4  # times what one skill may have, of all that are taken together
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = re.compile(r"/discovery/(\d+\.\d+)\.\d+/")
_KNOWN_VERSION = "0.2"
_TELL = "Tell whoever runs the site"


@dataclass(frozen=True)
class Entry:
    """One skill of an index.

    Args:
        name: Its name.
        kind: ``skill-md`` or ``archive``; others are for later versions.
        url: Its address, as it is written.
        digest: ``sha256:…`` of the bytes there.
    """

    name: str
    kind: str
    url: str
    digest: str


async def from_index(
    client: httpx.AsyncClient, reference: Reference, login: Login, *, everything: bool, limits: Limits
) -> list[Fetched]:
    """The skills that a reference names in a site's index.

    Args:
        client: See ``web.connection``.
        reference: The address of the site, or of its index.
        login: What to show to the site.
        everything: Whether all skills are meant.
        limits: Bounds on each.

    Raises:
        RemoteProblem: The site or the skill can't be had, or its bytes are not those that the index promises.
        SkillProblem: There is no such skill, or what came is none.
        UsageProblem: Nothing says which skill is meant.
    """
    address = index_address(reference.address)
    try:
        reply = await download(client, address, replace(limits, size=_MOST_OF_AN_INDEX), login)
    except RemoteRefused as error:
        raise RemoteRefused(
            error.message, "Give a site with an index of skills, an archive, or git+ before a repository's address"
        ) from None
    where = without_credentials(reply.url)
    entries = list(_entries(reply.body, where))
    fetched: list[Fetched] = []
    room = _MOST_AT_ONCE * limits.size
    for entry in chosen(entries, reference.name, everything=everything, where=where):
        came, size = await _entry(client, entry, reply.url, login, replace(limits, size=min(room, limits.size)))
        fetched.append(came)
        room -= size
    return fetched


def index_address(address: str) -> str:
    """The address of an index, given it or its site."""
    parts = urlsplit(address)
    if parts.path.endswith(".json"):
        return address
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{WELL_KNOWN}"))


def _entries(body: bytes, where: str) -> Iterator[Entry]:
    try:
        index = json.loads(body)
    except (ValueError, RecursionError):
        index = None
    listed = index.get("skills") if isinstance(index, dict) else None
    if not isinstance(listed, list):
        raise RemoteDamaged(f"'{where}' is no index of skills", _TELL)
    version = _VERSION.search(str(index.get("$schema", "")))
    if version and version[1] != _KNOWN_VERSION:
        raise RemoteDamaged(f"'{where}' is an index of version {version[1]}, not {_KNOWN_VERSION}", _TELL)
    for item in listed:
        yield _read(item, where)


def _read(item: Any, where: str) -> Entry:
    fields = item if isinstance(item, dict) else {}
    name, kind, url, digest = (fields.get(key) for key in ("name", "type", "url", "digest"))
    if not (isinstance(name, str) and isinstance(kind, str) and isinstance(url, str)):
        raise RemoteDamaged(f"An entry of '{where}' lacks its name, type or url, as those before version 0.2 do", _TELL)
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise RemoteDamaged(f"The entry {shown(name)} of '{where}' has no sha256 digest", _TELL)
    return Entry(name, kind, url, digest)


async def _entry(
    client: httpx.AsyncClient, entry: Entry, index: str, login: Login, limits: Limits
) -> tuple[Fetched, int]:
    """One skill, and how many bytes came for it; nothing of it is looked at before its digest is."""
    if entry.kind not in ("skill-md", "archive"):
        raise RemoteDamaged(f"The skill {shown(entry.name)} comes as a {shown(entry.kind)}", "Upgrade this package")
    address = joined(index, entry.url)
    if urlsplit(address).scheme != urlsplit(index).scheme:
        raise RemoteDamaged(f"The skill {shown(entry.name)} lies at {shown(entry.url)}, by another scheme", _TELL)
    reply = await download(client, address, limits, login)
    origin = without_credentials(reply.url)
    digest = f"sha256:{await asyncio.to_thread(lambda: hashlib.sha256(reply.body).hexdigest())}"
    if digest != entry.digest:
        raise RemoteDamaged(
            f"'{origin}' is not what the index promises: its digest is {digest}, not {entry.digest}",
            f"Take nothing from there, and {_TELL[0].lower()}{_TELL[1:]}",
        )
    opener = archived if entry.kind == "archive" else manifest_only
    skill = await asyncio.to_thread(opener, reply.body, origin, entry.name)
    if skill.name != entry.name:
        raise RemoteDamaged(f"'{origin}' holds the skill {shown(skill.name)}, not {shown(entry.name)}", _TELL)
    file_name = urlsplit(origin).path.rpartition("/")[2] if entry.kind == "archive" else None
    return Fetched(skill, f"{without_credentials(index)}#{entry.name}", digest=digest, file_name=file_name), len(
        reply.body
    )
