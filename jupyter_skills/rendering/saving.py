"""Saving what isolated code made, beside the notebook."""

from __future__ import annotations

from dataclasses import replace
from errno import EXDEV
from pathlib import Path

from jupyter_skills.execution.result import GeneratedFile

FOLDER = "ask_files"


def save(file: GeneratedFile, folder: str = FOLDER, base: Path | None = None) -> GeneratedFile:
    """Saves a file below a folder and never over another one.

    A file of that name with the same bytes is taken as this one; with other bytes it stays, and this one
    gets a number.

    Args:
        file: The file; one that is saved already stays where it is.
        folder: The folder, relative to ``base``.
        base: The notebook's folder; the working folder if not given.

    Returns:
        The file with ``saved_as`` set, relative to ``base``, as the notebook's page would have it.

    Raises:
        OSError: It can't be written there.
    """
    if file.saved_as:
        return file
    base = base or Path.cwd()
    wanted = Path(base, folder, *file.path.split("/"))
    if not wanted.parent.resolve().is_relative_to(base.resolve() / folder):
        raise OSError(EXDEV, f"a link in {folder} leads elsewhere")
    wanted.parent.mkdir(parents=True, exist_ok=True)
    number, target = 1, wanted
    while not _write_new(target, file.data):
        if not target.is_symlink() and target.is_file() and target.read_bytes() == file.data:
            break
        number += 1
        target = wanted.with_stem(f"{wanted.stem}-{number}")
    return replace(file, saved_as=target.relative_to(base).as_posix())


def _write_new(path: Path, content: bytes) -> bool:
    try:
        file = path.open("xb")
    except FileExistsError:
        return False
    try:
        with file:
            file.write(content)
    except OSError:
        path.unlink()  # half a file would look like a whole one
        raise
    return True
