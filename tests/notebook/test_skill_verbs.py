"""``%skill`` in a real ipykernel."""

from __future__ import annotations

import json

import pytest

from tests.conftest import write_skill
from tests.frontend import Notebook


def test_skills_are_loaded_listed_shown_and_unloaded(notebook: Notebook) -> None:
    write_skill(notebook.folder, "mine", description="Does mine.", body="# Mine\n\nDo it.")
    assert notebook.run("%skill load ./mine gif-maker --pin").stdout.splitlines()[0] == "Loaded mine: Does mine."
    assert notebook.run("%skill list").stdout.splitlines()[0] == "mine (pinned): Does mine."
    shown = notebook.run("%skill show mine")
    assert shown.outputs[0]["text/html"] == "<h1>Mine</h1>\n<p>Do it.</p>\n"
    assert "sha256:" in shown.stdout
    notebook.run("%skill unload mine")
    assert [row["name"] for row in json.loads(notebook.run("%skill list --json").stdout)] == ["gif-maker"]
    notebook.run("%skill unload --all")
    assert "No skill is loaded" in notebook.run("%skill list").stdout


def test_all_that_can_be_loaded_is_listed_with_what_is_wrong(notebook: Notebook) -> None:
    write_skill(notebook.folder / ".agents/skills", "good")
    broken = write_skill(notebook.folder / ".agents/skills", "broken") / "SKILL.md"
    broken.write_text("nothing")
    rows = {row["name"]: row for row in json.loads(notebook.run("%skill list --available --json").stdout)}
    assert (rows["good"]["source"], rows["gif-maker"]["source"]) == ("project", "jupyter-agent-skills")
    assert "no frontmatter" in rows["broken"]["problem"]
    assert "broken (" in notebook.run("%skill list --available").stdout


def test_either_all_are_loaded_or_none(notebook: Notebook) -> None:
    assert notebook.run("%skill load gif-maker nothing").error is not None
    assert "No skill is loaded" in notebook.run("%skill list").stdout


def test_help_is_given_for_all_and_for_each(notebook: Notebook) -> None:
    overview = notebook.run("%skill").stdout
    assert overview == notebook.run("%skill --help").stdout
    assert "%skill load     Put skills in force." in overview
    assert "--pin" in notebook.run("%skill load --help").stdout
    assert "--max-steps" in notebook.run("%ask --help").stdout
    assert "usage: %%ask" in notebook.run("%%ask -h\n").stdout


@pytest.mark.docker
def test_the_sandbox_is_started_and_stopped_by_hand(notebook: Notebook) -> None:
    assert "is not running" in notebook.run("%skill sandbox").stdout
    for verb, state in (("start", "is running"), ("restart", "is running"), ("stop", "is not running")):
        assert f"kernel {state} " in notebook.run(f"%skill sandbox {verb}").stdout
