"""What the limits of a sandbox have met with so far, as its control group counts it (version 1 and 2)."""

from __future__ import annotations

from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def tallies(group: Path = _GROUP) -> dict[str, int]:
    """Counts since the start: processes killed for want of memory, forks refused, and the processes there are now.

    Args:
        group: Where the control group's files lie.

    Returns:
        ``out_of_memory``, ``forks_refused`` and ``processes``; 0 where it can't be read.
    """
    v2 = (group / "cgroup.controllers").exists()
    memory = group / "memory.events" if v2 else group / "memory/memory.oom_control"
    processes = group if v2 else group / "pids"
    return {
        "out_of_memory": _field(memory, "oom_kill"),
        "forks_refused": _field(processes / "pids.events", "max"),
        "processes": _field(processes / "pids.current", ""),
    }


def _field(path: Path, name: str) -> int:
    """The number behind a name in a file of lines, or the file's one number if the name is empty."""
    try:
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:-1] == [name] or (not name and len(words) == 1):
                return int(words[-1])
    except (OSError, ValueError):
        pass
    return 0
