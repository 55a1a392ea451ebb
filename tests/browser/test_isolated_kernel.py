"""The isolated kernel as a person works with it in JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from jupyter_server.serverapp import list_running_servers
from playwright.sync_api import Page, expect

from tests.browser.conftest import Lab, open_notebook, wait_until_idle
from tests.conftest import until

pytestmark = [pytest.mark.browser, pytest.mark.docker]

CELLS = [
    "import os\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.title(f'by user {os.getuid()}')\nplt.show()",
    "print('x' in globals(), os.getuid() if 'os' in globals() else 'fresh')\nx = 1",
    "print('looping', flush=True)\nwhile True:\n    pass",
]


def test_it_is_chosen_run_interrupted_restarted_and_shut_down(
    lab: Lab, page: Page, containers: Callable[..., list[str]]
) -> None:
    lab.add("isolated.ipynb", CELLS)
    open_notebook(page, lab, "isolated.ipynb")
    (server,) = list_running_servers()
    menu(page, "Kernel", "Change Kernel…")
    dialog = page.locator(".jp-Dialog")
    dialog.locator("select").select_option(label="Python 3 (isolated)")
    dialog.get_by_role("button", name="Select").click()
    expect(page.get_by_text("Python 3 (isolated) | Idle")).to_be_visible()
    assert len(containers(server["pid"])) == 1

    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.nth(0).locator(".cm-line").first.click()
    page.keyboard.press("Shift+Enter")
    expect(cells.nth(0).locator(".jp-OutputArea img")).to_be_visible()
    assert cells.nth(0).locator("img").evaluate("image => [image.src.split(';')[0], image.naturalWidth > 300]") == [
        "data:image/png",
        True,
    ]
    page.keyboard.press("Shift+Enter")
    expect(cells.nth(1).locator(".jp-OutputArea")).to_contain_text("False 10001")
    page.keyboard.press("Shift+Enter")
    expect(cells.nth(2).locator(".jp-OutputArea")).to_contain_text("looping")
    if target := os.environ.get("SCREENSHOT"):
        page.screenshot(path=target)
    menu(page, "Kernel", "Interrupt Kernel")
    expect(cells.nth(2).locator(".jp-OutputArea")).to_contain_text("KeyboardInterrupt")
    wait_until_idle(page)
    cells.nth(1).locator(".cm-line").first.click()
    page.keyboard.press("Shift+Enter")
    expect(cells.nth(1).locator(".jp-OutputArea")).to_contain_text("True 10001")

    before = containers(server["pid"])
    menu(page, "Kernel", "Restart Kernel…")
    dialog.get_by_role("button", name="Confirm Kernel Restart").click()
    until(lambda: containers(server["pid"]) not in ([], before), within=30)
    expect(page.get_by_text("Python 3 (isolated) | Idle")).to_be_visible()
    cells.nth(1).locator(".cm-line").first.click()
    page.keyboard.press("Shift+Enter")
    expect(cells.nth(1).locator(".jp-OutputArea")).to_contain_text("False fresh")

    menu(page, "Kernel", "Shut Down Kernel")
    expect(page.get_by_text("No Kernel").first).to_be_visible()
    until(lambda: not containers(server["pid"]))


def menu(page: Page, name: str, entry: str) -> None:
    """Chooses from the main menu."""
    page.get_by_role("menuitem", name=name, exact=True).click()
    page.get_by_role("menuitem", name=entry).click()
