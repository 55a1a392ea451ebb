"""``%%ask`` at its edges: interrupts at odd moments, odd names, odd cells, other magics around it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import write_skill
from tests.frontend import Cell, Notebook


@pytest.fixture
def asked(notebook: Notebook, model: ScriptedModel) -> Iterator[Notebook]:
    model.add(*[Turn("Ok.")] * 8)
    notebook.use(model)
    return notebook


def error_of(cell: Cell) -> str:
    assert cell.error is not None
    return f"{cell.error[0]}: {cell.error[1]}"


def test_an_interrupt_in_the_first_moments_of_the_first_cell_is_an_interrupt(asked: Notebook) -> None:
    """What is imported for the first ``%%ask`` takes a second or two."""

    def soon() -> None:
        time.sleep(0.6)  # into the import; nothing tells of it
        asked.manager.interrupt_kernel()

    threading.Thread(target=soon, daemon=True).start()
    cell = asked.run("%%ask -r off\nHello")
    assert cell.error is None or cell.error[0] == "AskInterrupted"
    assert asked.run("%%ask -r off\nHello").error is None


@pytest.mark.parametrize("where", ["expression", "repr"])
def test_an_interrupt_stops_what_describes_a_value(asked: Notebook, model: ScriptedModel, where: str) -> None:
    asked.run(
        "import pathlib, time\n"
        "class Slow:\n"
        "    def __repr__(self):\n"
        "        pathlib.Path('begun').touch(); time.sleep(60)\n"
        "slow = Slow()\n"
        "def sleep():\n"
        "    pathlib.Path('begun').touch(); time.sleep(60)"
    )
    asked.interrupt_when(lambda: (asked.folder / "begun").exists())
    cell = asked.run(f"%%ask -r off\nLook at $`{'sleep()' if where == 'expression' else 'slow'}`")
    assert error_of(cell).startswith("AskInterrupted")
    assert not model.requests


@pytest.mark.parametrize("name", ["class", "None", "get_ipython", "__builtins__", "a.b", "1st"])
def test_an_answer_is_bound_to_names_only_that_may_be_bound(asked: Notebook, model: ScriptedModel, name: str) -> None:
    assert "can't be the name of a variable" in error_of(asked.run(f"%%ask -r off -o {name}\nHello"))
    assert not model.requests
    assert asked.run("%%ask -r off\nHello").error is None


def test_a_cell_that_failed_leaves_no_older_answer_behind(asked: Notebook) -> None:
    asked.run("%%ask -r off -o a\nHello")
    assert asked.value("a.text") == "'Ok.'"
    assert asked.run("%%ask --soft -r off -o a -a nowhere.txt\nHello").error is None
    assert asked.value("(a.finish_reason, a.text)") == "('failed', '')"


def test_a_quotation_mark_that_is_left_open_is_said(asked: Notebook, model: ScriptedModel) -> None:
    assert "quotation mark is not closed" in error_of(asked.run("%%ask -r off --system Don't panic\nHello"))
    assert not model.requests


@pytest.mark.parametrize(
    ("cell", "prompt"),
    [
        ("%%ask -r off\r\nOne\r\nTwo\r\n", "One\r\nTwo"),
        ("%%ask -r off One\u2028Two\nThree", "One\u2028Two\nThree"),
        ("\n\n%%ask -r off\nOne", "One"),
        ("  %%ask -r off\n  One\n    Two", "One\n  Two"),
        ("%%ask -r off\n>>> x\nIn [1]: y\n    ...: z", ">>> x\nIn [1]: y\n    ...: z"),
    ],
)
def test_a_cell_is_taken_as_it_was_typed(asked: Notebook, model: ScriptedModel, cell: str, prompt: str) -> None:
    assert asked.run(cell).error is None
    assert model.requests[0].body["messages"][-1]["content"] == prompt


@pytest.mark.parametrize(
    "around", ["%%time\n%ask -r off Hello", "%%capture out\n%ask -r off Hello", "%time %ask -r off Hello"]
)
def test_other_magics_may_stand_around_it(asked: Notebook, model: ScriptedModel, around: str) -> None:
    assert asked.run(around).error is None
    assert model.requests[0].body["messages"][-1]["content"] == "Hello"


def test_files_lie_beside_the_notebook_wherever_its_code_has_gone(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("import os\nos.mkdir('sub')\nos.chdir('sub')")
    model.add(Turn("", [Call("run_python", {"code": "open('z.txt', 'w').write('z')"})]), Turn("There."))
    notebook.use(model)
    assert notebook.run("%%ask -r live -y\nGo").error is None  # made by the user's own kernel: where it works
    assert (notebook.folder / "sub" / "z.txt").exists()


@pytest.mark.docker
def test_the_link_to_a_file_fits_the_notebook(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("import os\nos.mkdir('sub')\nos.chdir('sub')")
    model.add(Turn("", [Call("run_python", {"code": "open('z.txt', 'w').write('z')"})]), Turn("There."))
    notebook.use(model)
    cell = notebook.run("%%ask\nGo")
    assert 'href="ask_files/z.txt"' in "".join(bundle.get("text/html", "") for bundle in cell.outputs)
    assert (notebook.folder / "ask_files/z.txt").read_text() == "z"


@pytest.mark.docker
def test_code_that_heeds_no_interrupt_is_ended_with_its_kernel(notebook: Notebook, model: ScriptedModel) -> None:
    deaf = "while True:\n    try:\n        sum(range(10**8))\n    except BaseException:\n        pass"
    model.add(Turn("", [Call("run_python", {"code": deaf})]))
    notebook.use(model)
    notebook.run("%skill sandbox start")
    notebook.interrupt_when(lambda: len(model.requests) == 1 and notebook_prints(notebook))
    assert error_of(notebook.run("%%ask\nGo")).startswith("AskInterrupted")
    model.add(Turn("", [Call("run_python", {"code": "1 + 1"})]), Turn("Two."))
    assert notebook.run("%%ask -o a\nAnd now?").error is None
    assert notebook.value("a.code[0].outcome") == "'ok'"


def notebook_prints(_: Notebook) -> bool:
    time.sleep(1)  # the code has begun by then; this frontend reads nothing meanwhile
    return True


def test_a_key_that_code_has_just_read_is_kept_back_too(
    notebook: Notebook, model: ScriptedModel, workdir: Path
) -> None:
    (workdir / ".env").write_text("fresh-Zx8-value-41")
    code = "import os\nos.environ['FRESH_API_KEY'] = open('.env').read()\nprint(os.environ['FRESH_API_KEY'])"
    model.add(Turn("", [Call("run_python", {"code": code})]), Turn("Read."))
    notebook.use(model)
    assert notebook.run("%%ask -r live -y\nRead it").error is None
    assert "fresh-Zx8-value-41" not in str([request.body for request in model.requests])


def test_a_dry_run_with_a_loaded_skill_that_broke_says_what_is_wrong_with_it(asked: Notebook) -> None:
    folder = write_skill(asked.folder / ".agents" / "skills", "mine")
    asked.run("%skill load mine")
    (folder / "SKILL.md").write_text("broken")
    assert "The skill 'mine' is left out" in error_of(asked.run("%%ask --dry-run -r off -s mine\nHello"))


def test_the_last_answer_can_be_asked_about_in_the_cell_that_replaces_it(asked: Notebook, model: ScriptedModel) -> None:
    asked.run("%%ask -r off -o a\nHello")
    assert asked.run("%%ask -r off -o a\nSay more than $`a.text`").error is None
    assert model.requests[-1].body["messages"][-1]["content"] == "Say more than Ok."


def test_a_dry_run_loads_no_skill(asked: Notebook) -> None:
    assert asked.run("%%ask --dry-run -r off -s gif-maker\nHello").error is None
    assert "gif-maker" not in asked.run("%skill list").stdout
