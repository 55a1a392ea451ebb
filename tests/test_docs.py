"""What the documents say is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_reference_is_up_to_date() -> None:
    script = ROOT / "scripts" / "reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "docs/architecture.md", "docs/reference.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_commands_of_the_readme_are_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("scripts/quickstart", "scripts/test"):
        assert f"\n    {command}\n" in readme
        assert (ROOT / command).stat().st_mode & 0o111
