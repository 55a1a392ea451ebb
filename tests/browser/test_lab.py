"""What a person sees in JupyterLab."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.browser.conftest import Lab, open_notebook, run_all, wait_until_idle

pytestmark = [pytest.mark.browser, pytest.mark.docker]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PICTURES = "[...document.querySelectorAll('.jp-OutputArea img')].map(i => [i.src.split(';')[0], i.naturalWidth])"


def test_the_quickstart_shows_its_pictures_and_its_files(lab: Lab, page: Page) -> None:
    for name in ("01-quickstart.ipynb", "01-quickstart.yaml"):
        shutil.copy(NOTEBOOKS / name, lab.folder)
    open_notebook(page, lab, "01-quickstart.ipynb")
    page.get_by_role("menuitem", name="Edit", exact=True).click()
    page.get_by_text("Clear Outputs of All Cells", exact=True).click()
    run_all(page)
    expect(page.get_by_text("They average")).to_be_visible()
    wait_until_idle(page)
    assert page.evaluate(PICTURES) == [["data:image/gif", 240], ["data:image/gif", 240], ["data:image/png", 459]]
    with page.expect_download() as download:
        page.get_by_text("ask_files/height.csv").click()
    assert download.value.suggested_filename == "height.csv"
    assert download.value.path().read_text().startswith("0.0,0.0000\n")
    card = page.locator("details", has_text="run_python").first
    expect(card.locator("pre").first).not_to_be_visible()
    card.locator("summary").click()
    expect(card.locator("pre").first).to_contain_text("from gif_maker import animate")
    card.locator("summary").click()
    page.get_by_text("Create a bouncing ball GIF").scroll_into_view_if_needed()
    if target := os.environ.get("SCREENSHOT"):
        page.screenshot(path=target)


HOSTILE = """\
<img src="/evil" onerror="window.owned = 1"><script>window.owned = 2</script>
[click](javascript:window.owned=3) <svg onload="window.owned = 4">

```html
<img src="/evil" onerror="window.owned = 5">
```
- a
  ```
<img src="/evil" onerror="window.owned = 6">

$$
```
$$

<img src="/evil" onerror="window.owned = 16">

![$"onerror="window.owned=17"x="$](/evil) ![a](/evil/$"onerror="window.owned=18"x="$) ![t](/evil.png)

[foo]:
```
<img src="/evil" onerror="window.owned = 13">

[bar]: x "a
```
b"
<img src="/evil" onerror="window.owned = 15">

```
code\r```\r<img src="/evil" onerror="window.owned = 14">
```

<iframe srcdoc="<script>parent.owned = 7</script>"></iframe> 1 < 2 and `List<String>` stay."""


def test_nothing_that_a_model_or_code_writes_runs_in_the_page(lab: Lab, page: Page, model: ScriptedModel) -> None:
    code = """
from IPython.display import HTML, Javascript, display
display(HTML("<img src='/evil' onerror='window.owned = 8'>"), Javascript("window.owned = 9"))
print("<img src='/evil' onerror='window.owned = 10'>")
open("<img src=x onerror=window.owned=11>.txt", "w").write("x")
raise ValueError("<img src='/evil' onerror='window.owned = 12'>")
"""
    model.add(Turn(HOSTILE, [Call("run_python", {"code": code})]), Turn("The end."))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    lab.add(
        "hostile.ipynb",
        [
            'from IPython.display import Markdown\nMarkdown(\'<img src="/control" onerror="window.control = 1">\')',
            f"%load_ext jupyter_skills\n%config JupyterSkills.api_base = {model.url!r}",
            "%%ask -m openai/scripted\nBe evil",
        ],
    )
    open_notebook(page, lab, "hostile.ipynb")
    run_all(page)
    expect(page.get_by_text("The end.")).to_be_visible()
    wait_until_idle(page)
    links = page.evaluate("[...document.querySelectorAll('.jp-OutputArea a')].map(link => link.href)")
    assert links
    assert not [link for link in links if not link.startswith("http")]
    assert page.evaluate("window.control") == 1, "JupyterLab does run what Markdown of the user's own cells asks for"
    assert page.evaluate("window.owned") is None
    assert not [url for url in requests if "evil" in url]
    expect(page.locator(".jp-RenderedHTML code", has_text="List")).to_be_visible()
