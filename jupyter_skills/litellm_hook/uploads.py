"""The files of a skill in the forms that litellm's and Anthropic's clients take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_skills.errors import SkillNotFound, UploadTooLarge, UsageProblem
from jupyter_skills.skills.archive.uploaded import as_archive
from jupyter_skills.skills.files import MOST_BYTES
from jupyter_skills.skills.places import expanded
from jupyter_skills.skills.skill import Skill

_FORMS = "Give open files, paths, bytes, or tuples of a name and one of these"


def skill_of(files: Any) -> tuple[Skill, str | None, str | None]:
    """The skill that files make up.

    Args:
        files: One zip, one folder's path, or the files of a skill one by one; in a list, or one by itself. Each is
            an open file, a path, bytes, or a tuple ``(name, content[, MIME type])``, in which a text is the content.
            Names in tuples are paths below one folder or none; other files are named from the folder they share.

    Returns:
        The skill, the name of what was given, and its MIME type; None for what isn't known.

    Raises:
        UsageProblem: Something is not a file.
        SkillProblem: A file can't be read, or they make up no skill.
    """
    given = list(files) if _is_list(files) else [] if files is None else [files]
    if not given:
        raise UsageProblem("No files were given", "Give files=[open('skill.zip', 'rb')], or the path of a folder")
    if len(given) == 1 and isinstance(given[0], str | os.PathLike) and (folder := _path(given[0])).is_dir():
        return Skill.from_path(folder), folder.resolve().name, None
    shared = _shared_folder(given)
    parts = [_part(file, shared) for file in given]
    skill = Skill.from_zip(as_archive([(name, content) for name, content, _ in parts]))
    name, _, kind = parts[0]
    top, slash, _ = name.partition("/")
    if len(parts) == 1 and not slash:
        return skill, name or None, kind
    return skill, os.path.basename(shared) or (top if slash else None), None


def _is_list(files: Any) -> bool:
    return isinstance(files, Sequence) and not isinstance(files, str | bytes | tuple)


def _part(file: Any, shared: str) -> tuple[str, bytes, str | None]:
    """Name, content and MIME type of one file."""
    if isinstance(file, tuple):
        if len(file) < 2 or not isinstance(file[0], str):
            raise UsageProblem("A tuple among the files has no name and content", _FORMS)
        kind = file[2] if len(file) > 2 and isinstance(file[2], str) else None
        content = file[1].encode() if isinstance(file[1], str) else _content(file[1])
        return file[0], content, kind
    path = _path_of(file)
    return os.path.relpath(path, shared).replace(os.sep, "/") if path else "", _content(file), None


def _content(file: Any) -> bytes:
    if isinstance(file, bytes | bytearray | memoryview):
        return bytes(file)
    if isinstance(file, str | os.PathLike):
        path = _path(file)
        try:
            with path.open("rb") as opened:
                return _read(opened)
        except FileNotFoundError:
            raise SkillNotFound(f"There is no file {path}", "Check the path") from None
        except OSError as error:
            raise SkillNotFound(f"{path} can't be read: {error.strerror}", "Check the path") from None
    if callable(getattr(file, "read", None)):
        return _read(file)
    raise UsageProblem(f"{type(file).__name__} is no kind of file", _FORMS)


def _read(file: Any) -> bytes:
    try:
        content = file.read(MOST_BYTES + 1)
    except ValueError as error:  # it is closed
        raise UsageProblem(f"A file can't be read: {error}", "Open it again") from None
    if not isinstance(content, bytes):
        raise UsageProblem("A file is open as text", "Open it in binary mode, as in open('skill.zip', 'rb')")
    if len(content) > MOST_BYTES:
        raise UploadTooLarge(f"A file has more than {MOST_BYTES >> 20} MiB", "Keep data of that size elsewhere")
    return content


def _path_of(file: Any) -> str:
    """Where a file lies, as far as it tells; an open file's ``name`` may be a number."""
    where = file if isinstance(file, str | os.PathLike) else getattr(file, "name", None)
    return str(_path(where)) if isinstance(where, str | os.PathLike) else ""


def _path(where: str | os.PathLike[Any]) -> Path:
    return expanded(os.fsdecode(where))


def _shared_folder(given: Sequence[Any]) -> str:
    folders = [str(Path(path).absolute().parent) for file in given if (path := _path_of(file))]
    try:
        return os.path.commonpath(folders) if folders else ""
    except ValueError:  # on several drives
        raise UsageProblem("The files lie on several drives", "Give tuples of a name and the content") from None
