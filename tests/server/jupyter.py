"""A real Jupyter server process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from jupyter_skills.skills.skill import Skill
from tests.conftest import until

TOKEN = "for-the-tests"
USER = "ann"

_FOLDERS = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")


@contextmanager
def jupyter(command: str, folder: Path, environment: Mapping[str, str], *more: str) -> Iterator[str]:
    """Runs ``jupyter lab`` or ``jupyter server`` over a folder; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    arguments = [command, "--allow-root", "--no-browser", f"--port={port}", f"--IdentityProvider.token={TOKEN}"]
    arguments += [f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0", *more]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", *arguments], stdout=log, stderr=subprocess.STDOUT, env=dict(environment)
        )
        try:
            until(lambda: server.poll() is None and fetch(f"{url}/api/status", TOKEN)[0] != 0, within=60)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def fetch(url: str, token: str = "", method: str = "GET") -> tuple[int, str]:
    """Status and body of a response; status 0 if there is none."""
    headers = {"Authorization": f"token {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def environment_in(folder: Path, **more: str) -> dict[str, str]:
    """This process's environment, but with all of Jupyter's own folders in that one."""
    folders = {name: str(folder / name.lower()) for name in _FOLDERS}
    return {**os.environ, **folders, "JUPYTER_SKILLS_USER": USER, **more}


def client(url: str, token: str = TOKEN, **more: Any) -> httpx.Client:
    """An HTTP client of a server; without a token if that is empty."""
    headers = {"Authorization": f"token {token}"} if token else {}
    return httpx.Client(base_url=url, headers=headers | more.pop("headers", {}), timeout=30, **more)


def archive_of(name: str, description: str = "Does something.", body: str = "Do it.") -> bytes:
    """A zip of a small skill."""
    skill = Skill.from_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return skill.to_zip()


def form_of(archive: bytes) -> dict[str, tuple[str, bytes, str]]:
    """What ``httpx`` takes as ``files``, to send one zip in a form."""
    return {"files": ("skill.zip", archive, "application/zip")}
