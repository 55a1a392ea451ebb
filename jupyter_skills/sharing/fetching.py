"""Fetching skills by reference."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from jupyter_skills.errors import SkillNotFound, UsageProblem
from jupyter_skills.sharing.endpoints.keys import login
from jupyter_skills.sharing.fetched import Fetched, Limits, cleaned
from jupyter_skills.sharing.git import from_git
from jupyter_skills.sharing.index import from_index
from jupyter_skills.sharing.opened import TAR_SUFFIXES, archived, manifest_only
from jupyter_skills.sharing.reference import Reference, parse, without_credentials
from jupyter_skills.sharing.web import Login, connection, download
from jupyter_skills.skills.files import ARCHIVE_SUFFIXES
from jupyter_skills.skills.places import expanded
from jupyter_skills.store.finding import resolve

_ARCHIVES = (*ARCHIVE_SUFFIXES, *TAR_SUFFIXES)


async def fetch(
    reference: str,
    *,
    revision: str | None = None,
    everything: bool = False,
    key_variable: str | None = None,
    limits: Limits | None = None,
) -> list[Fetched]:
    """The skills that a reference means; nothing of them is run or written.

    Args:
        reference: A folder, a SKILL.md, an archive or a discovered name; ``https://…`` of an archive, a SKILL.md, a
            site with an index of skills or the index itself (``#NAME`` chooses one of them); ``git+https://…``,
            ``git+ssh://…``, ``git+file://…`` or ``git+PATH`` with ``@REVISION``, ``#subdirectory=FOLDER`` or ``#NAME``.
        revision: The branch, tag or commit of a repository, if the reference doesn't name it.
        everything: All skills that are there, where there are several.
        key_variable: The environment variable with the key or token that a site asks for.
        limits: Bounds on what is fetched.

    Raises:
        UsageProblem: The reference can't be read, or doesn't say which of several skills is meant.
        SkillProblem: There is no such skill, or it is damaged, hostile or none.
        RemoteProblem: The other side can't be reached, refuses, or sends what it did not promise.
    """
    wanted = parse(reference, revision)
    bounds = limits or Limits()
    if key_variable is not None and wanted.kind != "web":
        raise UsageProblem("A key goes with an address on the web only", "Leave out --key-env")
    if wanted.kind == "git":
        return await from_git(wanted, everything=everything, limits=bounds)
    if wanted.kind == "web":
        return await _from_web(wanted, key_variable, everything=everything, limits=bounds)
    return [await asyncio.to_thread(_local, wanted.address)]


async def _from_web(wanted: Reference, key_variable: str | None, *, everything: bool, limits: Limits) -> list[Fetched]:
    path = urlsplit(wanted.address).path
    lower = path.lower()
    shown = Login(wanted.address, login(wanted.address, key_variable))
    async with connection() as client:
        if not lower.endswith((*_ARCHIVES, ".md")):
            return await from_index(client, wanted, shown, everything=everything, limits=limits)
        reply = await download(client, wanted.address, limits, shown)
    origin = without_credentials(wanted.address)
    if lower.endswith(".md"):
        return [Fetched(await asyncio.to_thread(manifest_only, reply.body, origin, None), origin)]
    skill = await asyncio.to_thread(archived, reply.body, origin)
    if wanted.name not in (None, skill.name):
        raise SkillNotFound(f"There is no skill '{wanted.name}' in '{origin}'", f"There is: {skill.name}")
    return [Fetched(skill, origin, file_name=path.rpartition("/")[2])]


def _local(address: str) -> Fetched:
    path = expanded(address)
    is_archive = address.lower().endswith(_ARCHIVES) and not path.is_dir()
    if is_archive and cleaned(path.name) != path.name:
        raise UsageProblem(f"The name of the archive {path.name!a} is no text", "Rename it")
    if is_archive and address.lower().endswith(TAR_SUFFIXES):
        return Fetched(archived(_read(address), address), file_name=path.name)
    return Fetched(resolve(address).snapshot(), file_name=path.name if is_archive else None)


def _read(address: str) -> bytes:
    path = expanded(address)
    most = Limits().size
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        raise SkillNotFound(f"There is no file '{address}'", "Check the path") from None
    except OSError as error:
        raise UsageProblem(f"'{address}' can't be read: {error.strerror}", "Check its permissions") from None
    if len(data) > most:
        raise UsageProblem(f"'{address}' has more than {most >> 20} MiB", "Keep data of that size outside of the skill")
    return data
