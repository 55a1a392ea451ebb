"""Where code runs: what the user says holds, and a skill can only make it stricter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from jupyter_skills.agent.router import own_place, place_for
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import write_skill
from tests.frontend import Notebook

PLACES = ("", "off", "docker", "live")

# What the user says down, what was chosen for the skill across: nothing, off, docker, live.
TRUSTED = {
    "": ("docker", "off", "docker", "live"),
    "off": ("off", "off", "off", "off"),
    "docker": ("docker", "off", "docker", "docker"),
    "live": ("live", "off", "docker", "live"),
}


@pytest.mark.parametrize(("cell", "setting", "skill", "trusted"), [*product(PLACES, PLACES, PLACES, (True, False))])
def test_the_place_of_a_skill_s_tools(cell: str, setting: str, skill: str, *, trusted: bool) -> None:
    expected = TRUSTED[cell or setting][PLACES.index(skill)]
    if not trusted and expected == "live":
        expected = "docker"
    assert place_for(cell, setting, skill, trusted=trusted) == expected


@pytest.mark.parametrize(
    ("cell", "setting", "skills", "place"),
    [
        ("", "", (), "docker"),
        ("", "", ("",), "docker"),
        ("", "", ("live",), "live"),
        ("", "", ("live", ""), "live"),
        ("", "", ("live", "docker"), "docker"),
        ("", "", ("live", "docker", "off"), "off"),
        ("", "live", ("docker",), "docker"),
        ("", "live", ("live",), "live"),
        ("", "docker", ("live",), "docker"),
        ("", "off", ("live",), "off"),
        ("live", "off", ("docker",), "live"),
        ("off", "live", ("live",), "off"),
        ("docker", "live", ("off",), "docker"),
    ],
)
def test_the_place_of_the_model_s_own_code(cell: str, setting: str, skills: tuple[str, ...], place: str) -> None:
    assert own_place(cell, setting, skills) == place


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with Notebook(tmp_path_factory.mktemp("routing")) as notebook:
        folder = write_skill(notebook.folder, "mine")
        (folder / "tools.py").write_text(
            "from jupyter_skills import tool\nimport os\n\n\n@tool\ndef where() -> int:\n    return os.getpid()\n"
        )
        write_skill(notebook.folder, "other")
        notebook.run("%load_ext jupyter_skills")
        yield notebook


def begin_anew(kernel: Notebook) -> None:
    kernel.run("%unload_ext jupyter_skills\nget_ipython().config.pop('JupyterSkills', None)\n%load_ext jupyter_skills")


def routed(kernel: Notebook, wanted: str | None) -> str:
    """Where the model's own code and the tools of the skill would run."""
    return kernel.value(
        "(lambda s: (lambda skills: (lambda r: (r.default and r.default.place,"
        " (lambda e: e and e.place)(r.for_tools_of(skills[0], skills[0].skill))))"
        f"(__import__('jupyter_skills.notebook.places', fromlist=['x']).Places(s).router({wanted!r}, skills)))"
        "(s.registry.refreshed()[0]))(get_ipython().jupyter_skills)"
    )


@pytest.mark.parametrize(
    ("setting", "run", "wanted", "places"),
    [
        (None, "", None, ("docker", "docker")),
        (None, "live", None, ("live", "live")),
        (None, "docker", "live", ("live", "docker")),
        (None, "off", "live", ("live", None)),
        ("docker", "live", None, ("docker", "docker")),
        ("live", "docker", None, ("docker", "docker")),
        ("live", "", None, ("live", "live")),
        ("off", "live", None, (None, None)),
        ("off", "live", "live", ("live", "live")),
        ("live", "live", "docker", ("docker", "docker")),
    ],
)
def test_what_is_set_and_said_in_a_notebook_is_what_counts(
    kernel: Notebook, setting: str | None, run: str, wanted: str | None, places: tuple[str | None, str | None]
) -> None:
    begin_anew(kernel)
    kernel.run("%skill trust ./mine")
    if setting:
        kernel.run(f"%config JupyterSkills.run = {setting!r}")
    assert kernel.run("%skill load ./mine" + (f" --run {run}" if run else "")).error is None
    assert routed(kernel, wanted) == repr(places)


def test_a_skill_that_says_nothing_does_not_follow_another_into_this_kernel(kernel: Notebook) -> None:
    begin_anew(kernel)
    kernel.run("%skill trust ./mine")
    kernel.run("%skill load ./mine\n%skill load ./other --run live")
    assert routed(kernel, None) == repr(("live", "docker"))


def test_an_untrusted_skill_does_not_run_here_whatever_was_said(kernel: Notebook) -> None:
    begin_anew(kernel)
    kernel.run("%skill untrust mine")
    kernel.run("%skill load ./mine --run live")
    assert [routed(kernel, wanted) for wanted in (None, "live")] == [repr(("live", "docker"))] * 2


def test_the_environment_counts_as_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_skills.settings import JupyterSkills

    assert JupyterSkills().place_set is None
    monkeypatch.setenv("JUPYTER_SKILLS_RUN", "docker")
    assert JupyterSkills().place_set == "docker"


@pytest.mark.docker
def test_a_skill_for_the_sandbox_runs_there_in_a_turn_whose_code_runs_live(
    kernel: Notebook, model: ScriptedModel
) -> None:
    begin_anew(kernel)
    kernel.run("%skill trust ./mine")
    kernel.run("%skill load ./mine --pin --run docker")
    model.add(Turn("", [Call("mine__where", {}), Call("run_python", {"code": "1"})]), Turn("Done."))
    kernel.use(model)
    cell = kernel.run("%%ask -r live -y -o answer\nWhere?")
    assert cell.error is None, cell.error
    assert kernel.value("[(run.tool, run.place) for run in answer.code]") == repr(
        [("mine__where", "docker"), ("run_python", "live")]
    )
