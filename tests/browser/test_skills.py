"""Skills as a person meets them in JupyterLab."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Page, expect

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.browser.conftest import Lab, open_notebook, run_all, wait_until_idle
from tests.conftest import write_skill

pytestmark = [pytest.mark.browser, pytest.mark.docker]


def test_a_skill_is_found_by_tab_and_its_tools_show_what_they_make(lab: Lab, page: Page, model: ScriptedModel) -> None:
    folder = write_skill(lab.folder / ".agents/skills", "growth", description="Draws growth curves.")
    (folder / "tools.py").write_text(
        "from jupyter_skills import tool\n\n\n@tool\ndef draw(days: int = 3) -> None:\n"
        '    """Draws a curve."""\n    import matplotlib.pyplot as plt\n\n'
        "    plt.plot([2**day for day in range(days)])\n    plt.show()\n"
    )
    model.add(
        Turn("", [Call("load_skill", {"name": "growth"})]),
        Turn("", [Call("growth__draw", {"days": "five"}), Call("growth__draw", {"days": 5})]),
        Turn("It **doubles** every day."),
    )
    cells = ["%load_ext jupyter_skills", f"%config JupyterSkills.api_base = {model.url!r}\n%skill list --available"]
    lab.add("skills.ipynb", [*cells, "%skill load gr", "%%ask -m openai/scripted\nDraw the growth over five days"])
    open_notebook(page, lab, "skills.ipynb")
    for _ in range(2):
        page.keyboard.press("Shift+Enter")
    wait_until_idle(page)
    page.locator(".jp-Cell", has_text="%skill load gr").locator(".cm-line").click()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    expect(page.locator(".jp-Completer-item")).to_contain_text("growth")
    page.keyboard.press("Enter")
    expect(page.locator(".jp-Cell", has_text="%skill load growth").first).to_be_visible()
    run_all(page)
    expect(page.locator(".jp-RenderedHTML strong", has_text="doubles")).to_be_visible()
    wait_until_idle(page)
    cards = page.locator("details", has_text="growth · draw")
    expect(cards.first).to_contain_text("'five' is not of type 'integer'")
    cards.last.locator("summary").click()
    expect(cards.last.locator("pre").first).to_contain_text("draw of the skill growth, sha256:")
    assert page.evaluate("[...document.querySelectorAll('.jp-OutputArea img')].map(i => i.naturalWidth > 300)") == [
        True
    ]
    cards.first.scroll_into_view_if_needed()
    if target := os.environ.get("SCREENSHOT"):
        page.screenshot(path=target)
