"""What code in the sandbox can not do, proved from inside and from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import docker
import pytest

from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.kernel import IsolatedKernel

pytestmark = pytest.mark.docker


async def run(sandbox: IsolatedKernel, code: str, language: Any = "python", timeout: float = 30) -> Execution:
    return await sandbox.run(language, code, timeout=timeout, on_output=lambda _: None)


async def test_from_inside_there_is_no_way_out(sandbox: IsolatedKernel) -> None:
    code = """
import os, socket, json
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
def fails(do):
    try: do()
    except OSError as error: return error.__class__.__name__ + str(error.errno)
    return "succeeds"
print(json.dumps({
    "uid": os.getuid(), "groups": os.getgroups(),
    "caps": [status[k] for k in ("CapEff", "CapPrm", "CapBnd", "CapInh")],
    "no new privileges": status["NoNewPrivs"], "seccomp": status["Seccomp"],
    "interfaces": [name for _, name in socket.if_nameindex()],
    "root": fails(lambda: open("/x", "w")), "venv": fails(lambda: open("/opt/kernel/x", "w")),
    "internet": fails(lambda: socket.create_connection(("1.1.1.1", 53), 2)),
    "host": fails(lambda: socket.create_connection(("172.17.0.1", 22), 2)),
    "sockets": [f for f in ("/var/run/docker.sock", "/run/docker.sock") if os.path.exists(f)],
}))
"""
    found = json.loads((await run(sandbox, code)).text)
    assert found == {
        "uid": 10001,
        "groups": [10001],
        "caps": ["0" * 16] * 4,
        "no new privileges": "1",
        "seccomp": "2",
        "interfaces": ["lo"],
        "root": "OSError30",
        "venv": "OSError30",
        "internet": "OSError101",
        "host": "OSError101",
        "sockets": [],
    }


async def test_from_outside_it_has_no_mount_no_port_and_limits(
    sandbox: IsolatedKernel, containers: Callable[..., list[str]]
) -> None:
    await sandbox.start()
    (mine,) = containers()
    facts = docker.from_env().api.inspect_container(mine)
    host = facts["HostConfig"]
    assert facts["Mounts"] == []
    assert facts["NetworkSettings"]["Ports"] == {}
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
    assert not host["Binds"]
    assert not host["PortBindings"]
    assert (host["Privileged"], host["AutoRemove"]) == (False, True)
    assert (host["Memory"], host["MemorySwap"], host["NanoCpus"], host["PidsLimit"]) == (2**30, 2**30, 10**9, 128)
    assert host["LogConfig"]["Type"] == "none"
    assert facts["Config"]["User"] == "10001:10001"


async def test_nothing_of_the_environment_gets_in(
    sandbox: IsolatedKernel, monkeypatch: pytest.MonkeyPatch, containers: Callable[..., list[str]]
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary-7f3a")
    inside = await run(
        sandbox, "env; cat /proc/1/cmdline; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'", "shell"
    )
    assert "canary" not in inside.text.lower()
    assert inside.text.count("PATH=/opt/kernel/bin") > 1, "its own, and the kernel's"
    (mine,) = containers()
    assert "canary" not in json.dumps(docker.from_env().api.inspect_container(mine)).lower()
