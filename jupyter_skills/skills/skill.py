"""A skill: a folder with a SKILL.md, read but never run."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from jupyter_skills.errors import InvalidSkill, SkillNotFound
from jupyter_skills.skills import frontmatter
from jupyter_skills.skills.files import FileEntry, FolderFiles, MemoryFiles, SkillFiles, in_memory
from jupyter_skills.skills.frontmatter import Frontmatter
from jupyter_skills.skills.manifest import MANIFEST, located, manifest_in, manifest_of
from jupyter_skills.skills.placeholders import fill
from jupyter_skills.skills.places import expanded
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.rules import TOOLS_FIELD, manifest_problems, normalized
from jupyter_skills.skills.source import FOLDER, TEXT, Source

if TYPE_CHECKING:  # with its JSON schemas it costs more than all else here, and most skills have no tools
    from jupyter_skills.skills.tools.record import SkillTool

# A name is that of a folder where the code runs, so nothing that could leave one, nor too long for one.
_UNFIT = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 200  # in bytes, of which file systems allow 255


@dataclass(frozen=True)
class Skill:
    """One Agent Skill.

    Args:
        name: Its name, as the model and the user call it.
        description: What it does and when to use it; all that the model sees before it loads the skill.
        body: The instructions: SKILL.md without its frontmatter.
        content: Its files.
        source: Where it came from.
        license: What its author says of it, if anything.
        compatibility: What it needs, in its author's words.
        metadata: The map below ``metadata:``, all values as they are written.
        allowed_tools: The value of ``allowed-tools``: text, or a list; None if there is none.
        declared: The value of ``tools:``, as it was read.
        manifest_problems: What is wrong with the SKILL.md.
        lines: The line of each field of the SKILL.md, from 1.
        body_line: The line of the SKILL.md that the body starts in.
    """

    name: str
    description: str
    body: str = field(repr=False)
    content: SkillFiles = field(repr=False, compare=False)
    source: Source = TEXT
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    allowed_tools: str | list[str] | None = field(default=None, compare=False)
    declared: object = field(default=None, repr=False, compare=False)
    manifest_problems: tuple[Problem, ...] = field(default=(), repr=False, compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    body_line: int = field(default=1, repr=False, compare=False)

    @classmethod
    def from_path(cls, path: str | Path, source: Source = FOLDER) -> Skill:
        """Reads the skill in a folder.

        Args:
            path: The folder, or the SKILL.md in it.
            source: Where it came from.

        Raises:
            SkillNotFound: There is no such folder, or no SKILL.md in it.
            InvalidSkill: The SKILL.md can't be read, or has no usable description.
        """
        folder = located(path)
        files = FolderFiles(folder.resolve())
        manifest = manifest_of(files.root)
        if manifest is None:
            raise SkillNotFound(f"There is no SKILL.md in '{path}'", "A skill is a folder with a SKILL.md in it")
        with _where(f"'{files.root}'"):
            return cls.from_manifest(files, manifest, files.root.name, source)

    @classmethod
    def from_text(cls, text: str, source: Source = TEXT) -> Skill:
        """A skill without a folder, from the text of its SKILL.md.

        Raises:
            InvalidSkill: There is no usable description; or it declares tools, whose scripts could be nowhere.
        """
        content = text.encode(errors="surrogatepass")  # half of a pair is no text, and is told of as in a file
        skill = cls.from_files(MemoryFiles({MANIFEST: FileEntry(content)}), None, source)
        if isinstance(skill.declared, dict):
            raise InvalidSkill(
                f"The skill '{skill.name}' declares tools, but as text it has no scripts",
                "Put it into a folder with its scripts, and use Skill.from_path",
            )
        return skill

    @classmethod
    def from_zip(cls, archive: bytes | str | Path) -> Skill:
        """A skill from a zip or ``.skill`` archive, held in memory; nothing is written.

        Raises:
            InvalidArchive: The archive is damaged or hostile, or there is no skill in it.
            InvalidSkill: See ``from_path``.
        """
        from jupyter_skills.skills.archive import unpack

        data = archive if isinstance(archive, bytes) else expanded(archive)
        label = "" if isinstance(data, bytes) else str(archive)
        opened = unpack(data)
        return cls.from_files(opened.files, opened.folder or None, Source("archive", label))

    @classmethod
    def from_files(cls, files: SkillFiles, folder_name: str | None, source: Source) -> Skill:
        """A skill from its files, wherever they are; see ``from_path`` for the errors."""
        manifest = manifest_in(files.paths())
        if manifest is None:
            raise SkillNotFound("There is no SKILL.md", "A skill is a folder with a SKILL.md in it")
        with _where(f"'{files.root}'" if files.root else f"the {source}"):
            return cls.from_manifest(files, manifest, folder_name, source)

    @classmethod
    def from_manifest(cls, files: SkillFiles, manifest: str, folder_name: str | None, source: Source) -> Skill:
        """A skill from its files, of which only the SKILL.md is read.

        Args:
            files: The files.
            manifest: The path of the SKILL.md among them.
            folder_name: The name of the folder that they lie in, if they do.
            source: Where they came from.

        Raises:
            InvalidSkill: See ``from_path``.
        """
        front = frontmatter.parse(files.entry(manifest).content)
        return cls(
            name=_usable_name(front, folder_name),
            description=_usable_description(front),
            body=front.body,
            content=files,
            source=source,
            license=_optional(front, "license"),
            compatibility=_optional(front, "compatibility"),
            metadata=_flat(front.texts.get("metadata")),
            allowed_tools=_grants(front.texts.get("allowed-tools")),
            declared=front.fields.get(TOOLS_FIELD),
            manifest_problems=tuple(manifest_problems(front, folder_name, manifest)),
            lines=front.lines,
            body_line=front.body_line,
        )

    @property
    def folder(self) -> Path | None:
        """The folder that its files lie in; None for one from an archive or from text."""
        return self.content.root

    @cached_property
    def _tools(self) -> tuple[tuple[SkillTool, ...], tuple[Problem, ...]]:
        from jupyter_skills.skills.tools import tools_of

        tools, problems = tools_of(self.declared, self.content, self.lines.get(TOOLS_FIELD))
        return tuple(tools), tuple(problems)

    @property
    def tools(self) -> tuple[SkillTool, ...]:
        """The tools that it brings along; read from its files, nothing is run."""
        return self._tools[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What it was loaded in spite of; ``validate`` says more."""
        return *self.manifest_problems, *self._tools[1]

    def files(self) -> list[str]:
        """Paths of its files relative to its folder, with ``/``, sorted. Links are left out: they may lead outside."""
        return self.content.paths()

    def read(self, path: str) -> bytes:
        """One of its files.

        Args:
            path: Relative to the skill's folder, as ``files()`` lists it.

        Raises:
            SkillNotFound: The skill has no such file, or the path leads outside of it.
            InvalidSkill: The file can't be read.
        """
        plain = PurePosixPath(os.path.normpath(path)).as_posix()
        if plain not in self.files():
            raise SkillNotFound(f"The skill '{self.name}' has no file '{path}'", "Use a path that the skill lists")
        return self.content.entry(plain).content

    def instructions(self, folder: str) -> str:
        """The body with the placeholders for the skill's own folder filled in.

        Args:
            folder: Where the skill's files lie for the code that will run; empty if they lie nowhere.
        """
        return self.filled(self.body, folder)

    def filled(self, text: str, folder: str) -> str:
        """Text of the skill's with the placeholders filled in; see ``instructions``."""
        own = [self.name, *([self.content.root.name] if self.content.root else [])]
        return fill(text, folder, own) if folder else text

    def refreshed(self) -> Skill:
        """The skill as its folder has it now; itself if it has none.

        Raises:
            SkillProblem: It can't be read any more.
        """
        if not isinstance(self.content, FolderFiles):
            return self
        return replace(self.from_path(self.content.root, self.source), name=self.name)

    def snapshot(self) -> Skill:
        """The skill with all its files held in memory as they are now, so that they fit each other.

        Raises:
            SkillProblem: It can't be read.
        """
        if isinstance(self.content, MemoryFiles):
            return self
        files = in_memory(self.content)
        now = self.from_files(files, files.root.name if files.root else None, self.source)
        return replace(now, name=self.name)

    def file_digests(self) -> dict[str, str]:
        """``sha256:…`` of each file, with ``+x`` for an executable one.

        Raises:
            InvalidSkill: A file can't be read.
        """
        digests = {}
        for path in self.files():
            entry = self.content.entry(path)
            digests[path] = f"sha256:{hashlib.sha256(entry.content).hexdigest()}{'+x' * entry.executable}"
        return digests

    @property
    def digest(self) -> str:
        """``sha256:…`` over all its files as they are now: their paths, executable bits and bytes.

        Raises:
            InvalidSkill: A file can't be read.
        """
        return self._digest_in_memory if isinstance(self.content, MemoryFiles) else self._digest()

    @cached_property
    def _digest_in_memory(self) -> str:
        return self._digest()

    def _digest(self) -> str:
        # NUL is the one character that no path has, so that no name of a file can look like another line.
        whole = "".join(f"{digest} {path}\0" for path, digest in self.file_digests().items())
        return "sha256:" + hashlib.sha256(whole.encode()).hexdigest()

    def to_zip(self) -> bytes:
        """All its files as a zip, below a folder of its name: the same bytes for the same files, whatever their dates.

        Raises:
            SkillProblem: A file can't be read, or could not be unpacked everywhere.
        """
        from jupyter_skills.skills.archive import pack

        return pack(self.content, self.name)

    def to_tar(self) -> bytes:
        """All its files as an uncompressed tar, for a sandbox; the same bytes for the same files.

        Raises:
            InvalidSkill: A file can't be read.
        """
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in self.files():
                entry = self.content.entry(path)
                member = tarfile.TarInfo(path)
                member.size = len(entry.content)
                member.mode = 0o755 if entry.executable else 0o644
                archive.addfile(member, io.BytesIO(entry.content))
        return buffer.getvalue()


@contextmanager
def _where(place: str) -> Iterator[None]:
    """Says of a skill that can't be read where it lies."""
    try:
        yield
    except InvalidSkill as error:
        raise error.about(f"No usable skill in {place}") from None


def _usable_name(front: Frontmatter, folder_name: str | None) -> str:
    """The name that was written, or the folder's, made fit to be that of a folder."""
    text = front.texts.get("name")
    for candidate in (text if isinstance(text, str) else "", folder_name or ""):
        name = _UNFIT.sub("-", normalized(candidate)).strip("-.")
        if name := name.encode()[:_LONGEST_NAME].decode(errors="ignore"):
            return name
    raise InvalidSkill("It has no usable name", "Add a line 'name: …' to its frontmatter")


def _usable_description(front: Frontmatter) -> str:
    text = front.texts.get("description")
    if isinstance(text, list) and all(isinstance(part, str) for part in text):
        text = " ".join(text)
    if not isinstance(text, str) or not text.strip():
        raise InvalidSkill(
            "It has no usable 'description:'",
            "Add a line 'description: …' to its frontmatter: what the skill does and when to use it",
            front.lines.get("description"),
        )
    return " ".join(text.split())


def _optional(front: Frontmatter, key: str) -> str | None:
    value = front.texts.get(key)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    return value.strip() or None if isinstance(value, str) else None


def _grants(value: object) -> str | list[str] | None:
    if isinstance(value, list | dict):
        return [part for part in value if isinstance(part, str)]
    return value if isinstance(value, str) else None


def _flat(value: object) -> dict[str, str]:
    """The metadata map; what is not text in it is left to ``problems`` to tell."""
    return {key: text for key, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}
