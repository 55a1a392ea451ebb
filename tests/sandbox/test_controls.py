"""Which controls a container has, judged by what was found in it, whatever that is."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills.errors import ControlMissing, UsageProblem
from jupyter_skills.sandbox.docker.advice import may_be_escaped
from jupyter_skills.sandbox.docker.controls import NAMES, check, controls
from jupyter_skills.sandbox.docker.engine import Limits

LIMITS = Limits("1g", 1.5, 128)
GIB = 1024**3


def mount(path: str, kind: str, source: str = "/", *, writable: bool = False) -> dict[str, Any]:
    return {"path": path, "type": kind, "source": source, "writable": writable}


GOOD: dict[str, Any] = {
    "uid": [10001] * 4,
    "gid": [10001] * 4,
    "groups": [10001],
    "capabilities": dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0),
    "no_new_privileges": 1,
    "seccomp": 2,
    "user_namespace": [[0, 0, 4294967295]],
    "interfaces": {"lo": True},
    "root_read_only": True,
    "mounts": [
        mount("/", "overlay"),
        mount("/proc", "proc", writable=True),
        mount("/proc/sys", "proc", "/sys"),
        mount("/proc/keys", "tmpfs", "/null", writable=True),
        mount("/proc/acpi", "tmpfs"),
        mount("/dev", "tmpfs", writable=True),
        mount("/dev/pts", "devpts", writable=True),
        mount("/dev/shm", "tmpfs", writable=True),
        mount("/dev/mqueue", "mqueue", writable=True),
        mount("/sys", "sysfs"),
        mount("/sys/fs/cgroup", "cgroup2"),
        mount("/tmp", "tmpfs", writable=True),
        mount("/work", "tmpfs", writable=True),
        mount("/skills", "tmpfs", writable=True),
        mount("/etc/hostname", "ext4", "/engine/containers/1/hostname"),
    ],
    "cgroup": {
        "version": 2,
        "memory": GIB,
        "memory_and_swap": GIB,
        "pids": 128,
        "cpu_quota": 150000,
        "cpu_period": 100000,
    },
    "swap_total": 4 * GIB,
    "files": 1024,
    "core": 0,
    "shm": 64 * 1024**2,
    "engine_sockets": [],
    "environment": ["HOME", "PATH"],
}


def but(**changes: Any) -> dict[str, Any]:
    """Good facts with some replaced; a dictionary replaces parts, and ``mounts`` are added."""
    facts = copy.deepcopy(GOOD)
    for name, value in changes.items():
        if name == "mounts":
            facts[name] += value
        elif name in ("cgroup", "capabilities", "interfaces"):
            facts[name].update(value)
        else:
            facts[name] = value
    return facts


def missing(facts: dict[str, Any]) -> list[str]:
    return [control.name for control in controls(facts, LIMITS) if not control.holds]


def test_a_container_as_it_should_be_has_all_controls() -> None:
    assert missing(GOOD) == []
    check(GOOD, LIMITS, ())
    assert tuple(control.name for control in controls(GOOD, LIMITS)) == NAMES


@pytest.mark.parametrize(
    ("name", "changes", "found"),
    [
        ("no-network", {"interfaces": {"eth0": True}}, "eth0"),
        ("no-network", {"interfaces": {"eth0": None}}, "eth0"),
        ("no-mounts", {"mounts": [mount("/data", "ext4", "/home/me")]}, "/data (ext4)"),
        ("no-mounts", {"mounts": [mount("/work", "tmpfs", "/run/secrets")]}, "/work (tmpfs)"),
        ("no-mounts", {"mounts": [mount("/work", "fuse.sshfs")]}, "/work (fuse.sshfs)"),
        ("no-mounts", {"mounts": [mount("/run", "tmpfs", writable=True)]}, "/run (tmpfs)"),
        ("no-mounts", {"mounts": [mount("/etc/passwd", "ext4", "/etc/passwd")]}, "/etc/passwd"),
        ("no-mounts", {"mounts": [mount("/host/proc", "proc")]}, "/host/proc (proc)"),
        ("no-mounts", {"mounts": [mount("/proc/meminfo", "fuse.lxcfs", "/proc/meminfo")]}, "fuse.lxcfs"),
        ("no-mounts", {"mounts": [mount("/sys/kernel/debug", "debugfs")]}, "debugfs"),
        ("no-mounts", {"mounts": [mount("/etc/hosts", "ext4", "/etc/shadow")]}, "/etc/hosts"),
        ("no-mounts", {"mounts": [mount("/dev/sda", "devtmpfs", "/sda")]}, "/dev/sda"),
        ("no-mounts", {"mounts": [mount("/proc/../data", "proc")]}, "/proc/../data"),
        ("no-engine-socket", {"engine_sockets": ["/run/docker.sock"]}, "/run/docker.sock"),
        ("read-only-root", {"root_read_only": False}, "writable"),
        ("read-only-kernel", {"mounts": [mount("/proc/sys", "proc", "/sys", writable=True)]}, "/proc/sys"),
        ("read-only-kernel", {"mounts": [mount("/sys/fs/cgroup", "cgroup2", writable=True)]}, "/sys/fs/cgroup"),
        ("not-root", {"uid": [10001, 10001, 0, 10001]}, "user root"),
        ("not-root", {"gid": [0] * 4}, "group root"),
        ("not-root", {"groups": [10001, 0]}, "group root"),
        ("no-capabilities", {"capabilities": {"CapBnd": 0xA80425FB}}, "CapBnd a80425fb"),
        ("no-new-privileges", {"no_new_privileges": 0}, "off"),
        ("seccomp", {"seccomp": 0}, "no filter"),
        ("memory-limit", {"cgroup": {"memory": 2 * GIB, "memory_and_swap": 2 * GIB}}, "2 GiB instead of 1 GiB"),
        ("no-swap", {"cgroup": {"memory_and_swap": 2 * GIB}}, "1 GiB"),
        ("no-swap", {"cgroup": {"memory_and_swap": "max"}}, "no limit"),
        ("no-swap", {"cgroup": {"memory_and_swap": None}}, "not limited"),
        ("process-limit", {"cgroup": {"pids": "max"}}, "no limit"),
        ("process-limit", {"cgroup": {"pids": 129}}, "129 instead of 128"),
        ("cpu-limit", {"cgroup": {"cpu_quota": "max"}}, "no limit"),
        ("cpu-limit", {"cgroup": {"cpu_quota": 200000}}, "2 instead of 1.5"),
        ("cpu-limit", {"cgroup": {"cpu_period": 0}}, "not known"),
        ("file-limit", {"files": 1048576}, "1,048,576 instead of 1,024"),
        ("shm-limit", {"shm": 12 * GIB}, "12 GiB instead of 64 MiB"),
        ("no-core-dumps", {"core": "max"}, "no limit"),
    ],
)
def test_each_control_that_fails_alone_is_named_alone(name: str, changes: dict[str, Any], found: str) -> None:
    facts = but(**changes)
    assert missing(facts) == [name]
    with pytest.raises(ControlMissing) as raised:
        check(facts, LIMITS, ())
    line = str(raised.value)
    assert found in line
    assert f"DockerSandbox.waive = ['{name}']." in line
    assert "\n" not in line
    check(facts, LIMITS, {name})


@pytest.mark.parametrize(
    "changes",
    [
        {"interfaces": {"tunl0": False}},
        {"cgroup": {"memory": GIB // 2, "memory_and_swap": GIB // 2, "pids": 3, "cpu_quota": 1000}},
        {"cgroup": {"memory_and_swap": None}, "swap_total": 0},
        {"mounts": [mount("/etc/resolv.conf", "virtiofs", "/b1f0-7d-resolv.conf")]},
        {"mounts": [mount("/dev/null", "devtmpfs", "/null", writable=True)]},
        {"mounts": [{**mount("/run", "tmpfs", writable=True), "size": "64k"}]},
        {"mounts": [mount("/etc/passwd", "ext4", "/storage/overlay-containers/1/userdata/passwd")]},
        {"mounts": [mount("/sys/fs/cgroup/cpu,cpuacct", "cgroup", "/docker/1")]},
    ],
    ids=[
        "a tunnel that is down",
        "tighter",
        "no swap to limit",
        "Kata's names",
        "rootless devices",
        "Podman's memory",
        "Podman's users",
        "cgroup v1",
    ],
)
def test_what_other_engines_do_instead_holds_too(changes: dict[str, Any]) -> None:
    assert missing(but(**changes)) == []


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("no-network", "interfaces"),
        ("no-mounts", "mounts"),
        ("no-engine-socket", "engine_sockets"),
        ("read-only-root", "root_read_only"),
        ("read-only-kernel", "mounts"),
        ("not-root", "uid"),
        ("not-root", "groups"),
        ("no-capabilities", "capabilities"),
        ("no-new-privileges", "no_new_privileges"),
        ("seccomp", "seccomp"),
        ("memory-limit", "cgroup"),
        ("process-limit", "cgroup"),
        ("cpu-limit", "cgroup"),
        ("file-limit", "files"),
        ("shm-limit", "shm"),
        ("no-core-dumps", "core"),
    ],
)
@pytest.mark.parametrize(
    "nonsense", [None, "", "0", -1, 0.5, float("nan"), 1 << 80, [None], [[]], {"x": []}, "\x1b[2J"], ids=repr
)
def test_what_is_not_known_does_not_hold(name: str, fact: str, nonsense: Any) -> None:
    facts = copy.deepcopy(GOOD)
    facts[fact] = nonsense
    assert name in missing(facts)
    del facts[fact]
    assert name in missing(facts)
    assert controls(facts, LIMITS)[NAMES.index(name)].holds is None


def test_a_yes_is_not_a_number() -> None:
    assert missing(but(no_new_privileges=True, uid=[True] * 4)) == ["not-root", "no-new-privileges"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("max"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(["memory"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), json_values))
def test_hostile_facts_are_judged_like_any_others(changes: dict[str, Any]) -> None:
    for control in controls({**GOOD, **changes}, LIMITS):
        assert control.holds in (True, False, None)
        assert len(control.found) < 400


def test_nothing_found_is_nothing_held() -> None:
    assert missing({}) == list(NAMES)


def test_the_error_is_one_line_whatever_the_container_says() -> None:
    facts = but(interfaces={"x\n\x1b[2J": True, **{f"{'long' * 100}{i}": True for i in range(50)}})
    with pytest.raises(ControlMissing) as raised:
        check(facts, LIMITS, ())
    assert str(raised.value).isprintable()
    assert "and 47 more" in str(raised.value)
    assert len(str(raised.value)) < 600


def test_what_is_waived_need_not_hold() -> None:
    facts = but(no_new_privileges=0, cgroup={"memory_and_swap": None})
    check(facts, LIMITS, {"no-swap", "no-new-privileges", "seccomp"})
    with pytest.raises(ControlMissing, match=r"lacks .*: no-new-privileges \(off\)\. .* = \['no-swap', 'no-new-pri"):
        check(facts, LIMITS, {"no-swap"})


def test_a_name_that_no_control_has_is_a_mistake_that_is_explained() -> None:
    with pytest.raises(UsageProblem, match=r"no control 'noswap' to waive\. Did you mean no-swap"):
        check(GOOD, LIMITS, {"noswap"})
    with pytest.raises(UsageProblem, match="These are the controls: no-network, "):
        check(GOOD, LIMITS, {"xyz"})


@pytest.mark.parametrize("memory", ["lots", "", "0", "-1"])
def test_a_limit_that_limits_nothing_does_not_hold(memory: str) -> None:
    facts = but(cgroup={"memory": "max", "memory_and_swap": "max"})
    limits = Limits(memory, 1.5, 128)
    assert "memory-limit" in [control.name for control in controls(facts, limits) if not control.holds]


@pytest.mark.parametrize("memory", ["1073741824", "1g", "1G", "1gb", "1024m", "1048576k", "1073741824b"])
def test_memory_is_written_as_docker_takes_it(memory: str) -> None:
    check(GOOD, Limits(memory, 1.5, 128), ())


@pytest.mark.parametrize(
    ("runc", "old"),
    [
        ("1.1.5+ds1", True),
        ("1.2.7", True),
        ("1.2.8", False),
        ("1.3.0-rc.1", True),
        ("1.3.2", True),
        ("1.3.3-0ubuntu1", False),
        ("1.4.0-rc.2", True),
        ("1.4.0-rc.3", False),
        ("1.4.0", False),
        ("1.10.0", False),
        ("2.0.0", False),
        ("", False),
        ("unknown", False),
    ],
)
def test_versions_of_runc_with_known_holes_are_told_from_those_without(runc: str, old: bool) -> None:
    assert may_be_escaped(runc) == old
