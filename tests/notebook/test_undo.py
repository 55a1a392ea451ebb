"""``%skill undo`` after live code: what comes back, what is said of the rest, and what the model hears of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.frontend import Cell, Notebook


class Worker:
    """A notebook whose model runs code in it.

    Args:
        notebook: The notebook.
        model: The model.
    """

    def __init__(self, notebook: Notebook, model: ScriptedModel) -> None:
        self.notebook = notebook
        self.model = model

    def has_run(self, code: str) -> Cell:
        """Has the model run code, with consent."""
        self.model.add(Turn("", [Call("run_python", {"code": code})]), Turn("Done."))
        cell = self.notebook.run("%%ask -r live -y\nGo")
        assert cell.error is None
        return cell

    def undo(self, words: str = "") -> str:
        """What ``%skill undo`` says."""
        cell = self.notebook.run(f"%skill undo {words}")
        assert cell.error is None
        return cell.stdout

    def asked(self) -> str:
        """What the model gets with the next prompt."""
        self.model.add(Turn("Ok."))
        assert self.notebook.run("%%ask -r off\nAnd now?").error is None
        return str(self.model.requests[-1].body["messages"][-1]["content"])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with Notebook(tmp_path_factory.mktemp("undo")) as notebook:
        notebook.run("%load_ext jupyter_skills")
        yield notebook


@pytest.fixture
def worker(kernel: Notebook, model: ScriptedModel) -> Worker:
    kernel.run("%skill reset\nget_ipython().jupyter_skills._history = None")
    kernel.use(model)
    return Worker(kernel, model)


def test_what_live_code_did_to_variables_is_taken_back(worker: Worker, kernel: Notebook) -> None:
    kernel.run(
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ntotal, kept, gone = 1, [1], 'text'\nalias = kept"
    )
    worker.has_run("df['b'] = 0\ntotal = 5\nkept.append(2)\ndel gone\nnew = 1")
    assert worker.undo().splitlines() == [
        "df     its contents are back  DataFrame, 2 x 1",
        "total  what it was            int 1",
        "kept   its contents are back  list, 1 item",
        "gone   back                   str, 4 characters",
        "alias  its contents are back  list, 1 item",
        "new    gone again",
    ]
    assert kernel.value("(list(df), total, kept, alias is kept, gone, 'new' in globals())") == (
        "(['a'], 1, [1], True, 'text', False)"
    )


def test_once_more_takes_back_the_code_before_that(worker: Worker, kernel: Notebook) -> None:
    kernel.run("steps = []")
    worker.has_run("steps.append(1)")
    worker.has_run("print('nothing of yours')")
    worker.has_run("steps.append(2)")
    worker.undo()
    assert kernel.value("steps") == "[1]"
    worker.undo()
    assert kernel.value("steps") == "[]"
    assert worker.undo() == "No code in this kernel has changed a variable that could be given back.\n"


def test_what_the_user_has_assigned_since_is_theirs_unless_they_say_otherwise(worker: Worker, kernel: Notebook) -> None:
    kernel.run("mine, other = 1, 1")
    worker.has_run("mine, other = 2, 2")
    kernel.run("mine = 3")
    said = worker.undo()
    assert "mine: it has been assigned anew since" in said
    assert "--force" in said
    assert kernel.value("mine, other") == "(3, 1)"
    worker.undo("--force")
    assert kernel.value("mine, other") == "(1, 1)"


def test_forced_after_it_left_something_it_is_about_that_and_says_so_of_the_right_code(
    worker: Worker, kernel: Notebook
) -> None:
    kernel.run("older, newer = 1, 1")
    worker.has_run("older = 2\nopen('older.txt', 'w').close()")
    worker.has_run("newer = 2\nopen('newer.txt', 'w').close()")
    kernel.run("newer = 3")
    assert "newer.txt" in worker.undo()
    said = worker.undo("--force")
    assert "newer.txt" in said
    assert "older.txt" not in said
    assert "--force" not in said
    assert kernel.value("older, newer") == "(2, 1)"


def test_it_says_what_it_can_not_take_back(worker: Worker, kernel: Notebook) -> None:
    kernel.run("lines = open('lines.txt', 'w+')\nn = 0")
    worker.has_run("lines.write('more')\nopen('made.txt', 'w').close()\nn = 1")
    said = worker.undo()
    assert "n  what it was  int 0\n" in said
    assert "Outside of the variables, and not taken back:\n  Writes files" in said
    assert "open('made.txt', 'w') (line 2)" in said
    kernel.run("lines.close()")


def test_what_was_too_large_to_be_copied_is_named_and_the_rest_comes_back(worker: Worker, kernel: Notebook) -> None:
    kernel.run("import numpy as np\nlarge = np.zeros(2_000_000)\nsmall = [1]\n%config JupyterSkills.undo_memory = 1")
    worker.has_run("large[:] = 1\nsmall.append(2)")
    said = worker.undo()
    assert "large: ndarray, 2,000,000 float64, 16.0 MB: it was too large to be copied" in said
    assert kernel.value("small, large.sum()") in ("([1], 2000000.0)", "([1], np.float64(2000000.0))")
    kernel.run("%config JupyterSkills.undo_memory = 256\ndel large")


def test_the_model_is_told_with_the_next_prompt_and_once_only(worker: Worker, kernel: Notebook) -> None:
    kernel.run("x = 1")
    worker.has_run("x = 2")
    worker.undo()
    assert worker.asked() == "[The user has taken back what your code did to these variables: x.]\n\nAnd now?"
    assert worker.asked() == "And now?"


def test_a_turn_that_ran_nothing_here_is_no_step(worker: Worker, kernel: Notebook) -> None:
    kernel.run("x = 1")
    worker.model.add(Turn("", [Call("load_skill", {"name": "gif-maker"})]), Turn("Read."))
    assert kernel.run("%%ask -r off -s gif-maker\nRead").error is None
    assert worker.undo().startswith("No code")
