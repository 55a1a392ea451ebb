"""``jupyter skills …`` as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from jupyter_skills.sandbox.engine import Engine

BASE = "jupyter-skills-test-base:none"


def skills(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jupyter", "skills", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_help_and_version_are_given() -> None:
    assert "sandbox" in skills("--help").stdout
    assert skills("--version").stdout.startswith("0.1.0")


@pytest.mark.parametrize("words", [(), ("fly",), ("sandbox",), ("sandbox", "fly"), ("sandbox", "build", "--fly")])
def test_wrong_words_are_wrong_usage(words: tuple[str, ...]) -> None:
    done = skills(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")


@pytest.mark.docker
def test_status_says_what_is_there() -> None:
    done = skills("sandbox", "status")
    assert done.returncode == 0
    assert "jupyter-skills-sandbox:latest: ready" in done.stdout
    missing = skills("sandbox", "status", "--image", "nothing:here")
    assert missing.returncode == 2
    assert "nothing:here: missing" in missing.stdout
    assert "Build the image with" in missing.stdout


def test_without_an_engine_one_line_says_so() -> None:
    for deed in ("build", "status"):
        done = skills("sandbox", deed, DOCKER_HOST="unix:///nowhere.sock")
        assert done.returncode == 2
        assert done.stderr.startswith("error: No Docker engine answers")
        assert done.stderr.count("\n") == 1
    assert skills("sandbox", "status", "--quiet", DOCKER_HOST="unix:///nowhere.sock").stderr == ""


@pytest.mark.docker
def test_a_build_that_fails_says_why_and_leaves_the_old_image_in_use() -> None:
    before = Engine().image_labels("jupyter-skills-sandbox:latest")
    done = skills("sandbox", "build", "--base", BASE)
    assert done.returncode == 1
    assert "could not be built" in done.stderr
    assert "--base" in done.stderr
    assert done.stderr.count("\n") == 1
    assert Engine().image_labels("jupyter-skills-sandbox:latest") == before
