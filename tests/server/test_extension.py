"""The server extension in a real Jupyter server."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.server.routes import ROUTES
from tests.server.jupyter import TOKEN, fetch, jupyter


@pytest.fixture
def server(workdir: Path) -> Iterator[str]:
    with jupyter("server", workdir, os.environ, "--ServerApp.base_url=/some/base/") as url:
        yield f"{url}/some/base"


def test_installing_the_package_enables_it() -> None:
    command = [sys.executable, "-m", "jupyter", "server", "extension", "list"]
    listing = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in (listing.stdout + listing.stderr).splitlines() if "jupyter_skills" in line]
    assert any("enabled" in line for line in lines)
    assert any("OK" in line for line in lines)


def test_the_isolated_kernel_is_among_the_kernels(server: str) -> None:
    _, body = fetch(f"{server}/api/kernelspecs", TOKEN)
    spec = json.loads(body)["kernelspecs"]["python3-isolated"]["spec"]
    assert spec["display_name"] == "Python 3 (isolated)"


@pytest.mark.docker
async def test_it_lists_the_sandboxes_and_asks_for_a_token(server: str, sandbox: IsolatedKernel) -> None:
    url = f"{server}/jupyter-skills/api/sandboxes"
    assert fetch(url)[0] == 403
    status, body = fetch(url, TOKEN)
    assert status == 200
    before = len(json.loads(body)["sandboxes"])
    await sandbox.start()
    assert len(json.loads(fetch(url, TOKEN)[1])["sandboxes"]) == before + 1


def test_an_error_of_ours_is_json_with_a_next_step(workdir: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": "unix:///nowhere.sock"}
    with jupyter("server", workdir, environment) as url:
        status, body = fetch(f"{url}/jupyter-skills/api/sandboxes", TOKEN)
    assert status == 503
    answer = json.loads(body)
    assert answer["reason"] == "EngineMissing"
    assert "Start Docker" in answer["next_step"]


@pytest.mark.parametrize(("path", "handler"), ROUTES)
def test_every_verb_is_authenticated_and_authorized_by_itself(path: str, handler: type) -> None:
    verbs = [name for name in ("get", "post", "put", "patch", "delete") if name in vars(handler)]
    assert verbs, f"{path} answers to nothing"
    for verb in verbs:
        source = inspect.getsource(vars(handler)[verb])
        assert source.index("@web.authenticated") < source.index("@authorized") < source.index("def ")
