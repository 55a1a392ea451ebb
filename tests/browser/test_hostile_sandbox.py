"""Whatever code in the sandbox sends, the page that shows it runs nothing of it and fetches nothing for it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.browser import corpus
from tests.browser.conftest import Lab, open_notebook, run_all, wait_until_idle
from tests.conftest import until
from tests.server.jupyter import TOKEN

pytestmark = [pytest.mark.browser, pytest.mark.docker]

PICTURES = "[...document.querySelectorAll('.jp-OutputArea img')].map(image => image.naturalWidth)"
WELL_FORMED = 7  # three pictures that are displayed, and four files
ELEMENTS = {"a", "br", "code", "details", "div", "em", "p", "pre", "span", "strong", "summary"}
ACTIVE = "script, iframe, object, embed, form, video, audio, link, style, base, meta, [onload], [onerror]"
RUN_BY_EXPORT = {"script", "onerror", "image", "style", "svg", "srcdoc", "javascript", "out", "object", "frame"}
RUN_BY_LAB = {*RUN_BY_EXPORT, "markdown", "markdown-picture", "diagram", "vega", "vega-image", "vega-lite", "update"}
NOTICES = """
window.noticed = [];
new MutationObserver(records => {
    for (const node of records.flatMap(record => [...record.addedNodes]))
        for (const sort of ['.jp-Stdin', '.jp-Dialog'])
            if (node.matches?.(sort) || node.querySelector?.(sort)) window.noticed.push(sort + node.textContent);
}).observe(document, {childList: true, subtree: true});
"""


class Canary:
    """A server that hears who asks it.

    Args:
        server: The server, which runs.
    """

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.heard: list[str] = []

    def heard_all(self, names: set[str]) -> bool:
        """Whether it was asked for all of these."""
        return {f"/{name}" for name in names} <= set(self.heard)

    def after(self, page: Page) -> list[str]:
        """What it was asked for up to now; the page asks last, which shows that it could."""
        page.evaluate(
            "async url => { await new Promise(requestIdleCallback); await fetch(url, {mode: 'no-cors'}); }",
            f"{self.url}/last",
        )
        heard, self.heard[:] = list(self.heard), []
        heard.remove("/last")
        return heard


@pytest.fixture
def canary() -> Iterator[Canary]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            canary.heard.append(self.path)
            body = b"top.pwned = 'served'"
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 -- so the server calls it

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        canary = Canary(server)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield canary
        server.shutdown()
        thread.join()


class Watch:
    """Notes what a page does that its user would not want.

    Args:
        page: The page, before it goes anywhere.
        home: The only address that it should talk to.
    """

    def __init__(self, page: Page, home: str) -> None:
        self.events: list[str] = []
        page.add_init_script(NOTICES)
        page.on("request", lambda request: self._requested(request.url, home))
        page.on("popup", lambda popup: self.events.append(f"popup {popup.url}"))
        page.on("download", lambda download: self.events.append(f"download {download.url}"))
        page.on("dialog", lambda dialog: (self.events.append(f"dialog {dialog.message}"), dialog.dismiss()))

    def _requested(self, url: str, home: str) -> None:
        if not url.startswith((f"{home}/", "data:", "blob:")) and not url.endswith("/last"):
            self.events.append(f"request {url}")


class Tags(HTMLParser):
    """Fails on HTML that does more than to look.

    Args:
        html: The HTML.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag in ELEMENTS, tag
        assert given.keys() <= ({"href", "download", "style"} if tag == "a" else {"style", "open", "class"}), given
        assert "url(" not in (given.get("style") or "")
        assert (given.get("href") or "ask_files/").startswith("ask_files/"), given


def save(page: Page) -> None:
    """Saves the notebook, and waits until it is on the disk."""
    with page.expect_response(lambda response: "/api/contents/" in response.url and response.request.method == "PUT"):
        # By its keys, for what the outputs do to the page may close a menu that is open.
        page.locator(".jp-Notebook").first.press("Control+s")


def reopen(page: Page, lab: Lab, name: str) -> None:
    """Opens a saved notebook and waits until its outputs are there."""
    page.goto(f"{lab.url}/lab/tree/{name}?token={TOKEN}")
    expect(page.locator(".jp-OutputArea-output").first).to_be_attached()
    page.locator(".jp-Cell").last.scroll_into_view_if_needed()


def open_as_html(page: Page, notebook: Path) -> None:
    """Exports a notebook, and opens the export in a page that reaches this machine only."""

    def only_here(route: Route) -> None:
        here = urlsplit(route.request.url).hostname in (None, "", "127.0.0.1")
        (route.continue_ if here else route.abort)()

    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", notebook.name],
        cwd=notebook.parent,
        check=True,
        capture_output=True,
    )
    page.route("**/*", only_here)
    page.goto(notebook.with_suffix(".html").as_uri())


def test_no_output_of_the_sandbox_acts_on_the_page(
    lab: Lab, page: Page, browser: Browser, model: ScriptedModel, canary: Canary
) -> None:
    repeated = (
        rf"$\require{{html}}\href{{javascript:top.pwned=1}}{{x}} \style{{background:url({canary.url}/said)}}{{y}}$"
    )
    attacks = [make(canary.url) for make in (corpus.displays, corpus.pictures, corpus.texts, corpus.forgeries)]
    model.add(Turn("", [Call("run_python", {"code": code}) for code in (*attacks, corpus.FLOOD)]), Turn(repeated))
    model.add(Turn("", [Call("run_python", {"code": "print('sandbox', 6 * 7)"})]), Turn("Goodbye."))
    cells = [
        f"%load_ext jupyter_skills\n%config JupyterSkills.api_base = {model.url!r}",
        "%%ask -m openai/scripted\nBe evil",
        "print('kernel', 6 * 7)",
        "%%ask -m openai/scripted\nGo on",
    ]
    lab.add("hostile.ipynb", cells)
    watch = Watch(page, lab.url)
    open_notebook(page, lab, "hostile.ipynb")
    run_all(page)
    expect(page.get_by_text("Goodbye.")).to_be_visible(timeout=60_000)
    wait_until_idle(page)
    expect(page.locator("mjx-container").first).to_be_attached()  # what is to be typeset has been by now
    assert page.locator(".jp-Cell").count() == len(cells)
    expect(page.locator(".jp-OutputArea").get_by_text("kernel 42")).to_be_visible()
    expect(page.locator("details pre", has_text="sandbox 42").last).to_be_attached()
    assert page.locator("details pre", has_text="forged all of it").count()
    assert page.locator("details pre", has_text="the end of the flood").count()
    assert page.evaluate(PICTURES) == [30] * WELL_FORMED
    assert page.evaluate(f"[...document.querySelectorAll('.jp-OutputArea :is({ACTIVE})')].map(e => e.outerHTML)") == []
    links = page.evaluate("[...document.querySelectorAll('.jp-OutputArea a')].map(link => link.getAttribute('href'))")
    assert {link.split("/files/ask_files/")[0] for link in links if link} == {lab.url}
    assert page.evaluate("[window.pwned, window.noticed]") == [None, []]
    assert canary.after(page) == []
    assert watch.events == []

    with page.expect_download() as download:
        page.get_by_text("ask_files/page.html", exact=True).click()
    assert download.value.suggested_filename == "page.html"
    save(page)
    assert canary.after(page) == []
    assert watch.events == [f"download {download.value.url}"]
    saved = nbformat.read(lab.folder / "hostile.ipynb", 4)
    assert [cell.source for cell in saved.cells] == cells
    assert "widgets" not in saved.metadata
    for output in (output for cell in saved.cells for output in cell.outputs):
        check_output(output)

    with browser.new_page() as other:
        watch = Watch(other, lab.url)
        reopen(other, lab, "hostile.ipynb")
        expect(other.get_by_text("Goodbye.")).to_be_visible()
        assert other.evaluate(PICTURES) == [30] * WELL_FORMED
        assert other.evaluate("[window.pwned, window.noticed]") == [None, []]
        assert canary.after(other) == []
        assert watch.events == []
    with browser.new_page() as other:
        open_as_html(other, lab.folder / "hostile.ipynb")
        assert other.evaluate(PICTURES) == [30] * WELL_FORMED
        assert other.evaluate("window.pwned") is None
        assert canary.after(other) == []


def check_output(output: Any) -> None:
    """Fails unless a saved output is text, a picture, or HTML of our own."""
    if output.output_type == "stream":
        return
    assert output.output_type == "display_data", output
    kinds = set(output.data)
    assert kinds <= {"text/plain", "text/html"} or kinds <= {"text/plain", "image/png"}, kinds
    assert output.metadata == {}
    Tags(output.data.get("text/html", ""))


def test_control_the_same_displays_do_act_on_it_when_they_come_from_a_cell_of_its_user(
    lab: Lab, page: Page, browser: Browser, canary: Canary
) -> None:
    lab.add("control.ipynb", [corpus.displays_that_stay(canary.url)])
    watch = Watch(page, lab.url)
    open_notebook(page, lab, "control.ipynb")
    run_all(page)
    until(lambda: acting(page) and canary.heard_all(RUN_BY_LAB), within=60)
    wait_until_idle(page)
    assert "dialog pwned" in watch.events
    assert f"request {canary.url}/image" in watch.events
    save(page)
    with browser.new_page() as other:
        canary.after(other)
        Watch(other, lab.url)
        reopen(other, lab, "control.ipynb")
        until(lambda: acting(other) and canary.heard_all(RUN_BY_LAB), within=60)
    with browser.new_page() as other:
        canary.after(other)
        Watch(other, lab.url)
        open_as_html(other, lab.folder / "control.ipynb")
        until(lambda: acting(other) and canary.heard_all(RUN_BY_EXPORT), within=60)


def acting(page: Page) -> bool:
    """Whether a script of the corpus has run in the page; asking has Playwright dismiss dialogs, too."""
    return bool(page.evaluate("window.pwned"))
