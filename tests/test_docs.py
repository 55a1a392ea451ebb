"""What the documents say is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_skills import Skill, validate
from jupyter_skills.runtime import call_tool

ROOT = Path(__file__).parents[1]


def test_the_reference_is_up_to_date() -> None:
    script = ROOT / "scripts" / "reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "page",
    ["README.md", "CHANGELOG.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))],
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_commands_of_the_readme_are_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("scripts/quickstart", "scripts/test"):
        assert f"\n    {command}\n" in readme
        assert (ROOT / command).stat().st_mode & 0o111


async def test_the_skill_of_the_page_on_skills_works_as_it_is_printed(tmp_path: Path) -> None:
    blocks = dict(
        re.findall(r"^```(markdown|yaml|python)\n(.*?)^```", (ROOT / "docs/skills.md").read_text(), re.M | re.S)
    )
    folder = tmp_path / "growth-plots"
    for name in ("references", "scripts"):
        (folder / name).mkdir(parents=True)
    (folder / "SKILL.md").write_text(blocks["markdown"].replace("\n---\n", f"\n{blocks['yaml']}---\n", 1))
    (folder / "tools.py").write_text(blocks["python"])
    (folder / "units.py").write_text("def in_grams(value, unit):\n    return value * {'g': 1, 'kg': 1000}[unit]\n")
    (folder / "references/units.md").write_text("Grams.")
    (folder / "scripts/plot.py").write_text("")
    report = validate(folder)
    assert [problem.rule for problem in report.problems] == ["unknown-field"], "that is 'tools:', as the page says"
    plot, doubling = Skill.from_path(folder).tools
    assert (plot.name, plot.timeout, plot.parameters["required"]) == ("plot", 60, ["table"])
    arguments, complaints = doubling.checked({"first": 1, "last": 2.0, "hours": 3})
    assert complaints == []
    assert float(await call_tool(str(folder), doubling.function, arguments)) == 3.0
