"""How a turn looks in a notebook: what is shown when, and how much work that is. Time here passes only by waiting."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbclient
import nbformat
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from nbconvert import HTMLExporter
from pygments.token import Keyword
from traitlets.config import Config

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted, Event, Notice, TextDone, Waiting
from jupyter_skills.execution.result import Display, Execution, Image
from jupyter_skills.markup.highlight import STYLES, coloured
from jupyter_skills.markup.markdown import to_html
from jupyter_skills.models.client import TextDelta, Usage
from jupyter_skills.notebook.audience import can_answer, watched
from jupyter_skills.notebook.render.growing import PAGE
from jupyter_skills.notebook.render.notebook import NotebookRenderer
from jupyter_skills.notebook.render.throttle import PAUSES_PER_UPDATE, SHORTEST_PAUSE, Throttle
from jupyter_skills.rendering.words import call_title, price, summary
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.notebook.virtual_time import Loop, run

PROSE = "Some *prose* with `code`, a [link](http://example.org) and a formula, $a_1 < b$.\n\n"
CODE = "```python\ndef double(x):\n    return 2 * x  # twice\n```\n\n"
MIXED = PROSE * 4 + "## A title\n\n- one\n- two\n  - three\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n" + CODE
ITEM = "- an *item*, `code`, and some words\n  - one within it\n"
FENCE = "    total = sum(values)  # all of them\n"


class Output:
    """What a cell's output shows."""

    def __init__(self, publisher: CapturingDisplayPublisher) -> None:
        self._publisher = publisher

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All that was sent."""
        return self._publisher.outputs

    @property
    def sent(self) -> int:
        """Characters of all HTML that was sent."""
        return sum(len(message["data"].get("text/html", "")) for message in self.messages)

    @property
    def updates(self) -> int:
        return sum(message["update"] for message in self.messages)

    def places(self) -> list[dict[str, str]]:
        """What stands in each place now."""
        places: dict[str, dict[str, str]] = {}
        for number, message in enumerate(self.messages):
            key = (message["transient"] or {}).get("display_id", str(number))
            assert message["update"] == (key in places)
            places[key] = message["data"]
        return list(places.values())

    def plain(self) -> list[str]:
        return [place["text/plain"] for place in self.places()]

    def html(self) -> str:
        return "".join(place.get("text/html", "") for place in self.places())


@pytest.fixture
def output() -> Iterator[Output]:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.display_pub = CapturingDisplayPublisher()
    yield Output(shell.display_pub)
    InteractiveShell.clear_instance()


def pieces(text: str, size: int = 4) -> list[str]:
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


async def stream(text: str, size: int = 4, between: float = 0.02) -> None:
    """An answer that comes piece by piece."""
    renderer = NotebookRenderer(live=True)
    for piece in pieces(text, size):
        renderer.show(TextDelta(piece))
        await asyncio.sleep(between)
    renderer.show(TextDone(text))


def show_all(events: list[Event], *, live: bool) -> None:
    async def show() -> None:
        renderer = NotebookRenderer(live=live)
        for event in events:
            renderer.show(event)
            await asyncio.sleep(0.03)
        renderer.settle()

    run(show())


# -- text that grows


def test_a_short_answer_is_one_display_watched_or_not(output: Output) -> None:
    text = (MIXED * 9)[: PAGE - 100]
    run(stream(text))
    watched = output.places()
    output.messages.clear()
    show_all([TextDone(text)], live=False)
    assert watched == output.places() == [{"text/html": to_html(text), "text/plain": text}]


def test_a_long_answer_is_shown_once_and_whole_where_nobody_watches(output: Output) -> None:
    text = MIXED * 30
    show_all([*map(TextDelta, pieces(text)), TextDone(text)], live=False)
    assert output.messages == [
        {**output.messages[0], "data": {"text/html": to_html(text), "text/plain": text}, "update": False}
    ]


def test_a_long_answer_has_pages_that_are_not_touched_again(output: Output) -> None:
    text = MIXED * 40
    run(stream(text))
    order = [message["transient"]["display_id"] for message in output.messages]
    pages = list(dict.fromkeys(order))
    assert len(pages) > 3
    # The end of a page is shown when the next one begins; from then on it stands.
    assert [page for page, before in zip(order[1:], order, strict=False) if page != before] == pages[1:]
    assert all(len(plain) < PAGE + len(MIXED) for plain in output.plain())
    assert output.html() == to_html(text)
    assert "".join(output.plain()) == text


def test_a_page_is_touched_again_for_links_that_are_defined_at_the_end(output: Output) -> None:
    text = "See [the page].\n\n" + PROSE * 200 + "[the page]: http://example.org/late\n"
    run(stream(text, size=50))
    assert 'href="http://example.org/late"' in output.places()[0]["text/html"]
    assert output.html() == to_html(text)


def test_an_answer_in_one_piece_is_shown_as_one_in_many(output: Output) -> None:
    text = MIXED * 20
    run(stream(text))
    many = output.places()
    output.messages.clear()
    show_all([TextDone(text)], live=True)
    assert output.places() == many


@pytest.mark.parametrize(
    "text",
    [PROSE * 200, MIXED * 30, ITEM * 200, f"```python\n{FENCE * 300}", f"```python\n{FENCE * 300}```\n\n{PROSE * 50}"],
    ids=["prose", "mixed", "one list", "one fence", "fence, then prose"],
)
def test_twice_the_text_is_twice_the_work(output: Output, text: str) -> None:
    run(stream(text, size=20))
    once = output.sent
    output.messages.clear()
    run(stream(text + (text if not text.endswith(FENCE) else FENCE * 300), size=20))
    assert output.sent / once <= 2.2


def test_of_output_only_the_end_is_kept(output: Output) -> None:
    call = CallStarted("run_python", "", "docker", "python", "work()")
    lines = [f"line {number}\n" for number in range(10_000)]
    show_all([call, *(CallOutput("".join(lines[start : start + 100])) for start in range(0, 10_000, 100))], live=True)
    shown = output.places()[0]["text/html"]
    assert shown.endswith("line 9999\n</pre></details>")
    assert "line 5000\n" not in shown
    assert len(shown) < 21_000


@pytest.mark.parametrize("live", [True, False])
def test_nothing_that_would_act_in_a_terminal_is_published(output: Output, live: bool) -> None:
    text = "a \x1b[31mred\x1b[0m word\r\nand\x07 more\x00"
    show_all([*map(TextDelta, pieces(text)), TextDone(text), Notice("Mind\x1b[2J.")], live=live)
    assert output.plain() == ["a red word\nand more", "Mind."]
    assert output.html().startswith("<p>a red word\nand more</p>\n<div")


def test_somebody_watches_who_could_type(output: Output) -> None:
    shell = InteractiveShell.instance()
    assert watched(shell) == sys.stdout.isatty()
    assert can_answer(shell) == sys.stdin.isatty()
    for takes_input in (True, False):
        shell.kernel = SimpleNamespace(_allow_stdin=takes_input)
        assert watched(shell) == can_answer(shell) == takes_input


# -- when it is shown


def test_the_first_piece_is_shown_at_once_and_the_next_when_the_pause_is_over(output: Output) -> None:
    async def turn() -> None:
        renderer = NotebookRenderer(live=True)
        renderer.show(Waiting("Waiting for openai/x"))
        renderer.show(TextDelta("a"))
        assert output.plain() == ["a"]
        await asyncio.sleep(SHORTEST_PAUSE / 2)
        renderer.show(TextDelta("b"))
        renderer.show(TextDelta("c"))
        assert output.plain() == ["a"]
        await asyncio.sleep(SHORTEST_PAUSE / 2)
        await asyncio.sleep(0)
        assert output.plain() == ["abc"]
        await asyncio.sleep(SHORTEST_PAUSE * 2)
        renderer.show(TextDelta("d"))
        assert output.plain() == ["abcd"], "the pause was over"
        renderer.show(TextDelta("e"))
        renderer.settle()
        assert output.plain() == ["abcde"]
        await asyncio.sleep(1)
        assert len(output.messages) == 5

    run(turn())


def test_updates_take_a_twentieth_of_the_time_at_most_however_slow_each_is() -> None:
    async def turn() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        clock = loop.clock
        size = shown = 0
        worked = 0.0

        def work() -> None:
            nonlocal worked, shown
            assert worked * (1 + PAUSES_PER_UPDATE) <= clock.now + 0.001
            shown = size
            worked += size / 1000
            clock.now += size / 1000

        throttle = Throttle(work)
        while clock.now < 1000:
            size += 1
            throttle.ask()
            await asyncio.sleep(0.01)
        assert worked > 0
        await asyncio.sleep(10_000)
        assert shown == size, "the last update comes, whatever it costs"

    run(turn())


def test_a_line_says_how_long_is_waited_and_leaves_nothing_behind(output: Output) -> None:
    async def turn() -> None:
        renderer = NotebookRenderer(live=True)
        renderer.show(Waiting("Waiting for openai/x"))
        await asyncio.sleep(2.9)
        assert output.plain() == ["Waiting for openai/x …"]
        for seconds in (3, 4, 5):
            await asyncio.sleep(1)
            assert output.plain() == [f"Waiting for openai/x … {seconds} s"]
        renderer.show(Waiting(""))
        renderer.show(TextDelta("Here."))
        assert output.plain() == ["Here."]
        await asyncio.sleep(5)
        renderer.show(TextDone("Here."))
        assert output.places() == [{"text/html": "<p>Here.</p>\n", "text/plain": "Here."}]

    run(turn())


def test_nothing_is_counted_after_all_was_settled(output: Output) -> None:
    async def turn() -> None:
        renderer = NotebookRenderer(live=True)
        renderer.show(Waiting("Waiting for openai/x"))
        await asyncio.sleep(4.5)
        renderer.settle()
        sent = len(output.messages)
        await asyncio.sleep(10)
        assert output.plain() == [""]
        assert len(output.messages) == sent
        assert len(asyncio.all_tasks()) == 1

    run(turn())


def test_a_call_says_what_it_waits_for_and_how_long(output: Output) -> None:
    async def turn() -> None:
        renderer = NotebookRenderer(live=True)
        renderer.show(CallStarted("run_python", "", "docker", "python", "1"))
        renderer.show(Waiting("Building the image"))
        await asyncio.sleep(4.5)
        assert output.plain()[0].startswith("[run_python · isolated kernel · Building the image … 4 s]")
        renderer.show(Waiting(""))
        await asyncio.sleep(SHORTEST_PAUSE * 2)
        assert output.plain()[0].startswith("[run_python · isolated kernel · running …]")
        renderer.show(CallFinished(True, "", Execution("ok", seconds=1.24)))
        assert output.plain()[0].startswith("[run_python · isolated kernel · ok · 1.2 s]")
        await asyncio.sleep(10)
        assert len(output.places()) == 1

    run(turn())


def test_no_time_is_shown_where_nobody_watches(output: Output) -> None:
    done = CallFinished(True, "", Execution("ok", "1\n", seconds=1.24))
    events = [Waiting("Waiting for x"), Notice("Mind."), CallStarted("run_python", code="1"), CallOutput("1\n"), done]
    show_all([*events, TextDelta("So."), TextDone("So.")], live=False)
    assert output.plain() == ["Mind.", "[run_python · ok]\n1\n→ 1", "So."]
    assert output.updates == 0


def test_what_live_code_displayed_is_shown_once_and_its_error_by_itself(output: Output) -> None:
    picture = Image(b"png", "image/png", 1, 1)
    made = Display({"text/html": "<i>made</i>", "text/plain": "made"}, {"text/html": {}})
    call = CallStarted("run_python", "", "live", "python", "1")
    places = ((True, (), []), (False, (made,), ["made"]), (False, None, ["<image/png, 1x1 pixels>"]))
    for live, displays, shown in places:
        run = Execution("error", error="E", images=(picture,), displays=displays, traceback="\x1b[31mE: all of it")
        show_all([call, CallFinished(False, "", run)], live=live)
        assert output.plain()[1:] == (["\x1b[31mE: all of it"] if live else shown)
        output.messages.clear()


def test_what_live_code_prints_is_shown_though_the_loop_is_blocked(output: Output) -> None:
    seen = threading.Event()
    publish = output._publisher.publish

    def watch(data: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        publish(data, *args, **kwargs)
        if "last" in data["text/html"]:
            seen.set()

    output._publisher.publish = watch  # type: ignore[method-assign]

    async def turn() -> None:
        renderer = NotebookRenderer(live=True)
        renderer.show(CallStarted("run_python", "", "live", "python", "1"))
        renderer.show(CallOutput("first\n"))
        threading.Thread(target=renderer.show, args=(CallOutput("la" + "st\n"),)).start()
        assert seen.wait(20)
        renderer.show(CallFinished(True, "", Execution("ok", "first\nlast\n")))
        sent = len(output.messages)
        await asyncio.sleep(1)
        assert len(output.messages) == sent

    asyncio.run(turn())


# -- words and colours


def test_a_skills_own_tool_is_shown_apart_from_its_skill() -> None:
    assert call_title(CallStarted("gif-maker__render", "", "docker")) == "gif-maker · render · isolated kernel"
    assert call_title(CallStarted("load_skill", "gif-maker")) == "load_skill · gif-maker"
    odd = "a__b__c___0123abcd"
    assert call_title(CallStarted(odd)) == odd, "it can't be told which part is the skill"


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(None, ""), (0.0, ""), (0.00009, "< $0.0001"), (0.0001, "$0.0001"), (0.01234, "$0.0123"), (2.5, "$2.5000")],
)
def test_a_price_is_told_where_it_is_known(dollars: float | None, words: str) -> None:
    assert price(dollars) == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("stop", ""),
        ("max_cost", " · stopped before it would cost more than --max-cost"),
        ("timeout", " · stopped after --timeout"),
        ("interrupted", " · interrupted"),
        ("dry_run", " · nothing was sent"),
        ("max_steps", " · stopped after the last of its steps (--max-steps)"),
        ("a_new_reason", " · a_new_reason"),
    ],
)
def test_the_last_line_says_why_it_ended_if_not_of_itself(reason: str, words: str) -> None:
    answer = Answer("Text.", "openai/x", reason, usage=Usage(1000, 234), cost=0.5)
    assert summary(answer, 2.04) == f"openai/x · 1,234 tokens · $0.5000 · 2.0 s{words}"
    assert summary(answer, None) == f"openai/x · 1,234 tokens · $0.5000{words}"


def luminance(colour: str) -> float:
    parts = [int(colour[begin : begin + 2], 16) / 255 for begin in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("style", sorted(set(STYLES.values())))
def test_colours_follow_the_page_and_else_can_be_read_on_white_and_on_dark(style: str) -> None:
    found = re.fullmatch(r"color:var\(--jp-[\w-]+,var\(--vscode-[\w-]+,(#[0-9a-f]{6})\)\)(;font-[\w:-]+)?", style)
    assert found, style
    bright = luminance(found[1])
    for page in ("#ffffff", "#1e1e1e"):
        low, high = sorted((bright, luminance(page)))
        assert (high + 0.05) / (low + 0.05) > 3.5  # WCAG asks for 3 at least


def test_coloured_code_is_the_code() -> None:
    code = "\n\n@decorated\nclass A(B):\n\tx = '<b>' if 1 < 2 and y else None  # &amp;\n"
    html = coloured(code, "python")
    text = re.sub(r"<[^>]*>", "", html)
    assert unescape(text) == code
    assert f'<span style="{STYLES[Keyword]}">class</span>' in html
    assert coloured("if <x>", "no such language") == coloured("if <x>", "") == "if &lt;x&gt;"
    assert f'<span style="{STYLES[Keyword]}">if</span>' in coloured("if true; then ls; fi", "shell")


def test_a_saved_notebook_and_its_html_need_no_widgets(workdir: Path, model: ScriptedModel) -> None:
    code = {"code": "print('from' + ' code')"}
    model.add(Turn("I'll **see**.", [Call("run_python", code)]), Turn("```python\nreturn 1\n```"))
    cells = [
        f"%load_ext jupyter_skills\n%config JupyterSkills.api_base = {model.url!r}",
        "%%ask -m openai/scripted -r live -y\nGo",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(workdir)}}).execute()
    assert "widgets" not in notebook.metadata
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "<strong>see</strong>" in page
    assert re.search(r"<summary[^>]*>✓ run_python · this kernel · ok</summary>", page)
    assert "from code</pre></details>" in page
    assert f'<span style="{STYLES[Keyword]}">return</span>' in page
