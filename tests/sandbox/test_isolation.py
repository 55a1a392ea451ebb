"""What code in the sandbox can not do, proved from inside and from outside."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import docker
import pytest

from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.kernel import IsolatedKernel
from tests.conftest import until

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


async def test_nothing_of_the_environment_gets_in(sandbox: IsolatedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary-7f3a")
    inside = await run(sandbox, "env; cat /proc/1/environ | tr '\\0' '\\n'; cat /proc/1/cmdline", "shell")
    assert "canary" not in inside.text.lower()
    assert "PATH=/opt/kernel/bin" in inside.text


async def test_memory_has_a_limit_and_the_next_call_works(sandbox: IsolatedKernel) -> None:
    greedy = await run(sandbox, "x = bytearray(3 * 2**30); x[::4096] = b'x' * len(x[::4096])")
    assert greedy.outcome in ("died", "error")
    assert greedy.state_lost == (greedy.outcome == "died")
    assert (await run(sandbox, "print('alive')")).text == "alive\n"


async def test_processes_have_a_limit(sandbox: IsolatedKernel) -> None:
    many = await run(sandbox, "for i in $(seq 300); do sleep 20 & done; wait", "shell", timeout=5)
    assert "Resource temporarily unavailable" in many.text + many.error
    assert (await run(sandbox, "echo alive", "shell")).text == "alive\n"


async def test_the_disk_has_a_limit(sandbox: IsolatedKernel) -> None:
    full = await run(sandbox, "head -c 400M /dev/zero > /work/big", "shell")
    assert full.outcome == "error"
    assert "No space left on device" in full.text


def test_the_owner_killed_takes_the_container_along(containers: Callable[..., list[str]]) -> None:
    code = """
import asyncio
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
async def main():
    await IsolatedKernel(DockerSandbox()).start()
    print("started", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    for _ in range(5):
        owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"started\n"
        assert len(containers(owner.pid)) == 1
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdout.close()
        assert until(lambda pid=owner.pid: not containers(pid), within=5) < 1.0
