"""Which engine is talked to, and what is said when it can't be."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills.errors import EngineMissing
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.kernel import IsolatedKernel

pytestmark = pytest.mark.docker

FORWARDER = """
import socket, sys, threading
def pump(source, sink):
    while piece := source.recv(65536):
        sink.sendall(piece)
    sink.shutdown(socket.SHUT_WR)
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    near, _ = server.accept()
    far = socket.socket(socket.AF_UNIX)
    far.connect(sys.argv[1])
    for pair in ((near, far), (far, near)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
"""


@pytest.fixture
def over_tcp() -> Iterator[str]:
    """The local engine's address over TCP."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    with subprocess.Popen([sys.executable, "-c", FORWARDER, address], stdout=subprocess.PIPE, text=True) as forwarder:
        assert forwarder.stdout is not None
        yield f"tcp://127.0.0.1:{forwarder.stdout.readline().strip()}"
        forwarder.kill()


def context(home: Path, host: str) -> Path:
    """Docker's configuration with a current context of its own."""
    name = "elsewhere"
    folder = home / "docker/contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    meta = {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": False}}}
    (folder / "meta.json").write_text(json.dumps(meta))
    (home / "docker/config.json").write_text(json.dumps({"currentContext": name}))
    return home / "docker"


async def test_an_engine_elsewhere_needs_nothing_but_its_own_connection(
    over_tcp: str, monkeypatch: pytest.MonkeyPatch, sandbox: IsolatedKernel
) -> None:
    monkeypatch.setenv("DOCKER_HOST", over_tcp)
    done = await sandbox.run(
        "python", "open('a.txt', 'w').write('a'); print('there');", timeout=30, on_output=lambda _: None
    )
    assert (done.text, [file.data for file in done.files]) == ("there\n", [b"a"])


def test_the_current_context_names_the_engine(over_tcp: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(context(home, over_tcp)))
    engine = Engine()
    assert engine._client.api.base_url.removeprefix("http://") == over_tcp.removeprefix("tcp://")
    engine.close()


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("unix:///nowhere/docker.sock", r"No Docker engine answers \(No such file or directory\)\. Start Docker"),
        ("tcp://127.0.0.1:9", r"No Docker engine answers \(Connection refused\)"),
        ("ssh://me@there", r"can't be reached over SSH.* Forward its socket with 'ssh .* me@there'"),
        ("nonsense://x", r"No Docker engine answers \(.*\)\."),
    ],
)
def test_an_engine_that_does_not_answer_is_one_line_with_what_to_do(
    host: str, said: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineMissing, match=said):
        Engine()
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(context(home, host)))
    with pytest.raises(EngineMissing, match=said):
        Engine()
