"""Where the code of a skill's own runs in a notebook: in the sandbox, or in this kernel once it is trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import write_skill
from tests.frontend import Notebook

PIN = "%skill load ./mine --pin"
WHERE = Turn("", [Call("mine__where", {})])


@pytest.fixture
def mine(notebook: Notebook) -> Path:
    """A skill of the project whose tools say where they run, loaded and pinned."""
    folder = write_skill(notebook.folder, "mine", body="Use {baseDir}/helper.py.")
    manifest = (folder / "SKILL.md").read_text()
    tools = "\ntools:\n  leave: {script: leave.sh, args: {name: string}}\n---\n"
    (folder / "SKILL.md").write_text(manifest.replace("\n---\n", tools, 1))
    (folder / "leave.sh").write_text('pwd; echo "$OPENAI_API_KEY."; echo hi > "$1"\n')
    (folder / "helper.py").write_text("VERSION = 1\n")
    (folder / "tools.py").write_text(
        "from jupyter_skills import tool\nimport helper, os\n\n\n@tool\ndef where() -> dict:\n"
        '    return {"pid": os.getpid(), "version": helper.VERSION}\n'
    )
    notebook.run(PIN)
    return folder


def result(model: ScriptedModel) -> str:
    """What the model was told last."""
    return str(model.requests[-1].body["messages"][-1]["content"])


@pytest.mark.docker
def test_code_of_a_project_s_skill_runs_in_the_sandbox_even_where_all_else_runs_live(
    notebook: Notebook, model: ScriptedModel, mine: Path
) -> None:
    notebook.use(model)
    model.add(WHERE, Turn("Done."))
    cell = notebook.run("%%ask -r live -y -o answer\nWhere?")
    assert cell.error is None, cell.error
    assert f'"pid": {notebook.value("__import__(chr(111) + chr(115)).getpid()")},' not in result(model)
    assert notebook.value("[run.place for run in answer.code]") == "['docker']"
    system = model.requests[-1].body["messages"][0]["content"]
    assert "Its files lie nowhere for run_python" in system
    assert str(mine) not in system


def test_code_of_a_trusted_skill_runs_live_after_consent_until_a_byte_of_it_changes(
    notebook: Notebook, model: ScriptedModel, mine: Path
) -> None:
    notebook.use(model)
    notebook.run("%skill trust ./mine")
    model.add(WHERE, Turn("Done."))
    cell = notebook.run("%%ask -r live -y -o answer\nWhere?")
    assert cell.error is None, cell.error
    assert f'"pid": {notebook.value("__import__(chr(111) + chr(115)).getpid()")},' in result(model)
    assert notebook.value("[(run.place, run.consent) for run in answer.code]") == "[('live', '-y')]"
    assert f"{mine.name}, sha256:" in notebook.value("answer.code[0].code"), "consent is to these very files"
    assert notebook.value("'where' in dir() or 'helper' in __import__('sys').modules") == "False"

    model.add(WHERE)
    asked = notebook.run("%%ask -r live\nWhere?")
    assert asked.error is not None
    assert asked.error[0] == "ConsentUnavailable", "trust is no consent"

    (mine / "helper.py").write_text("VERSION = 2\n")
    model.add(Turn("Done."))
    notebook.run("%%ask -r live -n\nAnd now?")
    system = model.requests[-1].body["messages"][0]["content"]
    assert "Its files lie nowhere for run_python" in system


def test_a_trusted_script_runs_live_in_a_copy_of_its_skill_without_the_user_s_keys(
    notebook: Notebook, model: ScriptedModel, mine: Path
) -> None:
    notebook.use(model)
    notebook.run("import os; os.environ['OPENAI_API_KEY'] = 'canary'\n%skill trust ./mine")
    model.add(Turn("", [Call("mine__leave", {"name": "note.txt"})]), Turn("Done."))
    cell = notebook.run("%%ask -r live -y -o answer\nLeave a note")
    assert cell.error is None, cell.error
    assert "canary" not in result(model)
    assert "jupyter-skills-copies-" in result(model), "what runs is what was trusted"
    assert (notebook.folder / "note.txt").read_text() == "hi\n"
    assert not (mine / "note.txt").exists()
    copies = notebook.value("[w for w in answer.messages[-2]['content'].split() if 'copies' in w][0]")
    assert Path(copies.strip("'")).is_dir()
    notebook.run("%unload_ext jupyter_skills")
    assert not Path(copies.strip("'")).exists()


def test_a_skill_may_be_told_where_its_code_runs_and_no_cell_makes_that_less_strict(
    notebook: Notebook, model: ScriptedModel, mine: Path
) -> None:
    notebook.use(model)

    def tools(cell: str) -> set[str]:
        model.add(Turn("Done."))
        assert notebook.run(cell).error is None
        return {tool["function"]["name"] for tool in model.requests[-1].body["tools"]}

    assert {"mine__where", "run_shell"} <= tools("%%ask\nWhat is there?")
    notebook.run(f"{PIN} --run off")
    assert tools("%%ask\nWhat is there?") == {"load_skill", "read_skill_file"}
    offered = tools("%%ask -r docker\nWhat is there?")
    assert ("run_shell" in offered, "mine__where" in offered) == (True, False), "the cell speaks of the model's code"
    notebook.run(f"{PIN} --run live")
    assert "run_shell" not in tools("%%ask\nWhat is there?"), "the live kernel runs Python"
    notebook.run("%skill load gif-maker --run docker")
    assert "run_shell" in tools("%%ask\nWhat is there?"), "the more cautious place wins"
