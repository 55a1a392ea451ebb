"""The skill in bytes that came from elsewhere."""

from __future__ import annotations

from jupyter_skills.errors import InvalidArchive, InvalidSkill, RemoteDamaged, SkillNotFound
from jupyter_skills.sharing.tar import is_gzip, unpack_tar
from jupyter_skills.skills.archive import unpack
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.manifest import MANIFEST
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import Source

TAR_SUFFIXES = (".tar.gz", ".tgz")


def archived(data: bytes, label: str, folder_name: str | None = None) -> Skill:
    """The skill in a zip or a gzipped tar.

    Args:
        data: The archive.
        label: Where it came from.
        folder_name: The name of the skill's folder, where the archive has none.

    Raises:
        InvalidArchive: It is damaged or hostile, or holds no skill.
        InvalidSkill: The SKILL.md is of no use.
    """
    try:
        opened = unpack_tar(data) if is_gzip(data) else unpack(data)
        return Skill.from_files(opened.files, opened.folder or folder_name, Source("archive", label))
    except InvalidArchive as error:
        raise InvalidArchive(f"No usable skill in '{label}': {error.message}", error.next_step) from None


def manifest_only(text: bytes, label: str, folder_name: str | None) -> Skill:
    """The skill that is no more than a SKILL.md.

    Raises:
        InvalidSkill: The SKILL.md is of no use.
    """
    return Skill.from_files(MemoryFiles({MANIFEST: FileEntry(text)}), folder_name, Source("archive", label))


def promised(data: bytes, label: str) -> Skill:
    """The skill in an archive that another store says is one.

    Raises:
        RemoteDamaged: It is none.
    """
    try:
        return archived(data, label)
    except (InvalidArchive, InvalidSkill, SkillNotFound) as error:
        raise RemoteDamaged(error.message, error.next_step) from None
