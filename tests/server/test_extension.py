"""The server extension in a real Jupyter server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.store.store import MONTH, SkillStore
from jupyter_skills.store.tables import skills
from tests.conftest import until
from tests.server.jupyter import TOKEN, USER, archive_of, client, environment_in, fetch, jupyter


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


def test_importing_it_imports_neither_the_database_nor_the_engine() -> None:
    program = (
        "import sys, jupyter_skills; jupyter_skills._jupyter_server_extension_points();"
        "print([name for name in ('sqlalchemy', 'docker', 'litellm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_was_deleted_long_ago_is_gone_after_a_start(tmp_path: Path) -> None:
    file = tmp_path / "skills.db"
    store = SkillStore(f"sqlite:///{file}", user=USER)

    async def deleted(name: str) -> str:
        skill = await store.create(archive_of(name))
        await store.delete(skill.id)
        return skill.id

    old, recent = asyncio.run(deleted("old")), asyncio.run(deleted("recent"))
    earlier = skills.update().where(skills.c.id == old).values(deleted_at=skills.c.deleted_at - int(MONTH * 1e6))
    store.database.write(lambda connection: connection.execute(earlier))
    with jupyter("server", tmp_path, environment_in(tmp_path, JUPYTER_SKILLS_DB=store.url)) as url, client(url) as api:
        at = "/jupyter-skills/api/skills"
        until(lambda: len(api.get(f"{at}?deleted=true").json()["data"]) == 1)
        assert api.post(f"{at}/{old}/restore").status_code == 404
        assert api.post(f"{at}/{recent}/restore").status_code == 200


def test_a_start_makes_no_store(tmp_path: Path) -> None:
    file = tmp_path / "skills.db"
    environment = environment_in(tmp_path, JUPYTER_SKILLS_DB=f"sqlite:///{file}")
    with jupyter("server", tmp_path, environment) as url, client(url) as api:
        assert api.get("/jupyter-skills/api/spec.yaml").status_code == 200
        assert not file.exists()
        assert api.get("/jupyter-skills/api/skills").status_code == 200
        assert file.exists()


def test_a_store_that_can_not_be_used_hinders_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "skills.db"
    file.write_bytes(b"no database at all" * 1000)
    environment = environment_in(tmp_path, JUPYTER_SKILLS_DB=f"sqlite:///{file}")
    with jupyter("server", tmp_path, environment) as url, client(url) as api:
        refused = api.get("/jupyter-skills/api/skills")
        assert (refused.status_code, refused.json()["reason"]) == (503, "StoreBroken")
        assert "log" in refused.json()["next_step"]
        assert str(tmp_path) not in refused.text
        assert api.get("/api/status").status_code == 200
