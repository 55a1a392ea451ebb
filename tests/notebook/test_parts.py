"""The parts of the notebook room that need no kernel."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.errors import UsageProblem
from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.lines import Lines
from jupyter_skills.execution.output import clean_text
from jupyter_skills.execution.result import Change, Execution, GeneratedFile
from jupyter_skills.markup.cleaning import CleanPieces, clean, without_turning
from jupyter_skills.markup.markdown import to_html
from jupyter_skills.notebook.arguments import parse_ask
from jupyter_skills.notebook.render.card import CallCard, file_link
from jupyter_skills.notebook.transform import await_ask


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ""),
        ("What's this?", "What's this?"),
        ('-m openai/x What\'s "this" -y?', 'What\'s "this" -y?'),
        ("--system 'two words' -y {a} $b", "{a} $b"),
        ("--model=openai/x  two  spaces", "two  spaces"),
        ("-s a -s 'b c' hello", "hello"),
        ("- a list item", "- a list item"),
        ("-- dashes", "-- dashes"),
        ("-5 degrees", "-5 degrees"),
    ],
)
def test_options_come_first_and_the_words_stay_as_they_are(line: str, words: str) -> None:
    assert parse_ask(line)[1] == words


def test_an_unknown_option_is_no_prose() -> None:
    with pytest.raises(UsageProblem, match="no option --fly"):
        parse_ask("--fly away")


def test_options_are_parsed() -> None:
    line = (
        "-m x -s a -s 'b c' -r live -y -n -o v --send w --get x.csv --max-steps 3 --timeout 1.5 --no-stream --soft go"
    )
    options, _ = parse_ask(line)
    assert vars(options) == {
        "help": False,
        "model": "x",
        "skill": ["a", "b c"],
        "run": "live",
        "yes": True,
        "new": True,
        "output": "v",
        "send": ["w"],
        "get": ["x.csv"],
        "attach": [],
        "system": None,
        "max_steps": 3,
        "max_cost": None,
        "timeout": 1.5,
        "no_stream": True,
        "dry_run": False,
        "soft": True,
    }


@pytest.mark.parametrize(
    ("cell", "rewritten"),
    [
        ("%%ask\nHello", "ask_cell('', 'Hello')"),
        ("%%ask -m x\nA\n'''\"\\n\n", "ask_cell(' -m x', 'A\\n\\'\\'\\'\"\\\\n\\n')"),
        ("%ask Hello", "ask_line(' Hello')"),
        ("%ask Hello\n\n", "ask_line(' Hello')"),
    ],
)
def test_a_cell_that_asks_is_rewritten_to_await(cell: str, rewritten: str) -> None:
    assert await_ask(cell.splitlines(keepends=True)) == [f"await get_ipython().jupyter_skills.{rewritten}\n"]


@pytest.mark.parametrize("cell", ["", "x", "%%asks\n", "%%ask?", "%ask?", "%asking", "x = 1\n%ask Hello", "%ask a\n1"])
def test_every_other_cell_stays_as_it_is(cell: str) -> None:
    lines = cell.splitlines(keepends=True)
    assert await_ask(list(lines)) == lines


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Title\n\nSome *text*.", "<h1>Title</h1>\n<p>Some <em>text</em>.</p>\n"),
        ("1 < 2 & `a<b>`", "<p>1 &lt; 2 &amp; <code>a&lt;b&gt;</code></p>\n"),
        ("[link](https://example.org/?a=1&b=2)", '<p><a href="https://example.org/?a=1&amp;b=2">link</a></p>\n'),
        ("| a |\n| - |\n| 1 |", "<table>\n<thead>\n<tr>\n<th>a</th>"),
        ("$a_1 < b_2$ and *x*", "$a_1 &lt; b_2$</span> and <em>x</em>"),
        ("$$\n\\alpha\n$$", "$$\\alpha$$"),
        ("```nonsense\n<b>\n```", "&lt;b&gt;"),
        ("```python\nif x: pass\n```", 'font-weight:bold">if</span>'),
    ],
)
def test_markdown_is_rendered(text: str, html: str) -> None:
    assert html in to_html(text)


IMG = '<img src="/evil" onerror="x">'


@pytest.mark.parametrize(
    "text",
    [
        IMG,
        "<script>x</script>",
        f"text {IMG}",
        f"- a\n  ```\n{IMG}",
        f"```\ncode\r```\r{IMG}\n```",
        f"```\n```\t\n```\n{IMG}",
        f"[foo]:\n```\n{IMG}",
        f"$$\n```\n$$\n\n{IMG}",
        '![$"onerror="x"x="$](zz.png)',
        '![a](ask_files/$"onerror="x"x="$)',
        "![tracked](http://example.org/leak?d=secret)",
        "![logged out](/logout)",
        "[a](javascript:x)",
        "[a](JavaScript&colon;x)",
        "[a](\n&#106;avascript:x)",
        "[c]:\n&#106;avascript:x\n\n[c]",
        "[a](vbscript:x) [b](data:text/html,x) [c](file:///etc/passwd)",
        f'```"onload="x {IMG}\n```',
        f"$ {IMG} $ $$ {IMG} $$",
        f"| {IMG} |\n| - |",
        '[a](x ""onclick="x")',
    ],
)
def test_nothing_in_it_is_html_a_script_or_fetched(text: str) -> None:
    class Page(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("img", "script", "iframe", "svg")
            for name, value in attrs:
                assert not name.startswith("on")
                assert not (value or "").lower().strip().startswith(("javascript:", "vbscript:", "data:", "file:"))

    Page().feed(to_html(text))


def test_cards_escape_whatever_stands_in_them() -> None:
    evil = "<img src=x onerror=y>\"'&"
    call = CallStarted(evil, evil, evil, "python", evil)
    for done in (None, CallFinished(False, evil), CallFinished(True, evil, Execution("ok", evil, evil, notes=(evil,)))):
        assert "<img" not in CallCard(call, timed=True).html(evil, evil, done)
    link = file_link(GeneratedFile(evil, b"", "text/plain", saved_as=f"ask_files/{evil}"))
    assert "<img" not in link
    assert "\"'" not in link


def test_a_failed_call_is_shown_unfolded_and_a_good_one_folded() -> None:
    call = CallStarted("run_python", "", "docker", "python", "1/0")
    assert "<details" in (good := CallCard(call).html("", "", CallFinished(True, "", Execution("ok"))))
    assert " open>" not in good
    failed = CallFinished(False, "", Execution("error", error="ZeroDivisionError"))
    assert " open>" in CallCard(call).html("", "", failed)


ODD = "a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x1b]8;;x\x1b\\c\x1b]never closed\x00\x08\x9b\r\nd\re\x07 \x1b"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_models_text_loses_what_would_act_however_it_is_cut(size: int) -> None:
    pieces = CleanPieces()
    shown = "".join(pieces.add(ODD[begin : begin + size]) for begin in range(0, len(ODD), size)) + pieces.end()
    assert shown == clean(ODD) == "ared bc]never closed\nd\ne "


def test_what_is_no_control_character_stays() -> None:
    text = "👩\u200d👩\u200d👧 עברית \u0645\u06cc\u200c\u062e\n\ttab"
    assert clean(text) == without_turning(text) == text
    assert without_turning("a\u202eb\u202c\u2067c\u2069\u202ad") == "abcd"
    assert clean("half a character \ud83d") == "half a character ?"


def test_a_call_that_was_interrupted_is_shown_with_what_it_printed() -> None:
    call = CallStarted("run_python", "", "docker", "python", "work()")
    done = CallFinished(False, "", Execution("interrupted", "so far\n", seconds=1.2))
    html = CallCard(call, timed=True).html("", "", done)
    assert "✗ run_python · isolated kernel · interrupted · 1.2 s" in html
    assert "so far</pre>" in html
    assert CallCard(call).plain("", done) == "[run_python · isolated kernel · interrupted]\nwork()\n→ so far"


def test_a_title_shows_a_models_control_characters_as_escapes() -> None:
    card = CallCard(CallStarted("load_skill", "a\x1b[2J"))
    failed = CallFinished(False, "There is no skill 'a\x1b[2J'.")
    assert "\x1b" not in card.html("", "", failed) + card.plain("", failed)


def test_a_card_says_what_happened_to_variables() -> None:
    evil = "<b>\x1b"
    mutated = Change("df", "mutated", "3 x 2", "3 x 3")
    changes = (Change("x", "added", "", "int 3"), mutated, Change(evil, "deleted", evil))
    card = CallCard(CallStarted("run_python", "", "live", "python", "work()"))
    done = CallFinished(True, "", Execution("ok", "so\n", changes=changes))
    html = card.html("", "", done)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html)
    assert cells[:6] == ["<code>x</code>", "added", "int 3", "<code>df</code>", "changed in place", "3 x 2 → 3 x 3"]
    assert "<b>" not in html
    assert "\x1b" not in html + card.plain("", done)
    lines = ["x  added  int 3", "df  changed in place  3 x 2 → 3 x 3", "<b>\\x1b  deleted  <b>\\x1b"]
    assert card.plain("", done).splitlines()[-4:] == ["→ so", *lines]
    many = CallFinished(True, "", Execution("ok", changes=tuple(Change(f"v{i}", "added") for i in range(30))))
    assert card.html("", "", many).count("<tr>") == 21
    assert "… and 10 more" in card.html("", "", many)


def test_code_that_the_user_took_is_no_failure() -> None:
    done = CallFinished(False, "", Execution("edited", error="The user took it."))
    html = CallCard(CallStarted("run_python", "", "live", "python", "work()")).html("", "", done)
    assert "▸ run_python · this kernel · taken into a cell of your own" in html
    assert " open>" not in html


def test_an_error_that_is_shown_by_itself_is_not_in_the_card_too() -> None:
    call = CallStarted("run_python", "", "live", "python", "1/0")
    for traceback, there in (("\x1b[31mZeroDivisionError", False), ("", True)):
        done = CallFinished(False, "", Execution("error", "so far\n", "line 1\nZeroDivisionError", traceback=traceback))
        assert ("ZeroDivisionError" in CallCard(call, error_apart=True).html("", "", done)) == there
        assert "ZeroDivisionError" in CallCard(call).html("", "", done)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_what_is_overwritten_is_gone_however_it_is_cut(size: int) -> None:
    text = "a\r\n10%\r50%\r100%\ndone\rlast\r"
    lines = Lines()
    settled = "".join(lines.add(text[begin : begin + size]) for begin in range(0, len(text), size))
    assert settled + lines.last == clean_text(text) == "a\n100%\nlast"


def test_a_form_feed_clears_what_was_heard_and_no_code_can_send_one() -> None:
    told: list[str] = []
    heard = Heard(100, told.append)
    heard.print("old\f\x0b")
    heard.clear()
    heard.print("new")
    assert told == ["old", "\f", "new"]
    assert heard.text == "new"


def test_a_progress_bar_does_not_use_up_what_may_be_told_but_has_an_end() -> None:
    told: list[str] = []
    heard = Heard(100, told.append)
    for number in range(1000):
        heard.print(f"\r{number:>9}%")
    assert heard.text == "      999%"
    assert 500 < sum(map(len, told)) <= 1600
