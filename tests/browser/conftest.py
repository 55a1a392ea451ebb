"""A real JupyterLab, and Chromium before it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.server.jupyter import TOKEN, jupyter

expect.set_options(timeout=30_000)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Lab:
    """A JupyterLab server.

    Args:
        url: Its address.
        folder: The folder it serves.
    """

    url: str
    folder: Path

    def add(self, name: str, cells: list[str]) -> None:
        """Puts a notebook of code cells into the folder."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.folder / name)


@pytest.fixture(scope="module")  # Playwright keeps an event loop running: not into the next module, which may await
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:  # the distribution's Chromium, else the one that Playwright brought
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    settings = tmp_path / "settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    folder = tmp_path / "work"
    folder.mkdir()
    with jupyter("lab", folder, {**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings")}) as url:
        yield Lab(url, folder)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1180, "height": 1000})
    page.set_default_timeout(60_000)
    yield page
    page.close()


def open_notebook(page: Page, lab: Lab, name: str) -> None:
    """Opens a notebook and waits until its kernel is ready."""
    # Before its session is there a notebook seems idle too, and would ask for a kernel when it is run.
    with page.expect_response(lambda response: "/api/sessions" in response.url and response.status == 201):
        page.goto(f"{lab.url}/lab/tree/{name}?token={TOKEN}")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    expect(page.get_by_text("| Idle")).to_be_visible()


def run_all(page: Page) -> None:
    """Runs all cells, as a user does."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


def wait_until_idle(page: Page) -> None:
    """Waits until no cell has a star before it."""
    page.wait_for_function(
        "() => document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"
        " && ![...document.querySelectorAll('.jp-InputPrompt')].some(prompt => prompt.textContent.includes('*'))"
    )
