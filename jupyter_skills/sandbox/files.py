"""Taking out of the sandbox what code left in its working folder."""

from __future__ import annotations

import asyncio

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.execution.output import clean_text, generated_file
from jupyter_skills.execution.result import GeneratedFile
from jupyter_skills.sandbox.docker.link import Link

_MOST_FILES = 1000

Facts = tuple[int, int]


class WorkFolder:
    """The working folder of one container, and what was seen in it. Whatever it says of itself is checked here."""

    def __init__(self) -> None:
        self._seen: dict[str, Facts] = {}

    async def fresh(self, link: Link, limit: int) -> tuple[tuple[GeneratedFile, ...], list[str]]:
        """What is new or has changed since it was asked last.

        Args:
            link: The link to the container.
            limit: How many bytes to take out at most.

        Returns:
            The files in order of their paths; and a sentence on each that was left inside.
        """
        listing = await link.ask("list", limit=_MOST_FILES)
        now = _facts(listing.get("files"))
        notes = [] if listing.get("complete") else [f"Of many files only {_MOST_FILES:,} were looked at."]
        fresh = sorted(path for path, facts in now.items() if self._seen.get(path) != facts)
        self._seen = {path: facts for path, facts in self._seen.items() if path in now}
        found: list[GeneratedFile] = []
        for path in fresh:
            size = now[path][0]
            self._seen[path] = now[path]
            if not _plain(path) or size > limit:
                notes.append(f"The file {clean_text(path)!r} ({size:,} bytes) was left in the sandbox.")
                continue
            try:
                content = await self._take(link, path, limit)
            except BaseException:
                del self._seen[path]  # it is given with the next call
                raise
            if content is None:
                notes.append(f"The file {path!r} could not be taken out of the sandbox.")
                continue
            limit -= len(content)
            found.append(await asyncio.to_thread(generated_file, path, content))
        return tuple(found), notes

    @staticmethod
    async def _take(link: Link, path: str, limit: int) -> bytes | None:
        content = bytearray()

        def on_data(piece: bytes) -> None:
            content.extend(piece[: limit - len(content)])

        try:
            await link.ask("get", path=path, limit=limit, on_data=on_data)
        except SandboxFailed:
            return None
        return bytes(content)


def _facts(files: object) -> dict[str, Facts]:
    """The listing, as far as it is one."""
    found: dict[str, Facts] = {}
    for row in files[:_MOST_FILES] if isinstance(files, list) else ():
        match row:
            case [str(path), int(size), int(changed)] if size >= 0:
                found[path] = size, changed
    return found


def _plain(path: str) -> bool:
    return path.isprintable() and "\\" not in path and not {"", ".", ".."} & set(path.split("/"))
