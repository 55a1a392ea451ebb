"""Bad input: one readable line with a next step, a failed cell, and a notebook that goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.frontend import Notebook

BAD_CELLS = {
    "no SKILL.md": ("%skill load ./empty", "SkillNotFound: There is no SKILL.md in './empty'. A skill is a folder"),
    "broken SKILL.md": ("%skill load ./broken", "InvalidSkill: .*no frontmatter.* A SKILL.md begins with"),
    "no such skill": ("%skill load gif-makr", "SkillNotFound: .* Did you mean 'gif-maker'"),
    "no such skill asked for": ("%%ask -s nothing\nHello", "SkillNotFound: There is no skill 'nothing'"),
    "no such verb": ("%skill laod x", "UsageProblem: .* Did you mean '%skill load'"),
    "no words for the verb": ("%skill load", "UsageProblem: %skill load: .*required: REF.* See '%skill load --help'"),
    "unpaired quote": ("%skill load 'x", "UsageProblem: A quotation mark is not closed"),
    "no such option": ("%%ask --fly\nHello", "UsageProblem: %%ask: there is no option --fly. See '%%ask --help'"),
    "bad place": ("%%ask -r moon\nHello", "UsageProblem: %%ask: .*invalid choice: 'moon'"),
    "bad number": ("%%ask --max-steps 0\nHello", "UsageProblem: .*0 is not a positive number"),
    "option without value": ("%%ask -m\nHello", "UsageProblem: .*expected one argument"),
    "bad variable": ("%%ask -o 1x\nHello", "UsageProblem: '1x' can't be the name of a variable"),
    "nothing asked": ("%%ask\n\n", "UsageProblem: There is nothing to ask. Write a question"),
    "no model": ("%%ask\nHello", "ModelNotChosen: No model is chosen. Name one with -m"),
    "unknown model": ("%%ask -m whatever\nHello", "ModelUnknown: .* Put the provider before the name"),
    "missing key": ("%%ask -m openai/gpt-4o\nHello", "ModelKeyMissing: .* Set OPENAI_API_KEY in the environment"),
}


def assert_one_line(cell: object, pattern: str) -> None:
    import re

    error = cell.error  # type: ignore[attr-defined]
    assert error is not None
    name, value, rendered = error
    assert len(rendered) == 1, rendered
    assert "\n" not in rendered[0]
    assert re.search(pattern, rendered[0]), rendered[0]
    assert rendered[0].startswith(name)
    assert value in rendered[0]


def test_each_mistake_is_one_line_with_a_next_step(notebook: Notebook) -> None:
    (notebook.folder / "empty").mkdir()
    (notebook.folder / "broken").mkdir()
    (notebook.folder / "broken/SKILL.md").write_text("# No frontmatter")
    for code, pattern in BAD_CELLS.values():
        assert_one_line(notebook.run(code), pattern)
    assert notebook.run("%skill list").stdout.startswith("No skill is loaded.")


def test_trouble_with_the_model_fails_the_cell_and_the_next_one_works(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.use(model)
    troubles = [
        (Turn(status=500, message="no power"), "ModelFailed: .*no power"),
        (Turn("half an answer and then nothing", break_off="abort"), "ModelBrokeOff: .*broke off in the middle"),
        (Turn("half an answer and then nothing", break_off="quiet"), "ModelBrokeOff: .*broke off in the middle"),
    ]
    for turn, pattern in troubles:
        model.add(turn)
        assert_one_line(notebook.run("%%ask -r off\nHello"), pattern)
        model.add(Turn("Hello."))
        assert "Hello." in notebook.run("%%ask -r off\nAgain").plain
    model.stop()
    assert_one_line(notebook.run("%%ask -r off\nHello"), "ModelUnreachable: .*can't be reached. Check the network")


def test_softly_an_error_is_said_and_the_cell_is_good(notebook: Notebook) -> None:
    cell = notebook.run("%%ask --soft\nHello")
    assert cell.error is None
    assert cell.stderr.startswith("ModelNotChosen: No model is chosen.")


@pytest.mark.docker
def test_without_engine_or_image_the_cell_says_so_and_works_once_they_are_there(
    notebook: Notebook, model: ScriptedModel
) -> None:
    notebook.use(model)
    call = Turn("", [Call("run_python", {"code": "6 * 7"})])
    model.add(call, call, call, Turn("42."))
    notebook.run("import os; os.environ['DOCKER_HOST'] = 'unix:///nowhere.sock'")
    assert_one_line(notebook.run("%%ask\nGo"), "EngineMissing: No Docker engine answers .* Start Docker")
    notebook.run("del os.environ['DOCKER_HOST']\n%config DockerSandbox.image = 'nothing:here'")
    assert_one_line(notebook.run("%%ask\nGo"), "ImageMissing: .* Build it with 'jupyter skills sandbox build'")
    notebook.run(f"%config DockerSandbox.image = '{os.environ.get('IMAGE', 'jupyter-skills-sandbox:latest')}'")
    assert notebook.run("%%ask\nGo").error is None
    assert model.requests[-1].body["messages"][-1]["content"] == "run_python: ok\n\n42"


def failing_notebook(path: Path) -> Path:
    cells = [nbformat.v4.new_code_cell(code) for code in ("%load_ext jupyter_skills", "%%ask\nHello")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)
    return path


def test_nbclient_fails(workdir: Path) -> None:
    notebook = nbformat.read(failing_notebook(workdir / "bad.ipynb"), 4)
    with pytest.raises(CellExecutionError, match="No model is chosen"):
        NotebookClient(notebook, kernel_name="python3", timeout=60).execute()


@pytest.mark.parametrize(
    "command",
    [
        ["jupyter", "nbconvert", "--to", "notebook", "--execute", "bad.ipynb"],
        ["pytest", "--nbval-lax", "-p", "no:cacheprovider", "bad.ipynb"],
    ],
    ids=["nbconvert", "nbval"],
)
def test_runners_fail(workdir: Path, command: list[str]) -> None:
    failing_notebook(workdir / "bad.ipynb")
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert done.returncode == 1
    assert "No model is chosen" in done.stdout + done.stderr
