"""Runs LiteLLM's skills hook and ours side by side, and writes docs/litellm-defects.md from what came of it.

With --check it runs nothing, and compares the page with what the tests expect of each run. Needs Docker otherwise.

Usage: python scripts/litellm_differential.py [--check]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "litellm-defects.md"

sys.path.insert(0, str(ROOT))

from tests.litellm_hook.scenarios import HOLDS  # noqa: E402 -- found by the path
from tests.litellm_hook.scenarios_table import ALL, page  # noqa: E402
from tests.litellm_hook.sides import Ours, Theirs, their_image  # noqa: E402


def expected() -> str:
    """The page as the tests expect it."""
    return page({each.name: each.theirs for each in ALL}, {each.name: HOLDS for each in ALL})


def run() -> str:
    """The page of a run."""
    theirs, ours = {}, {}
    with their_image():
        for each in ALL:
            theirs[each.name] = asyncio.run(each.outcome(Theirs))
            ours[each.name] = asyncio.run(each.outcome(Ours))
            print(f"{each.number:>2} {each.name}: {theirs[each.name]} | {ours[each.name]}", flush=True)
    return page(theirs, ours)


if __name__ == "__main__":
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") != expected():
            sys.exit("docs/litellm-defects.md is out of date: run 'python scripts/litellm_differential.py'")
    else:
        found = run()
        TARGET.write_text(found, encoding="utf-8")
        if found != expected():
            sys.exit("The run is not what tests/litellm_hook/ expects: bring the scenarios up to date as well")
