"""Consent to code in the live kernel, as a person gives it in JupyterLab."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.browser.conftest import Lab, open_notebook, run_all, wait_until_idle
from tests.conftest import write_skill

pytestmark = pytest.mark.browser

WANTED = bool(os.environ.get("JUPYTER_SKILLS_SCREENSHOTS"))  # read before the tests' own environment is made
DOCS = Path(__file__).parents[2] / "docs"
SETUP = (
    "%load_ext jupyter_skills\n%config JupyterSkills.api_base = '{}'\n%config JupyterSkills.model = 'openai/scripted'"
)
RAIN = """\
monthly = rain.groupby("month")["mm"].mean()
rain["wet"] = rain["mm"] > monthly.mean()
rain.to_csv("rain.csv", index=False)
monthly"""
FRAME = "import pandas as pd\nrain = pd.DataFrame({'month': [1, 1, 2, 2], 'mm': [3, 9, 4, 1]})"
TOOLS = '''\
import os
import urllib.request

from jupyter_skills import tool


@tool
def fetch(station: str, year: int = 2026) -> int:
    """Fetches the rain of a station.

    Args:
        station: Its name.
        year: The year.
    """
    return os.getpid()


def update() -> None:
    urllib.request.urlretrieve("https://rain.example/stations.csv", "stations.csv")
'''


def python(*pieces: str) -> list[Turn]:
    return [*(Turn("", [Call("run_python", {"code": piece})]) for piece in pieces), Turn("That is **all**.")]


def question(page: Page) -> Locator:
    """The card with the buttons."""
    card = page.locator(".widget-vbox", has=page.get_by_role("button", name="Decline"))
    expect(card).to_be_visible()
    return card


def picture(page: Page, name: str) -> None:
    """A screenshot for the docs, if that is wanted."""
    if WANTED:
        page.mouse.move(0, 0)
        page.screenshot(path=DOCS / name)


def theme(lab: Lab, name: str) -> None:
    """Sets JupyterLab's theme for pages that are opened from now on."""
    settings = lab.folder.parent / "settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    settings.write_text(f'{{"theme": "{name}"}}')


def test_each_button_does_what_it_says(lab: Lab, page: Page, model: ScriptedModel) -> None:
    model.add(*python(RAIN, "left = 1", "left = 1", "right = 2", "edited = len(rain)\nedited"))
    lab.add(
        "consent.ipynb",
        [f"{SETUP.format(model.url)}\n{FRAME}", "%%ask -r live -o answer\nWhich months are wet?", "print('below')"],
    )
    page.set_viewport_size({"width": 1000, "height": 760})
    open_notebook(page, lab, "consent.ipynb")
    run_all(page)
    card = question(page)
    expect(page.locator("details[open] pre").first).to_contain_text('rain["wet"] = ')
    expect(card).to_contain_text("Writes files, over those that are there")
    expect(card).to_contain_text("changesrain")
    expect(page.locator(".jp-Stdin-input")).to_have_count(0)
    picture(page, "consent.png")
    card.get_by_role("button", name="Run", exact=True).click()
    question(page).get_by_role("button", name="Run, and don't ask again for exactly this code").click()
    expect(page.get_by_text("exactly this code will not be asked about again")).to_be_visible()
    field = question(page).get_by_placeholder("a word of why")
    expect(page.locator("details[open] pre").first).to_contain_text("right = 2")
    field.focus()
    page.keyboard.type("left is enough", delay=1)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Declined: left is enough")).to_be_visible()
    question(page).get_by_role("button", name="Edit in a cell below").click()
    expect(page.get_by_text("That is all.")).to_be_visible()
    wait_until_idle(page)
    inserted = page.locator(".jp-CodeCell").nth(2)
    expect(inserted.locator(".cm-content")).to_contain_text("edited = len(rain)")
    expect(page.locator(".widget-vbox")).to_have_count(0)
    assert (lab.folder / "rain.csv").exists()
    inserted.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(inserted.locator(".jp-OutputArea-output")).to_contain_text("4")
    page.keyboard.press("Control+s")
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)
    saved = nbformat.read(lab.folder / "consent.ipynb", 4)
    assert "widgets" not in saved.metadata
    assert "widget-view" not in str(saved)
    assert "They said: left is enough" in str(model.requests[4].body["messages"][-1]["content"])


def test_a_skill_can_be_allowed_in_a_dark_page(lab: Lab, page: Page, model: ScriptedModel) -> None:
    folder = write_skill(lab.folder, "rain-gauge", description="Fetches rain.")
    (folder / "tools.py").write_text(TOOLS)
    fetch = [Call("rain-gauge__fetch", {"station": name}) for name in ("Ulm <b>", "Wien")]
    model.add(Turn("", fetch), Turn("That is **all**."))
    theme(lab, "JupyterLab Dark")
    load = "%skill trust ./rain-gauge --yes\n%skill load ./rain-gauge --pin"
    lab.add("skill.ipynb", [SETUP.format(model.url), load, "%%ask -r live\nGet the rain", "%skill log"])
    page.set_viewport_size({"width": 1000, "height": 940})
    open_notebook(page, lab, "skill.ipynb")
    run_all(page)
    card = question(page)
    expect(card).to_contain_text("Run the tool fetch of the skill rain-gauge in your kernel?")
    expect(card).to_contain_text("station = 'Ulm <b>'")
    expect(card).to_contain_text("https://rain.example/stations.csv")
    picture(page, "consent-dark.png")
    card.get_by_role("button", name="Allow rain-gauge in this session").click()
    expect(page.get_by_text("That is all.")).to_be_visible()
    wait_until_idle(page)
    expect(page.locator(".jp-CodeCell").nth(3)).to_contain_text("user, for rain-gauge")


def test_a_page_without_widgets_is_asked_by_typing(lab: Lab, page: Page, model: ScriptedModel) -> None:
    config = Path(os.environ["JUPYTER_CONFIG_DIR"], "labconfig")
    config.mkdir(parents=True)
    disabled = '{"disabledExtensions": {"@jupyter-widgets/jupyterlab-manager": true}}'
    (config / "page_config.json").write_text(disabled)
    model.add(*python("doubled = number * 2\ndoubled"))
    lab.add("typed.ipynb", [SETUP.format(model.url) + "\nnumber = 42", "%%ask -r live\nDouble my number", "doubled"])
    open_notebook(page, lab, "typed.ipynb")
    run_all(page)
    typed = page.locator(".jp-Stdin-input")
    typed.wait_for()
    expect(page.get_by_text("please type your answer")).to_be_visible()
    expect(page.locator("details[open] pre").first).to_contain_text("doubled = number * 2")
    typed.fill("y")
    typed.press("Enter")
    expect(page.get_by_text("That is all.")).to_be_visible()
    wait_until_idle(page)
    expect(page.locator(".jp-OutputArea-executeResult").last).to_contain_text("84")


def test_a_saved_question_does_nothing_when_it_is_opened(lab: Lab, page: Page, model: ScriptedModel) -> None:
    hostile = nbformat.v4.new_notebook()
    hostile.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    state = {"_model_module": "@jupyter-widgets/controls", "_model_name": "ButtonModel", "description": "Run"}
    version = {"model_module": "@jupyter-widgets/controls", "model_module_version": "2.0.0"}
    models = {"f00d": {**version, "model_name": "ButtonModel", "state": state}}
    hostile.metadata["widgets"] = {
        "application/vnd.jupyter.widget-state+json": {"version_major": 2, "version_minor": 0, "state": models}
    }
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "f00d", "version_major": 2, "version_minor": 0}}
    form = {"text/html": '<button onclick="fetch(\'/evil\')">Run</button><img src=x onerror="window.owned = 1">'}
    cell = nbformat.v4.new_code_cell("open('ran', 'w')", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("display_data", data=data) for data in (view, form)]
    hostile.cells = [cell]
    nbformat.write(hostile, lab.folder / "hostile.ipynb")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    open_notebook(page, lab, "hostile.ipynb")
    page.wait_for_selector(".jp-OutputArea-output")
    assert page.evaluate("window.owned") is None
    assert not [url for url in requests if "evil" in url]
    assert not (lab.folder / "ran").exists()
    assert model.requests == []
