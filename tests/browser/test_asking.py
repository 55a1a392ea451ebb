"""A conversation in JupyterLab, as a person sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.browser.conftest import Lab, open_notebook, run_all, wait_until_idle

pytestmark = pytest.mark.docker

PLOT = """\
import matplotlib.pyplot as plt
rain = [3, 9, 4, 1]
plt.figure(figsize=(4, 2))
plt.bar(range(4), rain)  # one bar a month
print(sum(rain))
"""
ANSWER = """\
**March** is short: the table has $4$ rows, and its mean is

| month | rain |
| --- | ---: |
| 1 | 3 |
| 2 | 9 |

```python
df["rain"].mean()
```
"""


def test_an_answer_grows_and_what_was_done_for_it_can_be_seen(
    page: Page, lab: Lab, model: ScriptedModel, tmp_path: Path
) -> None:
    model.add(
        Turn("I'll draw it first.", [Call("run_python", {"code": PLOT})], usage=(900, 60)),
        Turn(ANSWER, piece=8, hold_after=6, usage=(1100, 80)),
    )
    lab.add(
        "asking.ipynb",
        [
            "%load_ext jupyter_skills\n"
            f"%config JupyterSkills.api_base = {model.url!r}\n%config JupyterSkills.model = 'openai/scripted'\n"
            "import pandas as pd\ndf = pd.DataFrame({'month': [1, 2, 3, 4], 'rain': [3, 9, 4, 1]})",
            "%%ask\nWhy is $`df` so short in March?",
            "%skill why",
            "%skill log",
            "%%ask --dry-run -n -r off\nWhat is $`df`?",
        ],
    )
    open_notebook(page, lab, "asking.ipynb")
    run_all(page)
    asked = page.locator(".jp-CodeCell").nth(1)
    expect(asked.get_by_text("March is short: the table")).to_be_visible()
    expect(asked.locator("table")).to_have_count(0)
    model.release()
    expect(asked.locator("table")).to_be_visible()
    wait_until_idle(page)
    expect(asked.locator("summary")).to_contain_text("✓ run_python · isolated kernel · ok")
    expect(asked.locator("img")).to_have_count(1)
    expect(asked).to_contain_text("openai/scripted · 2,140 tokens · ")
    expect(asked).not_to_contain_text("Waiting for")
    why, log, dry = (page.locator(".jp-CodeCell").nth(number) for number in (2, 3, 4))
    expect(why).to_contain_text("All requests of that cell: 2,140 tokens.")
    expect(log).to_contain_text("import matplotlib.pyplot as plt …")
    expect(dry).to_contain_text('"role": "user"')
    expect(dry).to_contain_text("nothing was sent")
    assert len(model.requests) == 2
    asked.locator("summary").click()
    asked.scroll_into_view_if_needed()
    page.screenshot(path=os.environ.get("SCREENSHOT", str(tmp_path / "asking.png")))
