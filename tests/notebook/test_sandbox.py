"""What a notebook's user does with its sandbox: files, variables and packages; with real containers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.docker.image.derived import derived_images
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import until, write_skill
from tests.frontend import Notebook
from tests.server.jupyter import TOKEN, fetch, jupyter

pytestmark = pytest.mark.docker

USAGE = {
    "%skill sandbox put": "a file is missing. Say which.",
    "%skill sandbox install": "a package is missing. Say which.",
    "%skill sandbox stop now": "'now' is one word too many. Leave it out.",
    "%skill sandbox fly": "invalid choice: 'fly'",
    "%skill sandbox put nothing.csv": "There is no file 'nothing.csv'",
    "%skill sandbox get nothing.csv": "There is no file 'nothing.csv' in the sandbox",
    "%skill sandbox install ./here": "'./here'",
    "%skill sandbox install --index-url http://x six": "See '%skill sandbox --help'",
    "%%ask -m openai/none --send nothing\nHello": "There is no variable 'nothing' to send",
    "%%ask -m openai/none -r off --send x\nHello": "--send and --get need the sandbox, and code runs in 'off' here",
}


@pytest.mark.parametrize(("cell", "said"), USAGE.items(), ids=USAGE)
def test_words_that_make_no_sense_are_explained_in_one_line(notebook: Notebook, cell: str, said: str) -> None:
    done = notebook.run(cell)
    assert done.error is not None
    assert said in done.error[1]
    assert "\n" not in done.error[1]


def test_files_go_in_and_come_out(notebook: Notebook, model: ScriptedModel) -> None:
    (notebook.folder / "data/deep").mkdir(parents=True)
    (notebook.folder / "data/a b.csv").write_text("x\n1\n")
    (notebook.folder / "data/deep/c.csv").write_text("y\n2\n")
    put = notebook.run("%skill sandbox put data")
    assert put.stdout == "Put data into /work of the sandbox (2 files).\n"
    model.add(
        Turn("", [Call("run_shell", {"command": "cat 'data/a b.csv' data/deep/c.csv > all.csv; ls -R"})]), Turn("Done.")
    )
    notebook.use(model)
    assert notebook.run("%%ask -o answer\nJoin them").error is None
    assert notebook.value("[file.path for file in answer.files]") == "['all.csv']"
    assert notebook.run("%skill sandbox get all.csv data").stdout.splitlines() == [
        "Saved all.csv.",
        "Saved data/a b.csv.",
        "Saved data/deep/c.csv.",
    ]
    (notebook.folder / "all.csv").write_text("mine")
    assert notebook.run("%skill sandbox get all.csv").stdout == "Saved all-2.csv.\n", "nothing is overwritten"


def test_variables_are_sent_and_fetched_by_copy(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("import numpy as np\nweights = np.arange(6.0).reshape(2, 3)\nnames = ['a', 'b']")
    (notebook.folder / "more.txt").write_text("more")
    code = "total = weights.sum(); weights[:] = 0; open('note.txt', 'w').write(open('more.txt').read() + str(names))"
    model.add(Turn("", [Call("run_python", {"code": code})]), Turn("Done."))
    notebook.use(model)
    asked = notebook.run("%%ask --send weights --send names --send more.txt --get total --get note.txt\nSum them")
    assert asked.error is None, asked.error
    assert (
        "The user has put into the container: the variable weights (ndarray, 2 x 3), the variable names (list of 2), "
        "the file more.txt."
    ) in model.requests[0].body["messages"][0]["content"]
    assert notebook.value("float(total), float(weights.sum())") == "(15.0, 15.0)", "the notebook's own is as it was"
    assert (notebook.folder / "note.txt").read_text() == "more['a', 'b']"


def test_a_variable_that_is_not_there_fails_the_cell_when_the_answer_is_shown(
    notebook: Notebook, model: ScriptedModel
) -> None:
    model.add(Turn("The answer."))
    notebook.use(model)
    asked = notebook.run("%%ask --get total\nSum them")
    assert "The answer." in asked.plain
    assert asked.error is not None
    assert asked.error[1].startswith("There is no variable 'total' in the sandbox.")


@pytest.fixture
def images() -> Iterator[None]:
    """No image has the packages of these tests, before and after: one left by an earlier run would be used unbuilt."""

    def remove() -> None:
        for image in derived_images(engine):
            if image.requirements == ("iniconfig",):
                engine.remove_image(image.name)

    engine = Engine()
    remove()
    yield
    remove()
    engine.close()


@pytest.mark.usefixtures("images")
def test_packages_are_installed_by_hand_and_are_there_from_then_on(notebook: Notebook) -> None:
    installed = notebook.run("%skill sandbox install iniconfig numpy")
    assert installed.error is None, installed.error
    assert "Installing iniconfig: " in installed.stdout, "progress is told"
    last = installed.stdout.splitlines()[-1]
    assert last == "The isolated kernel has iniconfig now."
    assert "Installed for it: iniconfig." in notebook.run("%skill sandbox").stdout
    again = notebook.run("%skill sandbox install iniconfig").stdout
    assert again == "The isolated kernel has iniconfig already.\n"
    failed = notebook.run("%skill sandbox install no-such-package-anywhere")
    assert failed.error is not None
    assert "No matching distribution found for no-such-package-anywhere" in failed.error[1]
    assert "Installed for it: iniconfig." in notebook.run("%skill sandbox").stdout, "what was there stays"


@pytest.mark.usefixtures("images")
def test_a_skill_has_the_packages_that_it_declares(notebook: Notebook, model: ScriptedModel) -> None:
    folder = write_skill(notebook.folder, "mine")
    (folder / "requirements.txt").write_text("numpy\niniconfig\n")
    first = (
        "x = 1; given += 1; open('note.txt', 'w').write('kept')\n"
        "import importlib.util; print(importlib.util.find_spec('iniconfig'))"
    )
    model.add(
        Turn("", [Call("run_python", {"code": first}), Call("load_skill", {"name": "mine"})]),
        Turn(
            "",
            [
                Call(
                    "run_python",
                    {"code": "import iniconfig; print('has it', 'x' in dir()); print(open('note.txt').read(), given)"},
                )
            ],
        ),
        Turn("Done."),
    )
    notebook.use(model)
    notebook.run("%skill load ./mine\ngiven = 2")
    assert notebook.run("%%ask --send given\nGo").error is None
    results = [message["content"] for message in model.requests[2].body["messages"] if message["role"] == "tool"]
    assert results[0].startswith("run_python: ok\n\nNone\n\nFiles made")
    assert results[2] == (
        "run_python: ok\n\nhas it False\nkept 3\n\nThe isolated kernel was started afresh to have iniconfig. "
        "Its files are kept, and the variables that the user sent (given); all other variables are gone."
    )


def test_a_skill_whose_packages_can_not_be_had_goes_on_without_and_that_is_said(
    notebook: Notebook, model: ScriptedModel
) -> None:
    folder = write_skill(notebook.folder, "mine")
    (folder / "requirements.txt").write_text("no-such-package-anywhere\n-e .\n")
    run = Call("run_python", {"code": "print('on')"})
    model.add(Turn("", [Call("load_skill", {"name": "mine"})]), Turn("", [run]), Turn("", [run]), Turn("Done."))
    notebook.use(model)
    loaded = notebook.run("%skill load ./mine").stdout
    assert "requirements.txt, line 2: '-e .' holds an option of the installer" in loaded
    assert notebook.run("%%ask\nGo").error is None
    said = [message["content"] for message in model.requests[3].body["messages"] if message["role"] == "tool"]
    assert said[1].startswith("run_python: ok\n\non\n\nWhat 'mine' needs could not be installed: ")
    assert "No matching distribution found for no-such-package-anywhere" in said[1]
    assert said[2] == "run_python: ok\n\non", "it is tried, and said, once"


def test_what_met_a_limit_is_named_on_its_card(notebook: Notebook, model: ScriptedModel) -> None:
    greedy = "b = bytearray(3 * 2**30); b[::4096] = b'x' * len(b[::4096])"
    model.add(Turn("", [Call("run_python", {"code": greedy})]), Turn("Done."))
    notebook.use(model)
    asked = notebook.run("%%ask -o answer\nGo")
    assert "out of memory" in asked.plain
    assert "ran out of memory and was ended (the limit is 1g)" in asked.plain
    told = model.requests[1].body["messages"][-1]["content"]
    assert told.endswith("All variables and files of earlier calls are gone.")


def test_settings_of_the_sandbox_hold_from_its_next_start(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("%config DockerSandbox.memory = '256m'")
    files = "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"
    code = f"from pathlib import Path\n[Path(file).read_text() for file in {files} if Path(file).exists()]"
    model.add(Turn("", [Call("run_python", {"code": code})]), Turn("Done."))
    notebook.use(model)
    notebook.run("%%ask\nGo")
    assert str(256 * 1024**2) in json.dumps(model.requests[1].body)


def test_a_control_to_waive_that_is_none_is_a_mistake_that_is_explained(notebook: Notebook) -> None:
    notebook.run("%config DockerSandbox.waive = ['no-swop']")
    failed = notebook.run("%skill sandbox start")
    assert failed.error is not None
    assert "Did you mean no-swap" in failed.error[1]


@pytest.mark.parametrize("setting", ["runtime = 'nothing'", "memory = 'much'", "network = ['not a host']"])
def test_a_setting_that_makes_no_sense_is_one_line_at_the_start(notebook: Notebook, setting: str) -> None:
    notebook.run(f"%config DockerSandbox.{setting}")
    failed = notebook.run("%skill sandbox start")
    assert failed.error is not None
    assert "\n" not in failed.error[1]


def test_isolated_code_may_run_on_another_jupyter_server(notebook: Notebook, model: ScriptedModel) -> None:
    with jupyter("server", notebook.folder, os.environ) as url:
        notebook.run(f"%config RemoteSandbox.server = '{url}'\n%env JUPYTER_GATEWAY_AUTH_TOKEN={TOKEN}")
        code = "import os; print(os.environ['HOSTNAME'], os.getuid()); open('made.txt', 'w').write('there')"
        model.add(
            Turn("", [Call("run_python", {"code": code}), Call("run_shell", {"command": "cat made.txt"})]),
            Turn("Done."),
        )
        notebook.use(model)
        asked = notebook.run("%%ask -o answer\nGo")
        assert asked.error is None, asked.error
        assert notebook.value("[file.data for file in answer.files]") == "[b'there']"
        assert "sandbox 10001" in asked.plain
        assert len(json.loads(fetch(f"{url}/api/kernels", TOKEN)[1])) == 1
        notebook.run("%skill sandbox stop")
        assert json.loads(fetch(f"{url}/api/kernels", TOKEN)[1]) == []


def test_a_server_that_is_not_there_is_one_line(notebook: Notebook) -> None:
    notebook.run("%config RemoteSandbox.server = 'http://127.0.0.1:9'")
    failed = notebook.run("%skill sandbox start")
    assert failed.error is not None
    assert "127.0.0.1:9" in failed.error[1]
    assert "\n" not in failed.error[1]
    notebook.run("%config RemoteSandbox.provider = 'e2b'")
    both = notebook.run("%unload_ext jupyter_skills\n%load_ext jupyter_skills\n%skill sandbox start")
    assert both.error is not None
    assert "both a server and a provider" in both.error[1]


def test_a_failing_get_does_not_cost_the_answer(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(Turn("Paid for."))
    notebook.use(model)
    assert notebook.run("%%ask -o answer --get total\nGo").error is not None
    assert notebook.value("answer.text") == "'Paid for.'"


def test_folders_and_files_without_a_dot_are_fetched_by_their_names(notebook: Notebook, model: ScriptedModel) -> None:
    code = "mkdir results; echo a > results/a; echo r > README"
    model.add(
        Turn("", [Call("run_shell", {"command": code}), Call("run_python", {"code": "results2 = 5"})]), Turn("Done.")
    )
    notebook.use(model)
    asked = notebook.run("%%ask --get results --get README --get results2 --get ./results/a\nGo")
    assert asked.error is None, asked.error
    assert asked.stdout.splitlines() == ["Saved results/a.", "Saved README.", "Saved results/a."]
    assert notebook.value("results2") == "5"
    outside = notebook.run("%skill sandbox get ../etc/passwd").error
    assert outside is not None
    assert "There is no file '../etc/passwd' in the sandbox" in outside[1]


def test_variables_are_not_sent_where_nothing_can_use_them(notebook: Notebook) -> None:
    notebook.run("x = 1\n%config JupyterSkills.run = 'live'\n%config JupyterSkills.model = 'openai/none'")
    failed = notebook.run("%%ask --send x\nGo")
    assert failed.error is not None
    assert "--send and --get need the sandbox, and code runs in 'live' here. Say '-r docker'." in failed.error[1]


def test_unloading_the_extension_ends_all_that_was_kept_ready(notebook: Notebook) -> None:
    notebook.run("%config DockerSandbox.pool_size = 1\nget_ipython().jupyter_skills.sandbox.prepare()")
    owner = notebook.value("__import__('os').getpid()")
    engine = Engine()
    until(lambda: engine.containers(owner=owner), within=30)
    notebook.run("%unload_ext jupyter_skills")
    until(lambda: not engine.containers(owner=owner))
    engine.close()
