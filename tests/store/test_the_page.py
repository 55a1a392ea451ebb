"""The page on the store says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_skills.skills.files import MOST_BYTES, MOST_FILES
from jupyter_skills.store.location import default_file
from jupyter_skills.store.rows import MOST_ON_A_PAGE
from jupyter_skills.store.store import SkillStore
from tests.store.processes import a_skill

PAGE = Path(__file__).parents[2] / "docs/store.md"


def test_its_example_works_as_it_is_printed(workdir: Path) -> None:
    (example,) = (block for block in blocks("python") if "asyncio.run" in block)
    skill = a_skill("growth-plots", "Draws the growth of plants.")
    for path in skill.files():
        (workdir / "growth-plots" / path).parent.mkdir(parents=True, exist_ok=True)
        (workdir / "growth-plots" / path).write_bytes(skill.read(path))
    (workdir / "growth-plots-2.zip").write_bytes(a_skill("growth-plots", "Draws growth in colour.").to_zip())
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    first, hit, last = done.stdout.splitlines()
    assert re.fullmatch("skill_[0-9a-f]{32} growth-plots 1", first)
    assert hit.startswith("growth-plots ")
    assert "['SKILL.md', 'data/0.txt'" in last


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_it_names_every_method_of_the_store() -> None:
    text = PAGE.read_text(encoding="utf-8")
    methods = [name for name in vars(SkillStore) if not name.startswith("_") and name not in ("close", "url")]
    assert [name for name in methods if not re.search(rf"`[^`\n]*\b{name}\b|store\.{name}\(", text)] == []


def test_its_numbers_are_those_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for fact in (f"{MOST_FILES:,} files", f"{MOST_BYTES >> 20} MiB", f"{MOST_ON_A_PAGE:,} items", default_file().name):
        assert fact in text


def test_it_names_every_function_and_field_of_litellms_skills() -> None:
    pytest.importorskip("litellm")
    from litellm.llms.litellm_proxy.skills import (
        LiteLLMSkillsHandler,
        LiteLLMSkillsTransformationHandler,
        SkillPromptInjectionHandler,
    )
    from litellm.proxy._types import LiteLLM_SkillsTable

    theirs = {name for kind in (LiteLLMSkillsHandler, SkillPromptInjectionHandler) for name in public(kind)}
    theirs |= public(LiteLLMSkillsTransformationHandler) | set(LiteLLM_SkillsTable.model_fields)
    text = PAGE.read_text(encoding="utf-8")
    assert sorted(name for name in theirs if f"{name}`" not in text) == []


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}
