"""Kernels of more than one ipykernel: 7.4 brings a widget's click to another place than those before it did."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

_OLDER = "7.3"


@pytest.fixture(scope="session")
def older_ipykernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an ipykernel of the line before the one that is installed; put on PYTHONPATH it comes first."""
    folder = tmp_path_factory.mktemp("ipykernel") / _OLDER
    wanted = ["--no-deps", "--target", str(folder), f"ipykernel=={_OLDER}.*"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, *wanted], check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture(scope="session", params=[_OLDER, "installed"], ids="ipykernel-{}".format)
def kernel_environment(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """What to add to the environment of a kernel, for each ipykernel: ``Notebook(folder, environment=…)``."""
    if request.param == "installed":
        return {}
    folder = request.getfixturevalue("older_ipykernel")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}
