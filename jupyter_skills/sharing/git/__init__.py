"""Skills in git repositories: the files of one commit, read as objects, never checked out."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jupyter_skills.errors import InvalidSkill, RemoteProblem, RemoteRefused, RemoteUnreachable, SkillNotFound
from jupyter_skills.sharing.choice import chosen
from jupyter_skills.sharing.fetched import Fetched, Limits
from jupyter_skills.sharing.git.program import Git, repository
from jupyter_skills.sharing.reference import Reference
from jupyter_skills.skills.archive.names import TakenNames, parts_of
from jupyter_skills.skills.files import MOST_FILES, FileEntry, MemoryFiles, is_junk
from jupyter_skills.skills.manifest import MANIFEST
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source

_HASH = re.compile(r"[0-9a-fA-F]{4,64}")
_FETCHED = "refs/fetched"
_MOST_AT_ONCE = 4  # times what one skill may have, of all that are taken together
_SHRINK = "Keep data of that size outside of the skill"


@dataclass(frozen=True)
class _Object:
    path: str
    mode: str
    object_id: str
    size: int

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")


@dataclass(frozen=True)
class _Folder:
    """A folder with a SKILL.md; its path is empty at the top of the repository."""

    path: str
    name: str


async def from_git(reference: Reference, *, everything: bool, limits: Limits) -> list[Fetched]:
    """The skills that a reference names in a repository.

    Args:
        reference: The repository, and what is wanted of it.
        everything: Whether all skills are meant.
        limits: Bounds on each step, and on each skill.

    Raises:
        RemoteProblem: The repository can't be had.
        SkillProblem: There is no such skill in it, or a broken one.
        UsageProblem: Nothing says which skill is meant.
        SkillsError: There is no git here.
    """
    stop = threading.Event()
    try:
        return await asyncio.to_thread(_read, reference, everything, limits, stop)
    finally:
        stop.set()


def _read(reference: Reference, everything: bool, limits: Limits, stop: threading.Event) -> list[Fetched]:
    with repository(reference, limits, stop) as git:
        commit = _commit(git, reference)
        objects = list(_objects(git, commit, reference.folder))
        folders = _folders(objects, reference)
        wanted = None if reference.folder is not None else reference.name
        if wanted is None:
            folders = _outermost(folders) if reference.folder is None else folders
        picked = chosen(folders, wanted, everything=everything, where=reference.shown)
        fetched: list[Fetched] = []
        room = _MOST_AT_ONCE * limits.size
        for folder in picked:
            came, size = _skill(git, folder, objects, reference, commit, min(room, limits.size))
            fetched.append(came)
            room -= size
        return fetched


def _commit(git: Git, reference: Reference) -> str:
    """Fetches the revision; gives the hash of its commit."""
    revision = reference.revision or "HEAD"
    try:
        git.fetch("--depth=1", f"+{revision}:{_FETCHED}")
    except RemoteUnreachable:
        raise
    except RemoteRefused as error:
        if "dubious ownership" in error.message:
            raise
        # Old servers have no shallow fetch; and of all of them only some know commits by a part of their hash.
        return _commit_of_all(git, reference, error)
    return _resolved(git, _FETCHED, reference)


def _commit_of_all(git: Git, reference: Reference, refused: RemoteRefused) -> str:
    revision = reference.revision or "HEAD"
    is_hash = _HASH.fullmatch(revision) is not None
    if not is_hash and "shallow" not in refused.message:
        raise refused
    if not is_hash:
        git.fetch(f"+{revision}:{_FETCHED}")
        return _resolved(git, _FETCHED, reference)
    git.fetch("+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*")
    return _resolved(git, revision, reference)


def _resolved(git: Git, name: str, reference: Reference) -> str:
    try:
        return git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").decode().strip()
    except RemoteProblem:
        raise RemoteRefused(
            f"'{reference.shown}' has no commit '{reference.revision}'", "Give a branch, a tag or the hash of a commit"
        ) from None


def _objects(git: Git, commit: str, folder: str | None) -> Iterator[_Object]:
    """All files of a commit, below a folder if one is given; those whose paths are no text are left out."""
    below = [f"{folder}/"] if folder else []
    for line in git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *below).split(b"\0"):
        facts, _, name = line.partition(b"\t")
        fields = facts.decode().split()
        try:
            path = name.decode()
        except UnicodeDecodeError:
            continue
        if len(fields) == 4:
            yield _Object(path, fields[0], fields[2], int(fields[3]) if fields[3].isdigit() else 0)


def _folders(objects: list[_Object], reference: Reference) -> list[_Folder]:
    found = []
    for item in objects:
        parts = item.path.split("/")
        if not item.is_file or parts[-1].lower() != MANIFEST.lower() or is_junk(parts, is_folder=False):
            continue
        path = "/".join(parts[:-1])
        if reference.folder in (None, path):
            found.append(_Folder(path, parts[-2] if path else Path(reference.address).name.removesuffix(".git")))
    if reference.folder is not None and not found:
        raise SkillNotFound(
            f"There is no SKILL.md in the folder '{reference.folder}' of '{reference.shown}'",
            "A skill is a folder with a SKILL.md in it",
        )
    return found


def _outermost(folders: list[_Folder]) -> list[_Folder]:
    """Those that are not part of another skill."""
    paths = {folder.path for folder in folders}
    if "" in paths:
        return [folder for folder in folders if not folder.path]

    def inside(path: str) -> bool:
        parts = path.split("/")
        return any("/".join(parts[:depth]) in paths for depth in range(1, len(parts)))

    return [folder for folder in folders if not inside(folder.path)]


def _skill(
    git: Git, folder: _Folder, objects: list[_Object], reference: Reference, commit: str, most: int
) -> tuple[Fetched, int]:
    """One skill, and how many bytes its files have."""
    start = f"{folder.path}/" if folder.path else ""
    label = f"{reference.shown}@{commit[:12]}" + (f"#subdirectory={folder.path}" if folder.path else "")
    files: list[_Object] = []
    left_out: list[str] = []
    names = TakenNames()
    for item in objects:
        path = item.path.removeprefix(start)
        if not item.path.startswith(start) or is_junk(path.split("/"), is_folder=False):
            continue
        if not item.is_file:
            left_out.append(path)
            continue
        names.take(parts_of(path), is_folder=False)
        files.append(_Object(path, item.mode, item.object_id, item.size))
    if len(files) > MOST_FILES:
        raise InvalidSkill(f"'{label}' holds more than {MOST_FILES:,} files", _SHRINK)
    size = sum(item.size for item in files)
    if size > most:
        raise InvalidSkill(f"'{label}' holds more than {most:,} bytes", _SHRINK)
    contents = _contents(git, files, most)
    entries = {
        item.path: FileEntry(content, 0o755 if item.mode == "100755" else 0o644)
        for item, content in zip(files, contents, strict=True)
    }
    folder_name = folder.name if folder.path else None
    skill = Skill.from_files(MemoryFiles(entries), folder_name, Source("archive", label))
    origin = f"git+{'' if '://' in reference.address else 'file://'}{reference.shown}"
    origin += f"#subdirectory={folder.path}" if folder.path else ""
    return Fetched(skill, origin, commit, left_out=tuple(left_out)), size


def _contents(git: Git, files: list[_Object], most: int) -> list[bytes]:
    """What is in files, as git answers for one after the other."""
    asked = "".join(f"{item.object_id}\n" for item in files).encode()
    answer = git.run("cat-file", "--batch", given=asked, most=len(asked) + most + 128 * (len(files) + 1))
    contents = []
    position = 0
    for item in files:
        end = answer.find(b"\n", position)
        fields = answer[position:end].split()
        if fields[1:2] != [b"blob"]:
            raise RemoteRefused(f"The repository lacks the file '{item.path}'", "Give another revision")
        length = int(fields[2])
        contents.append(answer[end + 1 : end + 1 + length])
        position = end + 1 + length + 1
    return contents
