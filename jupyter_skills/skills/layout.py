"""Laying a skill's files out in a folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from jupyter_skills.errors import UsageProblem
from jupyter_skills.skills.archive.names import TakenNames, parts_of
from jupyter_skills.skills.files import FileEntry, MemoryFiles


def lay_out(files: MemoryFiles, target: Path) -> None:
    """Lays files out in a new folder, all of them or none; the folders above it are made if they are missing.

    Args:
        files: The files; their owner may read and write them, whatever their modes say.
        target: The folder; there must be nothing yet.

    Raises:
        InvalidArchive: A path leads out of the folder, or two of them collide.
        UsageProblem: There is something already, or nothing can be written there.
    """
    names = TakenNames()
    for path in files.paths():
        names.take(parts_of(path), is_folder=False)
    if os.path.lexists(target):
        raise UsageProblem(f"There is something at '{target}' already", "Choose another place, or remove that first")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".skill-", dir=target.parent) as temporary:
            staged = Path(temporary) / "skill"
            _make_folder(staged)
            for path in files.paths():
                _write_file(staged, path, files.entry(path))
            staged.rename(target)
    except OSError as error:
        raise UsageProblem(f"'{target}' can't be written: {error.strerror}", "Choose another place") from None


def _make_folder(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)  # whatever the umask


def _write_file(root: Path, path: str, entry: FileEntry) -> None:
    place = root / path
    for folder in reversed(place.parents):
        if folder.is_relative_to(root) and not folder.exists():
            _make_folder(folder)
    with place.open("xb") as file:
        file.write(entry.content)
    place.chmod(entry.mode & 0o777 | 0o600)
