"""The skills in force in a server's kernels: a real server, real kernels, and what each of them sees."""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
import sqlalchemy as sa

from jupyter_skills import Skill
from jupyter_skills.store.entries import Entries, Entry
from jupyter_skills.store.loaded import Kernel, LoadedSkill
from jupyter_skills.store.location import current_user
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import kernel_skills
from jupyter_skills.testing import ScriptedModel, Turn
from tests.conftest import until, write_skill
from tests.frontend import Notebook
from tests.numbered import ServersNotebook, connection_file
from tests.server.jupyter import TOKEN, jupyter

CULLING = (
    "--MappingKernelManager.cull_idle_timeout=1",
    "--MappingKernelManager.cull_interval=1",
    "--MappingKernelManager.cull_connected=True",
)

PEOPLE = """
from jupyter_server.auth import IdentityProvider, User

class People(IdentityProvider):
    def get_user(self, handler):
        token = handler.request.headers.get("Authorization", "").partition(" ")[2]
        handler._token_authenticated = bool(token)
        return User("bob" if token == "bob" else "ann") if token else None

c.ServerApp.identity_provider_class = People
"""


@dataclass
class Client:
    """A user of a server.

    Args:
        url: The server's address.
        folder: Its root.
        token: Who it is.
    """

    url: str
    folder: Path
    token: str = TOKEN

    def __call__(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/{path}", data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                text = response.read()
                return response.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def start(self, path: str = "") -> ServersNotebook:
        """A kernel that the server has started, for a notebook if one is named."""
        if path:
            session = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
            status, answer = self("POST", "api/sessions", session)
            kernel_id = answer["kernel"]["id"]
        else:
            status, answer = self("POST", "api/kernels", {"name": "python3"})
            kernel_id = answer["id"]
        assert status == 201
        return ServersNotebook(self.folder, kernel_id)

    def skills(self, kernel_id: str) -> list[str]:
        """The names of what the server says is in force."""
        status, answer = self("GET", f"jupyter-skills/api/kernels/{kernel_id}/skills")
        assert status == 200, answer
        return [row["name"] for row in answer["data"]]


@pytest.fixture
def client(workdir: Path) -> Iterator[Client]:
    with jupyter("server", workdir, os.environ) as url:
        yield Client(url, workdir)


@pytest.fixture
def notebook(client: Client) -> Iterator[ServersNotebook]:
    """A kernel of the server's, with the extension loaded."""
    with client.start() as notebook:
        notebook.run("%load_ext jupyter_skills")
        yield notebook


def in_rows() -> list[str]:
    """The kernels that rows are there for; nothing is swept up by asking."""
    query = sa.select(kernel_skills.c.kernel_id)
    return SkillStore().database.read(lambda connection: list(connection.execute(query).scalars()))


def listed(notebook: Notebook) -> list[str]:
    return [row["name"] for row in json.loads(notebook.run("%skill list --json").stdout)]


def test_each_sees_at_once_what_the_other_changes(
    client: Client, notebook: ServersNotebook, model: ScriptedModel
) -> None:
    there = f"jupyter-skills/api/kernels/{notebook.id}/skills"
    assert client("GET", there) == (200, {"kernel_id": notebook.id, "data": []})
    folder = write_skill(client.folder, "mine", description="Does mine.")
    notebook.run("%skill load ./mine --run off")
    assert client("GET", there)[1]["data"] == [
        {
            "name": "mine",
            "description": "Does mine.",
            "pinned": False,
            "run": "off",
            "kind": "folder",
            "place": str(folder),
            "problem": "",
        }
    ]
    assert client("PUT", f"{there}/mine", {"pinned": True, "run": ""})[0] == 200
    status, loaded = client("PUT", f"{there}/gif-maker")
    assert (status, loaded["name"], loaded["pinned"]) == (200, "gif-maker", False)
    assert notebook.run("%skill list").stdout.splitlines()[0] == "mine (project, pinned): Does mine."
    assert listed(notebook) == ["mine", "gif-maker"]
    notebook.use(model)
    model.add(Turn("Fine."), Turn("Fine."))
    assert notebook.run("%%ask -r off\nHow are you?").error is None
    assert "gif-maker" in model.requests[-1].body["messages"][0]["content"]
    status, gone = client("DELETE", f"{there}/gif-maker")
    assert (status, gone["name"]) == (200, "gif-maker")
    assert notebook.run("%%ask -r off -n\nAnd now?").error is None
    assert "gif-maker" not in model.requests[-1].body["messages"][0]["content"]
    notebook.run("%skill unload mine")
    assert client.skills(notebook.id) == []


async def test_a_stored_skill_is_put_in_force_by_its_reference(client: Client, notebook: ServersNotebook) -> None:
    async with SkillStore() as store:
        made = await store.create(Skill.from_text("---\nname: kept\ndescription: First.\n---\n"))
        await store.create_version(made.id, Skill.from_text("---\nname: kept\ndescription: Second.\n---\n"))
    there = f"jupyter-skills/api/kernels/{notebook.id}/skills"
    status, facts = client("PUT", f"{there}/kept", {"reference": f"store:{made.id}@1", "run": "live"})
    assert (status, facts["place"], facts["description"], facts["run"]) == (200, f"store:{made.id}@1", "First.", "live")
    assert notebook.run("%skill list").stdout == f"kept (store {made.id}@1, live): First.\n"
    assert client("PUT", f"{there}/kept", {"reference": "store:kept"})[1]["description"] == "Second."


def test_names_are_found_from_the_notebook_s_folder_and_paths_are_not_taken(client: Client) -> None:
    (client.folder / ".git").mkdir()
    write_skill(client.folder / "sub/.agents/skills", "near")
    write_skill(client.folder, "plain")
    (client.folder / "sub/a.ipynb").touch()
    in_sub, elsewhere = client.start("sub/a.ipynb"), client.start()
    for notebook, status in ((in_sub, 200), (elsewhere, 404)):
        assert client("PUT", f"jupyter-skills/api/kernels/{notebook.id}/skills/near")[0] == status
    there = f"jupyter-skills/api/kernels/{in_sub.id}/skills/plain"
    for path in ("plain", "./plain", str(client.folder / "plain"), "../plain"):
        assert client("PUT", there, {"reference": path})[0] == 404, path


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"pinned": "yes"}, "'pinned' is no true or false"),
        ({"run": "there"}, "Code can't run in 'there'"),
        ({"reference": 3}, "'reference' is no text"),
        ({"color": "red"}, "There is no field 'color'"),
        ([], "no object"),
        ({"reference": "gif-maker"}, "'gif-maker' is the skill 'gif-maker'"),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, body: object, says: str) -> None:
    status, answer = client("PUT", f"jupyter-skills/api/kernels/{client.start().id}/skills/x", body)
    assert status == 400
    assert says in answer["message"]


def test_a_kernel_that_this_server_does_not_run_is_not_found(client: Client) -> None:
    there = f"jupyter-skills/api/kernels/{uuid4()}/skills"
    for method, path in (("GET", there), ("PUT", f"{there}/gif-maker"), ("DELETE", f"{there}/gif-maker")):
        status, answer = client(method, path)
        assert (status, answer["reason"]) == (404, "SkillNotFound")
    mine = client.start()
    assert client("DELETE", f"jupyter-skills/api/kernels/{mine.id}/skills/gif-maker")[0] == 404


def test_a_restart_keeps_them_and_a_shutdown_ends_them(client: Client, notebook: ServersNotebook) -> None:
    notebook.run("%skill load gif-maker")
    assert client("POST", f"api/kernels/{notebook.id}/restart")[0] == 200
    notebook.client.wait_for_ready(timeout=60)
    notebook.run("%load_ext jupyter_skills")
    assert listed(notebook) == ["gif-maker"]
    assert client.skills(notebook.id) == ["gif-maker"]
    assert in_rows() == [notebook.id]
    assert connection_file(notebook.id).exists()
    assert client("DELETE", f"api/kernels/{notebook.id}")[0] == 204
    until(lambda: not in_rows())


def test_a_kernel_that_is_killed_comes_back_with_its_skills(client: Client, notebook: ServersNotebook) -> None:
    notebook.run("%skill load gif-maker")
    killed = process_of(notebook.id)
    os.kill(killed, signal.SIGKILL)
    until(lambda: process_of(notebook.id) not in (killed, 0), 60)
    notebook.client.wait_for_ready(timeout=60)
    assert notebook.run("%load_ext jupyter_skills").error is None
    assert listed(notebook) == ["gif-maker"]


def process_of(kernel: str) -> int:
    """The process that a kernel runs in now; 0 if there is none."""
    found = 0
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = process.info["cmdline"] or ()
        if any(f"kernel-{kernel}" in word for word in words) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found = process.info["pid"]
    return found


def test_culling_ends_them(workdir: Path) -> None:
    with jupyter("server", workdir, os.environ, *CULLING) as url:
        client = Client(url, workdir)
        kernel = client.start()
        assert client("PUT", f"jupyter-skills/api/kernels/{kernel.id}/skills/gif-maker")[0] == 200
        until(lambda: not in_rows(), 30)


def test_what_ended_while_no_server_ran_is_forgotten_at_the_next_start(workdir: Path) -> None:
    skill = Skill.from_path(write_skill(workdir, "mine"))
    entries = Entries(SkillStore(), Kernel(current_user(), "ended", str(workdir / "kernel-ended.json")))
    entries.exchange({"mine": Entry.of("mine", LoadedSkill(skill))})
    assert in_rows() == ["ended"]
    with jupyter("server", workdir, os.environ):
        until(lambda: not in_rows())


def test_two_kernels_have_their_own_and_another_user_s_are_not_shown(
    client: Client, notebook: ServersNotebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.run("%skill load gif-maker")
    with client.start() as other:
        other.run("%load_ext jupyter_skills")
        assert listed(other) == []
        assert client.skills(other.id) == []
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "bob")
    with jupyter("server", client.folder, os.environ) as url:
        bob = Client(url, client.folder)
        with bob.start() as bobs:
            assert bob.skills(bobs.id) == []
        assert bob("GET", f"jupyter-skills/api/kernels/{notebook.id}/skills")[0] == 404
    assert client.skills(notebook.id) == ["gif-maker"]


def test_of_two_people_on_one_server_only_the_kernels_owner_gets_at_them(
    workdir: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "ann")
    config = home / "jupyter_config_dir/jupyter_server_config.py"
    config.parent.mkdir(parents=True)
    config.write_text(PEOPLE)
    with jupyter("server", workdir, os.environ) as url:
        ann = Client(url, workdir)
        kernel = ann.start()
        there = f"jupyter-skills/api/kernels/{kernel.id}/skills"
        assert ann("PUT", f"{there}/gif-maker")[0] == 200
        bob = Client(url, workdir, "bob")
        for method, path in (("GET", there), ("PUT", f"{there}/gif-maker"), ("DELETE", f"{there}/gif-maker")):
            status, answer = bob(method, path)
            assert (status, answer["reason"]) == (403, "NotYours")
        assert ann.skills(kernel.id) == ["gif-maker"]


def test_a_store_that_can_not_be_reached_is_told(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workdir / "file").touch()
    monkeypatch.setenv("JUPYTER_SKILLS_DB", f"sqlite:///{workdir}/file/skills.db")
    with jupyter("server", workdir, os.environ) as url:
        client = Client(url, workdir)
        with client.start() as notebook:
            status, answer = client("GET", f"jupyter-skills/api/kernels/{notebook.id}/skills")
            assert (status, answer["reason"]) == (503, "StoreUnreachable")
            assert answer["next_step"]
