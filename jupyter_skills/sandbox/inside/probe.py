"""What a container is like, as the code inside it finds it: the facts that isolation is proved by.

Runs as part of process 1 before anything of the user's runs. It only reads files of the kernel; whether
what it found is good enough is judged outside. What can't be read is None.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")

UNLIMITED = "max"
"""Stands where a limit could be and is none; the kernel's own word for it in cgroup v2."""

_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_ENGINE_SOCKETS = (
    "run/docker.sock",
    "var/run/docker.sock",
    "run/containerd/containerd.sock",
    "run/podman/podman.sock",
    "run/crio/crio.sock",
)
_INTERFACE_UP = 1
# cgroup v1 has no word for "unlimited": it shows the largest multiple of a page, which depends on the page.
_V1_UNLIMITED = 1 << 62


class _Mount(NamedTuple):
    """One line of mountinfo (Linux, Documentation/filesystems/proc.rst, 3.5)."""

    path: str
    type: str
    source: str
    writable: bool
    options: list[str]


def facts(root: str = "/") -> dict[str, Any]:
    """All facts, ready for ``json.dumps``.

    Args:
        root: Where ``proc``, ``sys``, ``dev`` and ``run`` are looked for.

    Returns:
        A dictionary that always has the same keys. ``uid`` and ``gid`` are the real, effective, saved and
        file system's ones. ``interfaces`` tells of each by name whether it is up. ``mounts`` has each
        mount's path, type, writability, which folder of its file system it shows (``source``), and its
        limit (``size``).
        Limits are in bytes, microseconds or a number of things; ``UNLIMITED`` where there is none.
    """
    status = _known(_status, root) or {}
    mounts = _known(_mounts, root)
    return {
        "uid": _known(_numbers, status.get("Uid")),
        "gid": _known(_numbers, status.get("Gid")),
        "groups": _known(_numbers, status.get("Groups")),
        "capabilities": {name: _known(int, status.get(name), 16) for name in _CAPABILITIES},
        "no_new_privileges": _known(int, status.get("NoNewPrivs")),
        "seccomp": _known(int, status.get("Seccomp")),
        "user_namespace": _known(_user_namespace, root),
        "interfaces": _known(_interfaces, root),
        "root_read_only": _known(_root_read_only, mounts),
        "mounts": _known(_told, mounts),
        "cgroup": _cgroup(root, mounts or []),
        "swap_total": _known(_swap_total, root),
        "files": _known(_hard_limit, resource.RLIMIT_NOFILE),
        "core": _known(_hard_limit, resource.RLIMIT_CORE),
        "shm": _known(_size, os.path.join(root, "dev/shm")),
        "engine_sockets": [f"/{path}" for path in _ENGINE_SOCKETS if _known(_is_socket, os.path.join(root, path))],
        "environment": sorted(os.environ),
    }


def main() -> None:
    """Prints the facts, as one line of JSON."""
    sys.stdout.write(f"{json.dumps(facts())}\n")


def _known(find: Callable[..., _T], *arguments: Any) -> _T | None:
    try:
        return find(*arguments)
    except Exception:  # noqa: BLE001 -- whatever the reason: what isn't known can't be relied on
        return None


def _read(root: str, path: str) -> str:
    with open(os.path.join(root, path), "rb", buffering=0) as file:
        return file.read().decode(errors="backslashreplace")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def _status(root: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in _read(root, "proc/self/status").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _user_namespace(root: str) -> list[list[int]]:
    """Which ids inside are which outside: rows of the first inside, the first outside, and how many."""
    return [_numbers(line) for line in _read(root, "proc/self/uid_map").splitlines()]


def _interfaces(root: str) -> dict[str, bool]:
    """Names of the network interfaces, and whether each is up; one that doesn't tell counts as up."""
    lines = _read(root, "proc/self/net/dev").splitlines()
    names = [line.rpartition(":")[0].strip() for line in lines if ":" in line]
    return {name: _known(_is_up, root, name) is not False for name in names}


def _is_up(root: str, interface: str) -> bool:
    return bool(int(_read(root, f"sys/class/net/{interface}/flags"), 16) & _INTERFACE_UP)


def _mounts(root: str) -> list[_Mount]:
    mounts = []
    for line in _read(root, "proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        _, _, _, source, path, options, *_ = left.split(" ")
        kind, *_, more = right.split(" ")
        writable = "ro" not in options.split(",") + more.split(",")
        mounts.append(_Mount(_unescaped(path), kind, _unescaped(source), writable, more.split(",")))
    return mounts


def _unescaped(path: str) -> str:
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        path = path.replace(f"\\{code}", character)
    return path


def _root_read_only(mounts: list[_Mount]) -> bool:
    return not [mount for mount in mounts if mount.path == "/"][-1].writable


def _told(mounts: list[_Mount]) -> list[dict[str, Any]]:
    return [
        {"path": each.path, "type": each.type, "source": each.source, "writable": each.writable, "size": _room(each)}
        for each in mounts
    ]


def _room(mount: _Mount) -> str:
    """The limit that a file system in memory was given, such as ``64k``; empty if none."""
    return next((option[len("size=") :] for option in mount.options if option.startswith("size=")), "")


def _cgroup(root: str, mounts: list[_Mount]) -> dict[str, Any]:
    """The limits of the control group that this process is in.

    Source: Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
    """
    groups = _known(_groups, root) or {}
    version, memory = _folder(groups, mounts, "memory")
    cpu_version, cpu = _folder(groups, mounts, "cpu")
    _, pids = _folder(groups, mounts, "pids")
    if version == 1:
        limit = _limit(root, memory, "memory.limit_in_bytes")
        both = _limit(root, memory, "memory.memsw.limit_in_bytes")
    else:
        limit = _limit(root, memory, "memory.max")
        both = _sum(limit, _limit(root, memory, "memory.swap.max"))
    if cpu_version == 1:
        quota, period = _limit(root, cpu, "cpu.cfs_quota_us"), _limit(root, cpu, "cpu.cfs_period_us")
    else:
        quota, period = _limit(root, cpu, "cpu.max"), _limit(root, cpu, "cpu.max", 1)
    return {
        "version": version,
        "memory": limit,
        "memory_and_swap": both,
        "pids": _limit(root, pids, "pids.max"),
        "cpu_quota": quota,
        "cpu_period": period,
    }


def _groups(root: str) -> dict[str, str]:
    """This process's control group by controller; that of v2 stands under the empty name."""
    lines = (line.split(":", 2) for line in _read(root, "proc/self/cgroup").splitlines())
    return {controller: path for _, controllers, path in lines for controller in controllers.split(",")}


def _folder(groups: dict[str, str], mounts: list[_Mount], controller: str) -> tuple[int | None, str | None]:
    """The version of the hierarchy that a controller is in, and the folder with its files, relative to the root."""
    for version, kind, name in ((1, "cgroup", controller), (2, "cgroup2", "")):
        for mount in mounts:
            if mount.type == kind and name in groups and (version == 2 or name in mount.options):
                return version, (mount.path + _below(groups[name], mount.source)).strip("/")
    return None, None


def _below(path: str, top: str) -> str:
    """Where a group is within a mount that shows the groups from ``top`` on."""
    top = top.rstrip("/")
    return path[len(top) :] if path.startswith(f"{top}/") else ""


def _limit(root: str, folder: str | None, file: str, word: int = 0) -> int | str | None:
    found = _known(lambda: _read(root, f"{folder}/{file}").split()[word]) if folder is not None else None
    if found is None or found == UNLIMITED:
        return found
    number = int(found) if found.lstrip("-").isdecimal() else None
    return UNLIMITED if number is not None and not 0 <= number < _V1_UNLIMITED else number


def _sum(memory: int | str | None, swap: int | str | None) -> int | str | None:
    if isinstance(memory, int) and isinstance(swap, int):
        return memory + swap
    return None if memory is None or swap is None else UNLIMITED


def _swap_total(root: str) -> int:
    """Bytes of swap that the machine has."""
    (line,) = (line for line in _read(root, "proc/meminfo").splitlines() if line.startswith("SwapTotal:"))
    return int(line.split()[1]) * 1024


def _hard_limit(which: int) -> int | str:
    hard = resource.getrlimit(which)[1]
    return UNLIMITED if hard == resource.RLIM_INFINITY else hard


def _size(folder: str) -> int:
    facts = os.statvfs(folder)
    return facts.f_blocks * facts.f_frsize


def _is_socket(path: str) -> bool:
    return stat.S_ISSOCK(os.stat(path).st_mode)
