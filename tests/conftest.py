"""What the tests share: a home of their own, the scripted model, and real kernels, containers and browsers."""

from __future__ import annotations

import gc
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from jupyter_skills.cli import main
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.testing import ScriptedModel
from tests.frontend import Notebook
from tests.postgres import postgres, postgres_url

__all__ = ["postgres", "postgres_url"]  # fixtures, found by their names in this module

NO_HANG = pytest.mark.timeout(60)
"""For input made to keep a parser busy: without it a hang would only end with the whole run."""

Said = Callable[..., tuple[int, str, str]]
"""A command line's words, run; its status, and what it said on both streams."""

_LEAKING = ("_API_KEY", "_TOKEN", "JUPYTER_SKILLS_")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails: what CI asks for")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    if report.skipped and item.config.getoption("--no-skips") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and --no-skips was given: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.skipped and collector.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, and --no-skips was given: {report.longrepr}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Lets go of what litellm keeps for loops of tests that are over.

    It, and Python, would speak of that while the process ends, after pytest's last line.
    """
    for name in ("LiteLLM", "asyncio"):
        logging.getLogger(name).disabled = True
    if (aiohttp := sys.modules.get("aiohttp")) is None:
        return
    for kept in gc.get_objects():
        if issubclass(type(kept), aiohttp.ClientSession) and not kept.closed:
            kept.detach()
        elif issubclass(type(kept), aiohttp.BaseConnector):
            kept._conns.clear()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and nothing in the environment that could reach a provider."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if any(mark in name for mark in _LEAKING)]:
        monkeypatch.delenv(name)
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home if name == "HOME" else home / name.lower()))
    return home


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model server with an empty script."""
    with ScriptedModel() as model:
        yield model


@pytest.fixture
async def sandbox() -> AsyncIterator[IsolatedKernel]:
    """A sandbox that is not started yet."""
    sandbox = IsolatedKernel(DockerSandbox())
    yield sandbox
    await sandbox.stop()


@pytest.fixture
def notebook(workdir: Path) -> Iterator[Notebook]:
    """A real ipykernel in an empty folder, with the extension loaded."""
    with Notebook(workdir) as notebook:
        notebook.run("%load_ext jupyter_skills")
        yield notebook


@pytest.fixture
def engine() -> Iterator[Engine]:
    """The Docker engine."""
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def containers(engine: Engine) -> Callable[..., list[str]]:
    """Called for the ids of the sandboxes that a process owns; this one if none is named."""
    return lambda owner=None: [found.id for found in engine.containers(owner=str(owner or os.getpid()))]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command line in this process; gives its status and what it said."""

    def run(*words: str) -> tuple[int, str, str]:
        status = main(words)
        return status, *capsys.readouterr()

    return run


def write_skill(folder: Path, name: str, *, description: str = "Does a thing.", body: str = "Do it.") -> Path:
    """A minimal skill in ``folder / name``."""
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return folder / name


def until(condition: Callable[[], object], within: float = 10.0) -> float:
    """Asks until it is so; returns how many seconds that took, and fails if it never is."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within, "it did not come about in time"
        time.sleep(0.01)  # the world outside this process offers nothing to await
    return time.monotonic() - began
