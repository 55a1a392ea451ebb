"""Eighteen defects of LiteLLM's own skills hook: none of them is one of ours, and each is really there in LiteLLM's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.litellm_hook.scenarios import HOLDS, Scenario
from tests.litellm_hook.scenarios_table import ALL
from tests.litellm_hook.sides import Ours, Theirs, their_image

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def executors_image() -> Iterator[None]:
    """The image of LiteLLM's executor."""
    with their_image():
        yield


def each_scenario() -> list[object]:
    return [pytest.param(each, id=each.name, marks=[pytest.mark.docker] * each.docker) for each in ALL]


@pytest.mark.parametrize("scenario", each_scenario())
async def test_ours_does_right(scenario: Scenario) -> None:
    assert await scenario.outcome(Ours) == HOLDS


@pytest.mark.parametrize("scenario", each_scenario())
async def test_litellms_does_what_the_page_says(scenario: Scenario, request: pytest.FixtureRequest) -> None:
    if scenario.docker:
        request.getfixturevalue("executors_image")
    assert await scenario.outcome(Theirs) == scenario.theirs


def test_every_one_of_the_eighteen_defects_has_a_scenario() -> None:
    assert {each.number for each in ALL} == set(range(1, 19))


def test_the_page_tells_what_these_tests_find() -> None:
    script = ROOT / "scripts" / "litellm_differential.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
