"""What is found inside a container, on machines unlike this one: made-up files of the kernel."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills.sandbox.docker.controls import controls
from jupyter_skills.sandbox.docker.engine import Limits
from jupyter_skills.sandbox.inside.probe import facts

MOUNTS = """\
600 500 0:52 / / ro,relatime master:1 - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
601 600 0:55 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
602 601 0:55 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
603 600 0:58 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
604 600 0:70 / /work rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=262144k
"""
V2 = "605 603 0:29 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n"
STATUS = """\
Name:\tpython3
Uid:\t10001\t10001\t10001\t10001
Gid:\t10001\t10001\t10001\t10001
Groups:\t10001 20002
CapInh:\t0000000000000000
CapPrm:\t0000000000000000
CapEff:\t0000000000000000
CapBnd:\t00000000a80425fb
CapAmb:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2
"""


def machine(root: Path, **files: str) -> dict[str, Any]:
    """The facts of a machine whose kernel has these files; ``__`` in a name stands for a slash."""
    base = {"proc__self__mountinfo": MOUNTS + V2, "proc__self__cgroup": "0::/\n", "proc__self__status": STATUS}
    for name, content in {**base, **files}.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    found = facts(str(root))
    return json.loads(json.dumps(found))


def group(root: Path, folder: str = "sys/fs/cgroup", **files: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (root / folder / name.replace("__", ".", 1)).write_text(f"{content}\n")


def test_cgroup_v2_in_a_namespace_of_its_own(tmp_path: Path) -> None:
    limits = {"memory__max": "1073741824", "memory__swap.max": "0", "pids__max": "128", "cpu__max": "150000 100000"}
    group(tmp_path, **limits)
    assert machine(tmp_path)["cgroup"] == {
        "version": 2,
        "memory": 2**30,
        "memory_and_swap": 2**30,
        "pids": 128,
        "cpu_quota": 150000,
        "cpu_period": 100000,
    }


def test_cgroup_v2_without_limits(tmp_path: Path) -> None:
    group(tmp_path, memory__max="max", **{"memory__swap.max": "max"}, pids__max="max", cpu__max="max 100000")
    found = machine(tmp_path)["cgroup"]
    assert [found[name] for name in ("memory", "memory_and_swap", "pids", "cpu_quota")] == ["max"] * 4


def test_cgroup_v2_that_shows_the_whole_machine_is_read_where_the_container_is(tmp_path: Path) -> None:
    group(tmp_path, pids__max="max")
    group(tmp_path, "sys/fs/cgroup/system.slice/docker-1.scope", pids__max="7")
    found = machine(tmp_path, proc__self__cgroup="0::/system.slice/docker-1.scope\n")
    assert found["cgroup"]["pids"] == 7


def test_cgroup_v2_with_controllers_that_were_not_delegated(tmp_path: Path) -> None:
    group(tmp_path, pids__max="128")
    found = machine(tmp_path)["cgroup"]
    assert found["pids"] == 128
    assert [found[name] for name in ("memory", "memory_and_swap", "cpu_quota", "cpu_period")] == [None] * 4


@pytest.mark.parametrize("swap", ["1073741824", None])
def test_cgroup_v1_with_controllers_that_share_a_hierarchy(tmp_path: Path, swap: str | None) -> None:
    mounts = "".join(
        f"{number} 603 0:{number} /docker/1 /sys/fs/cgroup/{name} ro,relatime - cgroup cgroup rw,{name}\n"
        for number, name in enumerate(("cpu,cpuacct", "memory", "pids"), 606)
    )
    unified = "609 603 0:99 / /sys/fs/cgroup/unified ro,relatime - cgroup2 cgroup2 rw\n"
    group(tmp_path, "sys/fs/cgroup/cpu,cpuacct", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    group(tmp_path, "sys/fs/cgroup/memory", memory__limit_in_bytes="1073741824")
    if swap:
        group(tmp_path, "sys/fs/cgroup/memory", **{"memory__memsw.limit_in_bytes": "9223372036854771712"})
    group(tmp_path, "sys/fs/cgroup/pids", pids__max="max")
    found = machine(
        tmp_path,
        proc__self__mountinfo=MOUNTS + mounts + unified,
        proc__self__cgroup="4:memory:/docker/1\n3:pids:/docker/1\n2:cpu,cpuacct:/docker/1\n0::/docker/1\n",
    )
    assert found["cgroup"] == {
        "version": 1,
        "memory": 2**30,
        "memory_and_swap": "max" if swap else None,
        "pids": "max",
        "cpu_quota": "max",
        "cpu_period": 100000,
    }


def test_rights_are_read_from_the_status(tmp_path: Path) -> None:
    found = machine(tmp_path)
    assert (found["uid"], found["gid"], found["groups"]) == ([10001] * 4, [10001] * 4, [10001, 20002])
    assert (found["no_new_privileges"], found["seccomp"]) == (1, 2)
    assert [name for name, value in found["capabilities"].items() if value] == ["CapBnd"]


def test_mounts_are_told_with_what_they_show(tmp_path: Path) -> None:
    odd = "610 600 8:1 /home/me\\040too /a\\011b\\134c rw,relatime - ext4 /dev/sda1 ro\n611 600 8:1 / /d rw -  rw\n"
    found = machine(tmp_path, proc__self__mountinfo=MOUNTS + odd)
    assert found["root_read_only"] is True
    assert found["mounts"][4] == {"path": "/work", "type": "tmpfs", "source": "/", "writable": True, "size": "262144k"}
    # Read-only as a file system is read-only, whatever the mount says.
    assert found["mounts"][5] == {
        "path": "/a\tb\\c",
        "type": "ext4",
        "source": "/home/me too",
        "writable": False,
        "size": "",
    }


def test_of_two_roots_the_one_on_top_counts(tmp_path: Path) -> None:
    top = "699 600 0:99 / / rw,relatime - overlay overlay rw\n"
    assert machine(tmp_path, proc__self__mountinfo=MOUNTS + top)["root_read_only"] is False


def test_interfaces_are_told_with_whether_they_are_up(tmp_path: Path) -> None:
    table = "Inter-|   Receive\n face |bytes\n    lo:   0  0\n tunl0:   0  0\n  eth0:99  1\n  eth1:99  1\n"
    flags = {
        f"sys__class__net__{name}__flags": value for name, value in {"tunl0": "0x80\n", "eth0": "0x1003\n"}.items()
    }
    found = machine(tmp_path, proc__self__net__dev=table, **flags)
    assert found["interfaces"] == {"lo": True, "tunl0": False, "eth0": True, "eth1": True}


def test_the_sockets_of_engines_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/docker.sock").mkdir()
    assert machine(tmp_path)["engine_sockets"] == []
    (tmp_path / "run/docker.sock").rmdir()
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("run/docker.sock")
        assert machine(tmp_path)["engine_sockets"] == ["/run/docker.sock"]


@pytest.mark.parametrize("content", ["", "nonsense", "\0", "a - b\n", ":::\n", "Uid:\nSeccomp: x\n"])
def test_what_can_not_be_read_is_not_known_and_holds_nothing(tmp_path: Path, content: str) -> None:
    names = ("status", "mountinfo", "cgroup", "uid_map", "net__dev")
    found = machine(tmp_path, proc__meminfo=content, **{f"proc__self__{name}": content for name in names})
    assert found["seccomp"] is None
    assert found["root_read_only"] is None
    held = {control.name for control in controls(found, Limits("1g", 1, 128)) if control.holds}
    # These don't come from files, but from this very process; sockets were looked for and not found.
    assert held <= {"no-engine-socket", "file-limit", "no-core-dumps"}


def test_without_any_file_nothing_is_known_and_nothing_fails(tmp_path: Path) -> None:
    found = facts(str(tmp_path / "nowhere"))
    assert set(found) == set(machine(tmp_path))
    assert (found["uid"], found["mounts"], found["interfaces"], found["shm"]) == (None, None, None, None)
