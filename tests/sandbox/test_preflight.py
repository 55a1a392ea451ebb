"""What isolates a container, proved from inside real ones: those of ours, and some that lack something."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.types import Ulimit

from jupyter_skills.cli import main
from jupyter_skills.errors import ImageMissing, SandboxFailed, UsageProblem
from jupyter_skills.sandbox.docker.controls import NAMES, controls
from jupyter_skills.sandbox.docker.engine import Engine, Limits
from jupyter_skills.sandbox.docker.preflight import PROBE, facts_inside, parsed, preflight
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE
from tests.conftest import until

LIMITS = Limits("1g", 1.0, 128)
TMPFS = {"/tmp": "noexec", "/work": "mode=0700,uid=10001,gid=10001", "/skills": "mode=0700,uid=10001,gid=10001"}

# A container with every control, written down once more and not taken from the code under test.
ISOLATED: dict[str, Any] = {
    "user": "10001:10001",
    "network_mode": "none",
    "read_only": True,
    "tmpfs": TMPFS,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "ipc_mode": "private",
    "mem_limit": "1g",
    "memswap_limit": "1g",
    "nano_cpus": 10**9,
    "pids_limit": 128,
    "shm_size": "64m",
    "ulimits": [Ulimit(name="nofile", soft=1024, hard=1024), Ulimit(name="core", soft=0, hard=0)],
}
FILES, CORE = ISOLATED["ulimits"]
ENDLESS_CORE = Ulimit(name="core", soft=-1, hard=-1)

Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """Runs a command line in this process; gives its status and what it said."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["preflight", *words])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def image_with_a_volume() -> Iterator[str]:
    """An image for which any engine makes a folder on the host, writable from inside, without being asked to."""
    client = docker.from_env()
    tag = f"jupyter-skills-test-volume:{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Dockerfile").write_text(f"FROM {DEFAULT_IMAGE}\nVOLUME /data\n")
        client.images.build(path=folder, tag=tag, rm=True, forcerm=True)
    yield tag
    until(lambda: not client.api.containers(all=True, filters={"ancestor": tag}))
    client.images.remove(tag)
    client.close()


def missing_in(**changes: Any) -> set[str]:
    """The controls that a container lacks which was made with other settings; None leaves one out."""
    client = docker.from_env()
    settings = {name: value for name, value in {**ISOLATED, **changes}.items() if value is not None}
    try:
        said = client.containers.run(DEFAULT_IMAGE, list(PROBE), entrypoint=[], remove=True, **settings)
    finally:
        client.close()
    return {control.name for control in controls(parsed(said, b""), LIMITS) if not control.holds}


@pytest.mark.docker
def test_a_container_of_ours_has_all_controls_and_is_gone_afterwards(engine: Engine) -> None:
    result = preflight(engine, DEFAULT_IMAGE, LIMITS)
    assert [control.name for control in result.controls] == list(NAMES)
    assert {control.name: control.found for control in result.controls if not control.holds} == {}
    assert result.missing == ()
    until(lambda: not engine.containers(preflight="1"))


@pytest.mark.docker
def test_the_engine_is_described_as_it_describes_itself(engine: Engine) -> None:
    told, info = preflight(engine, DEFAULT_IMAGE, LIMITS).engine, docker.from_env().info()
    assert (told.version, told.cgroup_version) == (info["ServerVersion"], info["CgroupVersion"])
    assert told.runc
    assert told.runtime in told.runtimes


@pytest.mark.docker
@pytest.mark.parametrize(
    ("lacking", "changes"),
    [
        ([], {}),
        (["no-network"], {"network_mode": "bridge"}),
        (["read-only-root"], {"read_only": False}),
        (["not-root"], {"user": "0:0"}),
        (["not-root"], {"group_add": ["0"]}),
        (["no-capabilities"], {"cap_drop": None}),
        (["no-capabilities"], {"cap_add": ["NET_ADMIN"]}),
        (["no-new-privileges"], {"security_opt": None}),
        (["seccomp"], {"security_opt": ["no-new-privileges:true", "seccomp=unconfined"]}),
        (["memory-limit", "no-swap"], {"mem_limit": None, "memswap_limit": None}),
        (["memory-limit"], {"mem_limit": "2g", "memswap_limit": "2g"}),
        (["no-swap"], {"memswap_limit": "2g"}),
        (["process-limit"], {"pids_limit": None}),
        (["process-limit"], {"pids_limit": 129}),
        (["cpu-limit"], {"nano_cpus": None}),
        (["cpu-limit"], {"nano_cpus": int(1.5e9)}),
        (["file-limit"], {"ulimits": [CORE, Ulimit(name="nofile", soft=1024, hard=4096)]}),
        (["no-core-dumps"], {"ulimits": [FILES, ENDLESS_CORE]}),
        (["shm-limit"], {"shm_size": "65m"}),
        (["no-mounts"], {"tmpfs": {**TMPFS, "/more": ""}}),
        (["no-capabilities", "seccomp", "read-only-kernel"], {"privileged": True}),
    ],
    ids=lambda value: ",".join(value) or "nothing" if isinstance(value, list) else "".join(value),
)
def test_a_container_that_lacks_a_control_is_found_out(lacking: list[str], changes: dict[str, Any]) -> None:
    assert missing_in(**changes) == set(lacking)


@pytest.mark.docker
def test_folders_and_sockets_of_the_host_are_found_out() -> None:
    # Where the engine sees the same files as this process, which a folder of the tests need not be.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        os.chmod(folder, 0o755)
        listening.bind(f"{folder}/s")
        data = {folder: {"bind": "/data", "mode": "ro"}}
        hosts = {f"{folder}/s": {"bind": "/etc/hosts", "mode": "ro"}}
        engines = {f"{folder}/s": {"bind": "/run/docker.sock", "mode": "rw"}}
        assert missing_in(volumes=data) == {"no-mounts"}
        assert missing_in(volumes=hosts) == {"no-mounts"}
        assert missing_in(volumes=engines) == {"no-mounts", "no-engine-socket"}


@pytest.mark.docker
def test_the_proxy_in_the_settings_of_dockers_client_stays_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proxies = {"default": {"httpProxy": "http://me:canary@proxy.invalid:3128"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    engine = Engine()
    names = facts_inside(engine, DEFAULT_IMAGE, LIMITS)["environment"]
    engine.close()
    assert "PATH" in names
    assert [name for name in names if "proxy" in name.lower()] == []


@pytest.mark.docker
def test_errors_are_ours_and_leave_no_container(engine: Engine) -> None:
    with pytest.raises(ImageMissing):
        preflight(engine, "nothing:here", LIMITS)
    with pytest.raises(UsageProblem, match="no-swap"):
        preflight(engine, DEFAULT_IMAGE, LIMITS, {"no-swp"})
    with pytest.raises(SandboxFailed, match="fly"):
        preflight(engine, DEFAULT_IMAGE, Limits("1g", 1.0, 128, runtime="fly"))
    until(lambda: not engine.containers(preflight="1"))


def test_what_a_container_says_is_read_past_what_its_image_says_first() -> None:
    assert parsed(b'welcome {"uid": 1}\n{"uid": [2]}\n', b"") == {"uid": [2]}
    for nonsense in (b"", b"hello", b"[1]", b"\xff", b"[" * 100_000, b'{"uid"'):
        with pytest.raises(SandboxFailed, match=r"did not say what isolates it \(no python\)"):
            parsed(nonsense, b"sh:\nno python\n")


@pytest.mark.docker
def test_the_command_shows_each_control_in_a_row(said: Said) -> None:
    status, out, err = said()
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].startswith("Docker ")
    assert "  ok  no-network         no way out but to itself" in lines
    assert "  ok  memory-limit       at most 1 GiB" in lines
    assert lines[-1] == f"All {len(NAMES)} controls hold."
    assert max(map(len, lines)) <= 100


@pytest.mark.docker
def test_the_command_tells_all_to_programs(said: Said) -> None:
    status, out, _ = said("--json")
    told = json.loads(out)
    assert (status, told["good"], told["image"]) == (0, True, DEFAULT_IMAGE)
    assert [row["name"] for row in told["controls"]] == list(NAMES)
    assert told["controls"][0].keys() == {"name", "holds", "found", "why", "waived"}
    assert told["facts"]["interfaces"] == {"lo": True}
    assert "kernel" in told["engine"]


@pytest.mark.docker
def test_a_control_that_is_missing_is_bad_unless_it_is_waived(said: Said, image_with_a_volume: str) -> None:
    status, out, _ = said("--image", image_with_a_volume)
    assert status == 1
    assert "  MISSING  no-mounts          /data (" in out
    assert "  - no-mounts: Code sees no file of this machine" in out
    assert "1 control is missing" in out
    assert "DockerSandbox.waive = ['no-mounts']" in out
    status, out, _ = said("--image", image_with_a_volume, "--waive", "no-mounts")
    assert status == 0
    assert "  waived  no-mounts          /data (" in out
    assert out.endswith("All controls hold but those waived: no-mounts.\n")
    status, out, _ = said("--image", image_with_a_volume, "--waive", "seccomp", "--json")
    assert (status, json.loads(out)["good"]) == (1, False)


@pytest.mark.docker
def test_without_an_image_or_with_a_wrong_name_one_line_says_so(said: Said) -> None:
    for words, mistake in (("--image", "nothing:here"), "no image"), (("--waive", "no-swp"), "Did you mean no-swap"):
        status, out, err = said(*words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert mistake in err


def test_without_an_engine_one_line_says_so(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    status, out, err = said()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: No Docker engine answers")


def test_what_is_waived_in_vain_is_told(engine: Engine) -> None:
    result = preflight(engine, DEFAULT_IMAGE, LIMITS, ["seccomp"])
    assert "seccomp holds; it need not be waived." in result.advice
