"""Real git repositories, and archives, made for a test."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
from pathlib import Path

from jupyter_skills.skills.skill import Skill

_WHO = {f"GIT_{role}_{what}": f"a@{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def manifest(name: str, body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: Does a thing.\n---\n{body}\n"


def zipped(name: str, **files: str) -> bytes:
    """A zip of a skill."""
    return skill(name, **files).to_zip()


def skill(name: str, **files: str) -> Skill:
    from jupyter_skills.skills.files import FileEntry, MemoryFiles
    from jupyter_skills.skills.source import Source

    texts = {"SKILL.md": manifest(name), **files}
    entries = {path: FileEntry(text.encode()) for path, text in texts.items()}
    return Skill.from_files(MemoryFiles(entries), None, Source("archive"))


def tarred(*members: tuple[str | tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A gzipped tar, as Python writes it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name) if isinstance(name, str) else name
            if member.isreg():
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), 1, mtime=0)


class Repository:
    """A repository in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, given: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *words], input=given, capture_output=True, env={**os.environ, **_WHO}
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def commit(self) -> str:
        """Commits all there is; gives the hash."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")
        return self.git("rev-parse", "HEAD")

    def tree(self, *entries: str, above: str = "") -> str:
        """Commits a tree made by hand, of lines as ``git mktree`` takes them; gives the hash."""
        tree = self.git("mktree", "--missing", "-z", given="".join(f"{entry}\0" for entry in entries).encode())
        if above:
            tree = self.git("mktree", given=f"040000 tree {tree}\t{above}\n".encode())
        commit = self.git("commit-tree", "-m", "x", tree)
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=content)

    @property
    def reference(self) -> str:
        return f"git+file://{self.path}"
