"""A skill's tool that imports a file of the skill under the name of a library."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.agent.executor import Code, importable, with_source
from jupyter_skills.look import look
from jupyter_skills.notebook.consent.facts import Facts, facts_of
from jupyter_skills.skills.skill import Skill

CALLS = "import jupyter_skills.runtime\nawait jupyter_skills.runtime.call_tool('/a', 'draw', {})"
RUNS = "import jupyter_skills.runtime\n" + (
    "jupyter_skills.runtime.run_script('/a', 'scripts/draw.py', [], interpreter='python')"
)
DRAWS = "import seaborn\n\ndef draw():\n    return seaborn.color_palette()\n"


def skill_of(folder: Path, **files: str) -> Skill:
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: plots\ndescription: Draws.\n---\nDraw.\n")
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Skill.from_path(folder)


def asked(skill: Skill, code: str) -> Facts:
    request = with_source(Code("draw", "python", code, skill.name, skill.digest).request, [skill])
    return facts_of(InteractiveShell(), request)


def test_a_tool_that_imports_a_known_library_is_no_risk(tmp_path: Path) -> None:
    assert asked(skill_of(tmp_path / "plots", tools=DRAWS), CALLS).risks == ()


@pytest.mark.parametrize("own", ["seaborn", "seaborn__inner", "seaborn__deep__er"])
def test_what_the_skill_calls_seaborn_is_not_taken_for_seaborn(tmp_path: Path, own: str) -> None:
    skill = skill_of(tmp_path / "plots", tools=DRAWS, **{own: "import os"})
    assert "seaborn" in importable(skill, "tools.py")
    facts = asked(skill, CALLS)
    assert facts.risks == ("Does what can't be seen from here: import seaborn (line 1).",)
    assert ("not seen", ("imports 'seaborn', which is the skill's own file (line 1)",)) in facts.rows


def test_a_script_finds_what_lies_beside_it_and_at_the_top(tmp_path: Path) -> None:
    skill = skill_of(tmp_path / "plots", scripts__draw=DRAWS, scripts__seaborn="", json="", other__pandas="")
    assert set(importable(skill, "scripts/draw.py")) == {"draw", "seaborn", "json", "scripts", "other"}
    assert any("import seaborn" in risk for risk in asked(skill, RUNS).risks)


@pytest.mark.parametrize(
    "code",
    [
        *("import seaborn as s", "import seaborn.a.b", "from seaborn import x", "from seaborn.x import y"),
        *("__import__('seaborn')", "import importlib\nimportlib.import_module('seaborn.x')"),
        "def f():\n    import pandas, seaborn",
    ],
)
def test_each_way_to_import_it_is_seen(code: str) -> None:
    assert look(code).complete
    assert not look(code, own=("seaborn",)).complete
    assert not look(code, {"seaborn"}, {"seaborn": "seaborn"}, own=("seaborn",)).complete
    assert look(code, own=("other",)).complete
