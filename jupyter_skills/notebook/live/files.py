"""The files that code leaves in the folder it runs in."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from jupyter_skills.execution.output import generated_file
from jupyter_skills.execution.result import GeneratedFile

_MOST_FILES = 2000
_NOTEBOOK = ".ipynb"  # the frontend saves it as it likes


class FolderBefore:
    """The current folder, not those below it, as it is now."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._files: dict[str, tuple[int, int]] | None = None
        with suppress(OSError):  # it may be gone
            self._folder = Path.cwd()
            self._files = _files(self._folder)

    def changed(self, limit: int) -> tuple[GeneratedFile, ...]:
        """The files in it that are new or changed since; none where there are too many to tell.

        Args:
            limit: How many bytes to read of them together; those beyond it are left out.
        """
        now = _files(self._folder) if self._folder is not None and self._files is not None else None
        if self._folder is None or self._files is None or now is None:
            return ()
        changed = []
        for name, facts in sorted(now.items()):
            if self._files.get(name) != facts and facts[0] <= limit:
                with suppress(OSError):
                    content = (self._folder / name).read_bytes()
                    limit -= len(content)
                    # It lies where the user works already: that is where it is saved.
                    changed.append(generated_file(name, content, saved_as=name))
        return tuple(changed)


def _files(folder: Path) -> dict[str, tuple[int, int]] | None:
    """The files with size and time of change; None if there are too many, for which of them are listed is chance."""
    found: dict[str, tuple[int, int]] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number == _MOST_FILES:
                return None
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False) and not entry.name.endswith(_NOTEBOOK):
                    facts = entry.stat(follow_symlinks=False)
                    found[entry.name] = facts.st_size, facts.st_mtime_ns
    return found
