"""Which mounts a sandbox has, as an engine makes them; any other may be a part of the host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

# The engine makes these three anew for each container.
_ENGINE_FILES = ("/etc/hostname", "/etc/hosts", "/etc/resolv.conf")
_TYPES = {
    "/proc": ("proc",),
    "/sys": ("sysfs",),
    "/sys/fs/cgroup": ("cgroup2", "tmpfs"),
    "/dev": ("tmpfs",),
    "/dev/console": ("devpts",),
    "/dev/mqueue": ("mqueue",),
    "/dev/pts": ("devpts",),
    "/dev/shm": ("tmpfs",),  # noqa: S108 -- the container's own
    "/tmp": ("tmpfs",),  # noqa: S108 -- likewise
    "/work": ("tmpfs",),
    "/skills": ("tmpfs",),
}
# Podman makes these two anew for each container with a user of its own, and always has two more file systems in
# memory; those that we ask for at their places are known by their size.
_PODMAN_FILES = ("/etc/passwd", "/etc/group")
PODMAN_TMPFS = ("/run", "/var/tmp")  # noqa: S108 -- the container's own
PODMAN_SIZE = "64k"
# Where the engine may not make devices, because it isn't root, it borrows the host's.
_DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero")
_DEVICE_TYPES = ("tmpfs", "devtmpfs")


@dataclass(frozen=True)
class Mount:
    """A mount in a container.

    Args:
        path: Where it is.
        type: Of its file system, such as ``tmpfs``.
        source: Which folder or file of the file system it shows; ``/`` for all of it.
        writable: Whether it is mounted for writing.
        size: The limit that a file system in memory was given; empty if none.
    """

    path: str
    type: str
    source: str
    writable: bool
    size: str = ""

    @classmethod
    def of(cls, row: object) -> Mount | None:
        """The mount that a row of ``probe.facts`` tells of; None if the row makes no sense."""
        match row:
            case {"path": str(path), "type": str(kind), "source": str(source), "writable": bool(writable), **more}:
                return cls(path, kind, source, writable, str(more.get("size", "")))
        return None


def is_expected(mount: Mount) -> bool:
    """Whether a container of ours has this mount, on some engine, and nothing of the host's is in it."""
    path = PurePosixPath(mount.path)
    if mount.path == "/":
        return True
    if mount.path in _ENGINE_FILES:
        return mount.source.endswith(path.name)  # some runtimes put an id in front
    if mount.path in _PODMAN_FILES:
        return mount.source.endswith(f"/userdata/{path.name}")
    if mount.path in PODMAN_TMPFS:
        return (mount.type, mount.source, mount.size) == ("tmpfs", "/", PODMAN_SIZE)
    if mount.path in _DEVICES:
        return mount.type in _DEVICE_TYPES and mount.source == f"/{path.name}"
    if mount.path in _TYPES:
        # A part of a file system in memory is a folder of somebody else's.
        return mount.type in _TYPES[mount.path] and (mount.source == "/" or mount.type != "tmpfs")
    if not {"/proc", "/sys"} & set(map(str, path.parents)) or ".." in path.parts:
        return False
    if mount.type in _DEVICE_TYPES:  # what is hidden lies under an empty folder or the null device
        return mount.source == "/null" or not mount.writable
    return mount.type == "proc" if path.parts[1] == "proc" else mount.type in ("cgroup", "cgroup2")
