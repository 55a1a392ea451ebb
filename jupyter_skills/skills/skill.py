"""A skill: a folder with a SKILL.md, read but never run."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from jupyter_skills.errors import InvalidSkill, SkillNotFound
from jupyter_skills.skills import frontmatter

MANIFEST = "SKILL.md"

# Neither belongs to what the author wrote, and both change without the skill changing.
_SKIPPED_FOLDERS = {"__pycache__", ".git", "node_modules", ".ipynb_checkpoints"}
# More than the specification allows, for many skills in use have such names, but nothing that leaves a folder.
_NAME = re.compile(r"(?!\.)[\w.-]{1,100}")
_PLACEHOLDERS = ("{baseDir}", "${CLAUDE_SKILL_DIR}", "${CLAUDE_PLUGIN_ROOT}")


@dataclass(frozen=True)
class Skill:
    """One Agent Skill.

    Args:
        name: Its name, as the model and the user call it.
        description: What it does and when to use it; all that the model sees before it loads the skill.
        body: The instructions: SKILL.md without its frontmatter.
        folder: Where its files lie.
        metadata: All fields of the frontmatter but name and description.
    """

    name: str
    description: str
    body: str
    folder: Path
    metadata: dict[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def from_path(cls, path: str | Path) -> Skill:
        """Reads the skill in a folder.

        Args:
            path: The folder, or the SKILL.md in it.

        Raises:
            SkillNotFound: There is no such folder, or no SKILL.md in it.
            InvalidSkill: The SKILL.md is unreadable, or names no usable name and description.
        """
        folder, manifest = _located(path)
        if manifest is None:
            raise SkillNotFound(f"There is no SKILL.md in '{path}'", "A skill is a folder with a SKILL.md in it")
        try:
            text = manifest.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidSkill(f"'{manifest}' is not UTF-8 text", "Save it as UTF-8") from None
        except OSError as error:
            raise InvalidSkill(f"'{manifest}' can't be read: {error.strerror}", "Check its permissions") from None
        try:
            fields, body = frontmatter.split(text)
            return cls(
                name=_safe_name(_text_field(fields, "name")),
                description=_text_field(fields, "description"),
                body=body,
                folder=folder.resolve(),
                metadata={key: value for key, value in fields.items() if key not in ("name", "description")},
            )
        except InvalidSkill as error:
            raise InvalidSkill(f"'{folder}' holds no usable skill: {error.message}", error.next_step) from None

    def files(self) -> list[str]:
        """Paths of its files relative to the folder, with ``/``, sorted. Links are left out: they may lead outside."""
        found = []
        for where, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
            for name in names:
                path = Path(where, name)
                if path.is_file() and not path.is_symlink() and _is_text(name):
                    found.append(path.relative_to(self.folder).as_posix())
        return sorted(found)

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
        return self._bytes(plain)

    def instructions(self, folder: str) -> str:
        """The body with the placeholders for the skill's own folder filled in.

        Args:
            folder: Where the skill's files lie for the code that will run.
        """
        text = self.body
        for placeholder in _PLACEHOLDERS:
            text = text.replace(placeholder, folder)
        return text

    def to_tar(self) -> bytes:
        """All its files as an uncompressed tar: the same bytes for the same files, whatever their dates and owners.

        Raises:
            InvalidSkill: A file can't be read.
        """
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in self.files():
                content = self._bytes(path)
                member = tarfile.TarInfo(path)
                member.size = len(content)
                member.mode = 0o755 if os.access(self.folder / path, os.X_OK) else 0o644
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()

    def _bytes(self, path: str) -> bytes:
        try:
            return (self.folder / path).read_bytes()
        except OSError as error:
            raise InvalidSkill(
                f"The file '{path}' of the skill '{self.name}' can't be read: {error.strerror}",
                "Check its permissions, or unload the skill",
            ) from None

    @property
    def digest(self) -> str:
        """``sha256:…`` over all its files as they are now: their paths, executable bits and bytes."""
        return "sha256:" + hashlib.sha256(self.to_tar()).hexdigest()


def _is_text(name: str) -> bool:
    """Whether a file's name is text; one that is not could not be told to a model."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _located(path: str | Path) -> tuple[Path, Path | None]:
    """The folder that a path means, and the manifest in it, whichever way its name is written."""
    try:
        folder = Path(path).expanduser()
        if folder.name.lower() == MANIFEST.lower() and not folder.is_dir():
            folder = folder.parent
        if not folder.exists():
            raise SkillNotFound(f"There is no folder '{path}'", "Check the path, or see '%skill list --available'")
        entries = sorted(folder.iterdir())
    except (OSError, RuntimeError) as error:  # expanduser raises the latter for a user that isn't there
        reason = getattr(error, "strerror", None) or error
        raise SkillNotFound(f"'{path}' can't be read: {reason}", "Give a skill's folder") from None
    found = (entry for entry in entries if entry.name.lower() == MANIFEST.lower() and entry.is_file())
    return folder, next(found, None)


def _safe_name(name: str) -> str:
    """The name, if it can be that of a folder: a skill's files lie at ``/skills/<name>/`` when its code runs."""
    if not _NAME.fullmatch(name):
        raise InvalidSkill(
            f"The name '{name[:80]}' can't be a skill's", "Use lower-case letters, digits and hyphens, 64 at most"
        )
    return name


def _text_field(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise InvalidSkill(f"SKILL.md has no usable '{key}:'", f"Add a line '{key}: …' to its frontmatter")
    return " ".join(value.split())
