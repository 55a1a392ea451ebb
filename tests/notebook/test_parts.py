"""The parts of the notebook room that need no kernel."""

from __future__ import annotations

import pytest

from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.agent.markdown import harmless
from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.arguments import parse_ask
from jupyter_skills.notebook.render.card import call_card, file_link
from jupyter_skills.notebook.transform import await_ask
from jupyter_skills.sandbox.contract import Execution, GeneratedFile


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
    options, _ = parse_ask("-m x -s a -s 'b c' -r live -y -n -o v --max-steps 3 --timeout 1.5 --no-stream --soft go")
    assert vars(options) == {
        "help": False,
        "model": "x",
        "skill": ["a", "b c"],
        "run": "live",
        "yes": True,
        "new": True,
        "output": "v",
        "system": None,
        "max_steps": 3,
        "timeout": 1.5,
        "no_stream": True,
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
    "text",
    [
        "# Title\n\nPlain *text* with $a < b$, 1 < 2, `code` and a [link](https://example.org/?a=1).",
        "```html\n<b>code</b>\n```\n\n~~~\n<i>\n~~~",
        "<https://example.org/>",
        "| a | b |\n| - | - |\n| 1 | 2 |",
        "",
    ],
)
def test_harmless_markdown_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<script>x</script>",
        "<IMG SRC=x onerror=y>",
        "text <img\nsrc=x onerror=y>",
        "</div><iframe>",
        "<!-- x --><?php ?>",
        "- a\n  ```\n<img src=x>",
        "> ```\n<img src=x>",
        "```\ncode\n```\n<img src=x>",
        "```` \n```\n````\n<img src=x>",
        "``` <img src=x>",
        "~~~<img src=x>\n",
        "```a`b\n<img src=x>",
        "```\ncode\r```\r<img src=x>\n```",
        "[foo]:\n```\n<img src=x>",
    ],
)
def test_no_tag_is_left_outside_of_code(text: str) -> None:
    import re

    assert not re.search(r"<(img|script|iframe|/div|!|\?)", harmless(text).replace("code", ""), re.IGNORECASE)


@pytest.mark.parametrize(
    "link",
    [
        "[a](javascript:x)",
        "[a](JavaScript :x)",
        "[a]: vbscript:x",
        "[a](data:text/html,x)",
        "[a](&#106;avascript:x)",
        "[a](java&Tab;script&colon;x)",
    ],
)
def test_no_link_leads_to_a_script(link: str) -> None:
    import html
    import re

    target = re.sub(r"[\t\n ]", "", html.unescape(harmless(link))).lower()
    assert not any(scheme in target for scheme in ("javascript:", "vbscript:", "data:text"))


def test_cards_escape_whatever_stands_in_them() -> None:
    evil = "<img src=x onerror=y>\"'&"
    call = CallStarted(evil, evil, evil, "python", evil)
    for done in (None, CallFinished(False, evil), CallFinished(True, evil, Execution("ok", evil, evil, notes=(evil,)))):
        assert "<img" not in call_card(call, evil, evil, done)
    link = file_link(GeneratedFile(evil, b"", "text/plain", saved_as=f"ask_files/{evil}"))
    assert "<img" not in link
    assert "\"'" not in link


def test_a_failed_call_is_shown_unfolded_and_a_good_one_folded() -> None:
    call = CallStarted("run_python", "", "docker", "python", "1/0")
    assert "<details" in (good := call_card(call, "", "", CallFinished(True, "", Execution("ok"))))
    assert " open>" not in good
    assert " open>" in call_card(call, "", "", CallFinished(False, "", Execution("error", error="ZeroDivisionError")))
