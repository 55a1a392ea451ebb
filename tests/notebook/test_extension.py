"""Loading and unloading the extension."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontend import Notebook


@pytest.fixture
def bare(workdir: Path) -> Notebook:
    """A kernel without the extension."""
    with Notebook(workdir) as notebook:
        yield notebook


WATCHED_LOAD = """
import sys
met = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        met.append(args)
sys.addaudithook(watch)
%load_ext jupyter_skills
loaded = [name for name in ("litellm", "docker", "sqlalchemy", "PIL") if name in sys.modules]
"""


def test_loading_prints_nothing_connects_nowhere_and_imports_nothing_heavy(bare: Notebook) -> None:
    cell = bare.run(WATCHED_LOAD)
    assert (cell.stdout, cell.stderr, cell.outputs, cell.error) == ("", "", [], None)
    assert bare.value("met, loaded") == "([], [])"


def test_loading_twice_is_loading_once_and_unloading_leaves_the_shell_as_it_was(bare: Notebook) -> None:
    state = """
shell = get_ipython()
def state():
    return (
        sorted(shell.magics_manager.magics["line"]), sorted(shell.magics_manager.magics["cell"]),
        [type(c).__name__ for c in shell.configurables], len(shell.input_transformers_cleanup),
        hasattr(shell, "jupyter_skills"), sorted(shell.magics_manager.registry),
    )
before = state()
"""
    bare.run("%unload_ext nothing")  # IPython's own magics for that are loaded at their first use
    bare.run(state)
    for _ in range(2):
        bare.run("%load_ext jupyter_skills\nfirst = state()\n%reload_ext jupyter_skills\nassert state() == first")
        assert bare.value("'ask' in first[1], 'skill' in first[0], first[2][-4:]") == (
            "(True, True, ['SkillMagics', 'JupyterSkills', 'DockerSandbox', 'RemoteSandbox'])"
        )
        assert bare.run("%unload_ext jupyter_skills").error is None
        assert bare.value("state() == before") == "True"


def test_another_ask_is_named_once_and_comes_back(bare: Notebook) -> None:
    bare.run(
        "from IPython.core.magic import register_cell_magic\n@register_cell_magic\ndef ask(line, cell): print('mine')"
    )
    cell = bare.run("%load_ext jupyter_skills")
    assert cell.stderr.count("%%ask of another extension is replaced by jupyter_skills") == 1
    assert "Traceback" not in cell.stderr
    bare.run("%unload_ext jupyter_skills")
    assert bare.run("%%ask\nx").stdout == "mine\n"


def test_the_other_project_of_the_same_import_name_is_pointed_out(bare: Notebook) -> None:
    metadata = bare.folder / "jupyter_skills-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: jupyter-skills\nVersion: 0.1.0\n")
    bare.run("import sys; sys.path.append('')")
    cell = bare.run("%load_ext jupyter_skills")
    assert "pip uninstall jupyter-skills" in cell.stderr
    assert cell.error is None


def test_settings_are_seen_and_set_by_config(bare: Notebook) -> None:
    bare.run("%load_ext jupyter_skills")
    listing = bare.run("%config JupyterSkills").stdout
    assert all(name in listing for name in ("model", "api_base", "run", "approval", "max_steps"))
    bare.run("%config DockerSandbox.memory = '512m'")
    assert bare.value("get_ipython().jupyter_skills.limits.memory") == "'512m'"


def test_a_call_from_code_works_where_nothing_awaits(notebook: Notebook) -> None:
    from jupyter_skills.testing import Call, ScriptedModel, Turn

    with ScriptedModel([Turn("", [Call("run_python", {"code": "6 * 7"})]), Turn("42.")]) as model:
        notebook.use(model)
        cell = notebook.run("if True:\n    get_ipython().run_cell_magic('ask', '-o a', 'What is it?')")
    assert cell.error is None
    assert notebook.value("a.text") == "'42.'"
