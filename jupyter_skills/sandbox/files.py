"""Files on their way into the sandbox's working folder, and out of it."""

from __future__ import annotations

import asyncio
import io
import posixpath
import tarfile
from collections.abc import Iterable, Mapping

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.execution.output import PictureBudget, clean_text, generated_file
from jupyter_skills.execution.result import GeneratedFile
from jupyter_skills.sandbox.host import KernelHost, Look
from jupyter_skills.sandbox.inside.folders import WORK

ROOM = 200 * 1024 * 1024
"""Bytes that the working folder surely has room for."""
_MOST_FRESH = 1000
_LONGEST_SHOWN = 200
_MOST_LISTED = 20_000


class WorkFolder:
    """The working folder of one kernel, and what was seen in it. Whatever it says of itself is checked here."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self.last = Look({})

    async def begin(self, host: KernelHost) -> None:
        """Looks at a kernel that has just started: what its limits have met with before is none of ours."""
        self.last = await host.look(_MOST_LISTED)
        self._seen = dict(self.last.files)

    async def fresh(self, host: KernelHost, limit: int) -> tuple[tuple[GeneratedFile, ...], list[str]]:
        """What is new or has changed since it was asked last.

        Args:
            host: The kernel.
            limit: How many bytes to take out at most.

        Returns:
            The files in order of their paths; and a sentence on each that was left inside.
        """
        self.last = await host.look(_MOST_LISTED)
        now = self.last.files
        notes = [] if self.last.complete else [f"Of many files only {_MOST_LISTED:,} were looked at."]
        fresh = sorted(path for path, facts in now.items() if self._seen.get(path) != facts)
        if left := fresh[_MOST_FRESH:]:
            notes.append(f"{len(left):,} more files were left in the sandbox.")
            self._seen.update({path: now[path] for path in left})
        fresh = fresh[:_MOST_FRESH]
        self._seen = {path: facts for path, facts in self._seen.items() if path in now}
        found: list[GeneratedFile] = []
        budget = PictureBudget()
        for path in fresh:
            size = now[path][0]
            self._seen[path] = now[path]
            if not _plain(path) or size > limit:
                notes.append(f"The file {_short(path)!r} ({size:,} bytes) was left in the sandbox.")
                continue
            try:
                content = await host.get(path, limit)
            except BaseException:
                del self._seen[path]  # it is given with the next call
                raise
            if content is None:
                notes.append(f"The file {_short(path)!r} could not be taken out of the sandbox.")
                continue
            limit -= len(content)
            found.append(await asyncio.to_thread(generated_file, path, content, budget))
        return tuple(found), notes

    async def expect(self, host: KernelHost, paths: Iterable[str]) -> None:
        """Notes files that were put there, so that they don't count as fresh."""
        now = (await host.look(_MOST_LISTED)).files
        self._seen |= {path: now[path] for path in paths if path in now}

    async def carry_over(self, old: KernelHost, new: KernelHost) -> None:
        """Copies all files of one kernel's working folder into another's, which is this one from then on.

        Raises:
            SandboxProblem: They can't be had, or there are too many.
        """
        listed = await old.look(_MOST_LISTED)
        if not listed.complete or sum(size for size, _ in listed.files.values()) > ROOM:
            raise SandboxFailed("There is too much in the working folder", "Take it out with '%skill sandbox get'")
        kept: dict[str, bytes] = {}
        room = ROOM
        for path in filter(_plain, listed.files):
            content = await old.get(path, room)
            if content is not None:
                kept[path] = content
                room -= len(content)  # a listing may say less than there is
        await new.put(await asyncio.to_thread(tar_of, kept), WORK, replace=False)
        await self.begin(new)

    async def take(self, host: KernelHost, path: str, limit: int) -> tuple[GeneratedFile, ...]:
        """The files at a path: a file, or all that lie in a folder.

        Raises:
            SandboxFailed: There is none, it can't be taken out, or it is over the limit.
        """
        wanted = in_work(path)
        look = await host.look(_MOST_LISTED)
        listed = {} if wanted is None else look.files
        there = {
            found: facts[0] for found, facts in listed.items() if f"{found}/".startswith(f"{wanted}/" if wanted else "")
        }
        if listed and not look.complete:
            raise SandboxFailed(
                f"The sandbox has more than {_MOST_LISTED:,} files",
                "Have code there put those you want into one archive",
            )
        if not there:
            raise SandboxFailed(f"There is no file '{path}' in the sandbox", "Paths are relative to its /work")
        if (size := sum(there.values())) > limit:
            raise SandboxFailed(
                f"'{path}' has {size:,} bytes, over the limit of {limit:,}",
                "Take less, or raise it with '%config DockerSandbox.file_limit = …'",
            )
        found: list[GeneratedFile] = []
        budget = PictureBudget()
        for name in sorted(there):
            content = await host.get(name, limit) if _plain(name) else None
            limit -= len(content or b"")  # a listing may say less than there is
            if content is None:
                raise SandboxFailed(
                    f"The file '{_short(name)}' can't be taken out of the sandbox", "Give it another name, or path"
                )
            found.append(await asyncio.to_thread(generated_file, name, content, budget))
        return tuple(found)


def in_work(path: str) -> str | None:
    """A path as it is within the working folder, empty for all of it; None if it leads out of it."""
    within = posixpath.relpath(posixpath.join(WORK, path), WORK)
    if within.partition("/")[0] == "..":
        return None
    return "" if within == "." else within


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """Files as an uncompressed tar.

    Args:
        files: Their bytes by path.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _short(path: str) -> str:
    """A path for a sentence."""
    text = clean_text(path)
    return text if len(text) <= _LONGEST_SHOWN else f"…{text[-_LONGEST_SHOWN:]}"


def _plain(path: str) -> bool:
    return path.isprintable() and "\\" not in path and not {"", ".", ".."} & set(path.split("/"))
