"""Keeping a damaged database aside, which takes to know that nobody else has it open."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: there nothing is moved
    fcntl = None  # type: ignore[assignment]

_MOMENT = 2.0  # seconds


class Presence:
    """Says to other processes that this one has a file open; a file that others have open can't be moved.

    SQLite finds what belongs to a database by its name, so a process that still has a renamed one open would write
    into what is new under the old name.

    Args:
        file: The database. Waits while another process moves it away.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock: int | None = None
        with suppress(OSError):  # where nothing can be written, nothing can be moved
            file.parent.mkdir(parents=True, exist_ok=True)
            # Beside the database: to open and close that itself would drop the locks that SQLite has on it.
            self._lock = os.open(file.with_name(f"{file.name}-lock"), os.O_RDWR | os.O_CREAT, 0o600)
        self._held = self._lock is not None and _locked(self._lock, "LOCK_SH")
        self._identity = identity(file)

    def end(self) -> None:
        """This process has it open no more."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def put_aside(self) -> Path | None:
        """Renames the file, with what SQLite keeps beside it; where it is now, or None if others are using it.

        None too if it isn't the same file any more, because another process was quicker. Ends the presence.
        """
        try:
            if not self._held or not self._alone() or identity(self._file) != self._identity:
                return None
            kept = _free_name(self._file)
            for end in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    self._file.with_name(self._file.name + end).rename(kept.with_name(kept.name + end))
            return kept
        finally:
            self.end()

    def _alone(self) -> bool:
        """Waits a moment for others that have met the damage, too; whether this process is the only one then."""
        assert self._lock is not None
        _locked(self._lock, "LOCK_UN")
        until = time.monotonic() + _MOMENT
        while not _locked(self._lock, "LOCK_EX", "LOCK_NB"):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True


def _locked(lock: int, *how: str) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(lock, sum(getattr(fcntl, flag) for flag in how))
    except OSError:  # somebody has it, or the file system knows no locks
        return False
    return True


def identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another of its name; None if there is none."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return None
    return facts.st_dev, facts.st_ino


def _free_name(file: Path) -> Path:
    stem = f"{file.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    numbers = ("", *(f"-{number}" for number in range(2, 1000)))
    names = (file.with_name(f"{stem}{number}{file.suffix}") for number in numbers)
    return next(name for name in names if not name.exists())
