"""The skills in force in real kernels, as the store keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.cli import main
from jupyter_skills.store.location import default_file, has_store
from jupyter_skills.store.store import SkillStore
from jupyter_skills.testing import ScriptedModel, Turn
from tests.conftest import until, write_skill
from tests.frontend import Notebook
from tests.numbered import NumberedNotebook, connection_file

WATCHED_LOAD = """
import sys
met = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "sqlite3.connect"):
        met.append(args)
sys.addaudithook(watch)
%load_ext jupyter_skills
loaded = [name for name in ("sqlalchemy", "jupyter_server") if name in sys.modules]
"""


@pytest.fixture
def numbered(workdir: Path) -> Iterator[NumberedNotebook]:
    """A kernel with an id, with the extension loaded."""
    with NumberedNotebook(workdir) as notebook:
        notebook.run("%load_ext jupyter_skills")
        yield notebook


def listed(notebook: Notebook) -> list[str]:
    return [row["name"] for row in json.loads(notebook.run("%skill list --json").stdout)]


def at_the_command_line(kernel_id: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["list", "--kernel", kernel_id, "--json"]) == 0
    return [row["name"] for row in json.loads(capsys.readouterr().out)]


def test_what_is_loaded_is_seen_at_the_command_line_at_once(
    numbered: NumberedNotebook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--kernel", numbered.id]) == 2
    assert "list --kernels" in capsys.readouterr().err
    folder = write_skill(numbered.folder, "mine", description="Does mine.")
    loaded = numbered.run("%skill load ./mine gif-maker --pin --run off")
    assert loaded.stderr == ""
    assert at_the_command_line(numbered.id[:8], capsys) == ["mine", "gif-maker"]
    assert main(["list", "--kernel", numbered.id[:8]]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"mine ({folder}, off, pinned): Does mine."
    assert main(["list", "--kernels"]) == 0
    assert capsys.readouterr().out == f"{numbered.id}: mine, gif-maker\n"
    numbered.run("%skill unload mine")
    assert at_the_command_line(numbered.id, capsys) == ["gif-maker"]


@pytest.mark.parametrize("killed", [False, True])
def test_a_restart_keeps_what_is_in_force_and_the_first_use_says_so(
    numbered: NumberedNotebook, model: ScriptedModel, killed: bool
) -> None:
    write_skill(numbered.folder, "mine", description="Does mine.")
    write_skill(numbered.folder, "packed")
    (numbered.folder / "packed.zip").write_bytes(Skill.from_path(numbered.folder / "packed").to_zip())
    numbered.run("%skill load ./mine --pin\n%skill load packed.zip")
    numbered.restart(now=killed)
    numbered.use(model)
    model.add(Turn("Fine."), Turn("Fine."))
    first = numbered.run("%%ask -r off\nHow are you?")
    assert "In force in this kernel from before: mine, packed." in first.plain
    assert first.stderr == ""
    sent = model.requests[-1].body["messages"][0]["content"]
    assert '<skill_content name="mine">' in sent
    assert '<skill_content name="packed">' in sent
    assert "from before" not in numbered.run("%%ask -r off\nAnd now?").plain, "told once"
    assert numbered.run("%skill list").stdout.splitlines() == [
        "mine (project, pinned): Does mine.",
        "packed (archive packed.zip): Does a thing.",
    ]
    assert "not trusted" in numbered.run("%skill show packed").stdout


def test_loading_the_extension_opens_no_database_and_the_list_tells_what_is_in_force(
    numbered: NumberedNotebook,
) -> None:
    write_skill(numbered.folder, "mine")
    numbered.run("%skill load ./mine")
    numbered.manager.restart_kernel()
    numbered.client.wait_for_ready(timeout=60)
    cell = numbered.run(WATCHED_LOAD)
    assert (cell.stdout, cell.stderr, cell.outputs, cell.error) == ("", "", [], None)
    assert numbered.value("met, loaded") == "([], [])"
    assert listed(numbered) == ["mine"]
    assert numbered.run("%skill load gif-maker").stdout.startswith("Loaded gif-maker"), "the list has told it"
    assert "mine" in numbered.complete("%skill unload mi")


def test_another_kernel_has_its_own_and_what_has_ended_is_forgotten(
    numbered: NumberedNotebook, capsys: pytest.CaptureFixture[str]
) -> None:
    write_skill(numbered.folder, "mine")
    numbered.run("%skill load ./mine")
    with NumberedNotebook(numbered.folder) as other:
        other.run("%load_ext jupyter_skills")
        assert listed(other) == []
        other.run("%skill load gif-maker")
        assert listed(numbered) == ["mine"]
    assert not connection_file(other.id).exists()
    assert main(["list", "--kernels"]) == 0
    assert capsys.readouterr().out == f"{numbered.id}: mine\n"


def test_another_user_sees_nothing_of_it(
    numbered: NumberedNotebook, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered.run("%skill load gif-maker")
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "somebody-else")
    assert main(["list", "--kernel", numbered.id]) == 2
    assert "No skill is in force in a kernel" in capsys.readouterr().err
    assert main(["list", "--kernels", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_skill_that_is_gone_after_a_restart_is_listed_and_hinders_nothing(
    numbered: NumberedNotebook, model: ScriptedModel
) -> None:
    folder = write_skill(numbered.folder, "mine")
    numbered.run("%skill load ./mine gif-maker")
    (folder / "SKILL.md").unlink()
    folder.rmdir()
    numbered.restart()
    lines = numbered.run("%skill list").stdout.splitlines()
    assert lines[0].startswith("gif-maker (")
    assert lines[1:] == [f"mine: {folder}", f"  not used: There is no folder '{folder}'"]
    numbered.use(model)
    model.add(Turn("Fine."))
    cell = numbered.run("%%ask -r off\nHow are you?")
    assert cell.error is None
    assert "The skill 'mine' is left out" in cell.plain
    assert numbered.run("%skill unload mine").stdout == "Unloaded mine.\n"
    assert listed(numbered) == ["gif-maker"]


async def test_stored_skills_are_found_by_every_verb(numbered: NumberedNotebook, workdir: Path) -> None:
    async with SkillStore() as store:
        text = Skill.from_text("---\nname: kept\ndescription: Weighs cats.\n---\n# Kept\n")
        made = await store.create(text)
    until(lambda: numbered.complete("%skill load ke") == ["kept"])
    assert f"kept (store {made.id}@1): Weighs cats." in numbered.run("%skill list --available").stdout
    assert numbered.run("%skill search cats").stdout.startswith("kept: ")
    assert "not trusted" in numbered.run("%skill show kept").stdout
    assert numbered.run("%skill load store:kept@1").stdout == "Loaded kept: Weighs cats.\n"
    assert numbered.run("%skill freeze").error is None
    assert json.loads((workdir / "jupyter-skills.lock").read_text())["skills"][0]["path"] == f"store:{made.id}@1"
    numbered.restart()
    assert listed(numbered) == ["kept"]
    numbered.run("%skill unload --all")
    assert "Loaded kept, as it was locked" in numbered.run("%skill sync").stdout
    write_skill(workdir / ".agents/skills", "kept", description="Nearer.")
    available = numbered.run("%skill list --available").stdout
    assert "  not used: shadowed by the one in " in available
    assert numbered.run("%skill load kept").stdout == "Loaded kept: Nearer.\n"


def test_without_a_place_for_a_store_all_works_in_memory_and_is_told_once(workdir: Path, model: ScriptedModel) -> None:
    (workdir / "file").touch()
    with NumberedNotebook(workdir, {"JUPYTER_DATA_DIR": str(workdir / "file/data")}) as notebook:
        notebook.run("%load_ext jupyter_skills")
        assert notebook.run("%skill list").stderr == ""
        loaded = notebook.run("%skill load gif-maker")
        assert loaded.stdout.startswith("Loaded gif-maker")
        assert loaded.stderr.count("\n") == 1
        assert loaded.stderr.startswith("This kernel keeps its list of skills to itself for now. ")
        notebook.use(model)
        model.add(Turn("Fine."))
        cell = notebook.run("%%ask -r off\nHow are you?")
        assert (cell.error, cell.stderr) == (None, "")
        assert "gif-maker" in model.requests[-1].body["messages"][0]["content"]
        assert listed(notebook) == ["gif-maker"]


def test_a_damaged_store_is_kept_aside_and_told_in_one_line(numbered: NumberedNotebook) -> None:
    default_file().parent.mkdir(parents=True, exist_ok=True)
    default_file().write_text("This was a database once." * 100)
    loaded = numbered.run("%skill load gif-maker")
    assert loaded.stdout.startswith("Loaded gif-maker")
    assert loaded.stderr.count("\n") == 1
    assert "The store was damaged" in loaded.stderr
    assert [path.read_text()[:8] for path in default_file().parent.glob("*damaged*")] == ["This was"]
    assert listed(numbered) == ["gif-maker"]


def test_a_kernel_without_an_id_keeps_all_to_itself(notebook: Notebook) -> None:
    loaded = notebook.run("%skill load gif-maker")
    assert (loaded.stdout[:16], loaded.stderr) == ("Loaded gif-maker", "")
    assert listed(notebook) == ["gif-maker"]
    assert not has_store()
