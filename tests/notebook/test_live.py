"""Code in the live kernel runs like a cell: what is seen of it, and what it leaves."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.frontend import Bundle, Cell, Notebook

During = Callable[[Cell, Bundle], None]

WAIT = """
import os, time
for _ in range(3000):
    if os.path.exists("go"):
        os.remove("go")
        break
    time.sleep(0.01)
else:
    raise TimeoutError("nobody saw it")
"""
"""Blocks the event loop until the file ``go`` appears."""


class Live:
    """A kernel in which a model's code runs by the consent that each cell gives.

    Args:
        notebook: The kernel.
        model: The model.
    """

    def __init__(self, notebook: Notebook, model: ScriptedModel) -> None:
        self.notebook = notebook
        self.model = model
        self.told = ""
        self.cell = Cell()
        notebook.use(model)

    def run(self, code: str, *, during: During | None = None, also: str = "") -> Cell:
        """Has the model run code; ``told`` is then what it was told of it."""
        self.model.add(Turn("", [Call("run_python", {"code": code})]), Turn("Done."))
        self.cell = self.notebook.run(f"%%ask -r live -y -n -o answer {also}\nGo", during=during)
        assert self.cell.error is None, self.cell.error
        self.told = self.model.requests[-1].body["messages"][-1]["content"]
        return self.cell

    def release_when(self, mark: str) -> During:
        """Lets ``WAIT`` go on once this is to be seen in an output."""

        def look(cell: Cell, _: Bundle) -> None:
            if any(mark in "".join(map(str, bundle.values())) for bundle in cell.outputs):
                (self.notebook.folder / "go").touch()

        return look

    def interrupted(self, code: str, *, during: During | None = None) -> Cell:
        """Has the model run code and interrupts it once it has made the file ``mark``."""
        mark = self.notebook.folder / "mark"
        self.model.add(Turn("", [Call("run_python", {"code": code})]))
        waiting = self.notebook.interrupt_when(mark.exists)
        self.cell = self.notebook.run("%%ask -r live -y -n -o answer\nGo", during=during)
        waiting.join()
        mark.unlink()
        assert self.cell.error is not None, "the cell went on"
        assert self.cell.error[0] == "AskInterrupted"
        self.told = ast.literal_eval(self.notebook.value("answer.messages[-1]['content']"))
        return self.cell

    @property
    def card(self) -> str:
        """The text of the card as it is now."""
        return unescape(re.sub(r"<[^>]*>", "", self.cell.outputs[0]["text/html"]))

    def value(self, expression: str) -> str:
        return self.notebook.value(expression)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory, kernel_environment: Mapping[str, str]) -> Iterator[Notebook]:
    """One kernel for all tests, with somebody before it who types ``typed``."""
    home = tmp_path_factory.mktemp("home")
    environment = {**kernel_environment, "HOME": str(home), "IPYTHONDIR": str(home), "JUPYTER_DATA_DIR": str(home)}
    with Notebook(tmp_path_factory.mktemp("work"), answer=lambda _: "typed", environment=environment) as notebook:
        notebook.run("%load_ext jupyter_skills")
        yield notebook


@pytest.fixture
def live(kernels: Notebook, model: ScriptedModel) -> Iterator[Live]:
    """Somebody watches."""
    kernels.answer = lambda _: "typed"
    yield Live(kernels, model)
    for left in kernels.folder.iterdir():
        left.unlink()


@pytest.fixture
def alone(kernels: Notebook, model: ScriptedModel) -> Iterator[Live]:
    """Nobody watches, as with nbclient."""
    kernels.answer = None
    yield Live(kernels, model)
    for left in kernels.folder.iterdir():
        left.unlink()


# -- text


@pytest.mark.parametrize(
    "prints",
    [
        "print('se' + 'en')",
        "import sys; sys.stdout.write('se' + 'en')",
        "import sys; print('se' + 'en', file=sys.stderr)",
        "print('first'); print('second'); print('se' + 'en')",
        "import threading; t = threading.Thread(target=print, args=('se' + 'en',)); t.start(); t.join()",
        "print('first')\nfor _ in range(99): print('more')\n!printf se; printf en",
        "%%bash\nprintf se; printf en\nfor i in $(seq 300); do test -e go && exit; sleep 0.1; done; exit 1",
    ],
)
def test_output_is_seen_while_the_code_blocks_the_event_loop(live: Live, prints: str) -> None:
    cell = live.run(prints + ("" if prints.startswith("%%") else WAIT), during=live.release_when("seen"))
    assert live.told.startswith("run_python: ok"), live.told
    assert "seen" in live.told
    assert (cell.stdout, cell.stderr) == ("", "")


def test_what_an_older_handler_of_logging_writes_is_heard(live: Live) -> None:
    live.notebook.run("import logging; logging.basicConfig(format='%(message)s')")
    live.run("import logging; logging.warning('mind' + ' it')")
    assert live.told.startswith("run_python: ok\n\nmind it")


def test_text_comes_in_the_order_in_which_it_was_printed(live: Live) -> None:
    live.run(
        "import sys\nfrom IPython.display import HTML, display\n"
        "print(1)\ndisplay(HTML('x'))\nprint(2, file=sys.stderr)\n3"
    )
    assert live.told.startswith("run_python: ok\n\n1\n<IPython.core.display.HTML object>\n2\n3\n")


def test_a_flood_is_bounded_and_its_end_is_told(live: Live) -> None:
    live.notebook.run("%config DockerSandbox.output_limit = 3000")
    live.run("for i in range(20_000): print('line', i)")
    live.notebook.run("%config DockerSandbox.output_limit = 65536")
    assert "line 0\n" in live.told
    assert "line 19999" in live.told
    assert "characters left out" in live.told
    assert len(live.told) < 3500


def test_of_a_progress_bar_the_last_state_is_told_and_the_others_are_seen(live: Live) -> None:
    states: list[str] = []
    code = (
        "import sys, time\nfor i in range(30):\n    print(f'\\r{i}' + '%', end='')\n    time.sleep(0.02)\n"
        "print()\nprint('e' + 'nd')"
    )
    live.run(code, during=lambda cell, _: states.extend(re.findall(r"(\d+)%</pre>", str(cell.outputs))))
    assert live.told.startswith("run_python: ok\n\n29%\nend")
    assert len(set(states)) > 1


def test_code_may_put_streams_of_its_own_in_place(live: Live) -> None:
    live.run(
        "import contextlib, io, sys\nwith contextlib.redirect_stdout(io.StringIO()) as held:\n    print('held')\n"
        "print(len(held.getvalue()))\nold, mine = sys.stdout, io.StringIO()\nsys.stdout = mine"
    )
    assert live.told.startswith("run_python: ok\n\n5\n")
    assert live.value("1") == ""  # the code's own stream is still there
    live.notebook.run("sys.stdout = old")
    assert live.value("'1' in mine.getvalue()") == "True"


def test_what_is_printed_after_the_code_has_ended_belongs_to_the_cell(live: Live) -> None:
    live.run(
        "import asyncio, threading\nwait = threading.Event()\n"
        "async def later():\n    await asyncio.sleep(0)\n    print('task')\n"
        "async def holding():\n    while not wait.is_set(): await asyncio.sleep(0.01)\n    print('ta' + 'sk')\n"
        "task = asyncio.create_task(holding())\n"
        "thread = threading.Thread(target=lambda: (wait.wait(), print('thr' + 'ead')))\nthread.start()\nprint('now')"
    )
    assert live.told.startswith("run_python: ok\n\nnow\n")
    live.run("print('a second' + ' run')\nwait.set()\nthread.join()\nawait task")
    assert live.told.startswith("run_python: ok\n\na second run\n")
    assert live.cell.stdout == "thread\n"  # as IPython does it: the task's belongs to the cell that started it


# -- displays


def test_a_value_is_shown_and_kept_nowhere(live: Live) -> None:
    live.notebook.run("'mine'")
    before = "[_, __, ___, _i, _ii, len(In), sorted(Out), get_ipython().execution_count]"
    live.notebook.run("kept = " + before)
    live.run("'a val' + 'ue'")
    assert live.told == "run_python: ok\n\n'a value'"
    live.notebook.run("now = " + before)
    count = int(live.value("now[-1] - kept[-1]"))
    assert count == 2, "the two cells themselves, and those that this test ran"
    assert live.value("now[:3] == kept[:3] and now[6] == kept[6]") == "True"
    assert live.value("any(\"'a val' + \" in cell for cell in In[:-1])") == "False"
    assert live.value("any('a value' == out for out in Out.values())") == "False"


def test_a_semicolon_keeps_a_value_quiet(live: Live) -> None:
    live.run("1 + 1;")
    assert live.told == "run_python: ok"


def test_displays_come_at_once_and_in_order(live: Live) -> None:
    live.run(
        "from IPython.display import HTML, display\nimport pandas as pd\ndisplay(HTML('<b>se' + 'en</b>'))"
        + WAIT
        + "display({'application/vnd.plotly.v1+json': {'data': []}, 'text/plain': 'a plot'}, raw=True)\n"
        "pd.DataFrame({'a': [1]})",
        during=live.release_when("seen"),
    )
    assert [sorted(bundle)[0] for bundle in live.cell.outputs[1:4]] == [
        "text/html",
        "application/vnd.plotly.v1+json",
        "text/html",
    ]
    assert "a plot\n   a\n0  1" in live.told


FIGURE = "%matplotlib inline\nimport matplotlib.pyplot as plt\n"


def test_pictures_are_shown_as_they_come_and_kept_with_the_answer(live: Live) -> None:
    live.run(
        FIGURE + "from IPython.display import display\nfigure, _ = plt.subplots(figsize=(1, 1))\ndisplay(figure)\n"
        "plt.close()" + WAIT + "plt.figure(figsize=(2, 1)); plt.plot([1])",
        during=live.release_when("iVBORw0KGgo"),  # how each PNG begins
    )
    assert live.cell.kinds()[1:3] == ["image/png", "image/png"]
    assert len([kind for kind in live.cell.kinds() if kind == "image/png"]) == 2
    assert "Figures shown to the user: " in live.told
    assert live.value("[image.mime_type for image in answer.images]") == "['image/png', 'image/png']"


def test_a_display_that_is_updated_changes_where_it_is(live: Live) -> None:
    live.run(
        "from IPython.display import HTML, display, update_display\n"
        "handle = display(HTML('one'), display_id=True)\ndisplay(HTML('between'))\n"
        "for text in ('two', 'three'): handle.update(HTML(text))\n"
        "display('a', display_id='x')\nupdate_display('b', display_id='x')"
    )
    assert [bundle.get("text/html", bundle["text/plain"]) for bundle in live.cell.outputs[1:4]] == [
        "three",
        "between",
        "'b'",
    ]
    assert live.told.count("HTML object") == 3, "as it was shown, and as it ended"


@pytest.mark.parametrize("watched", [True, False])
def test_a_display_of_an_earlier_cell_can_be_updated(live: Live, *, watched: bool) -> None:
    live.notebook.run("from IPython.display import *\nhandle = display(HTML('x'), display_id='early')")
    live.notebook.answer = live.notebook.answer if watched else None
    live.model.add(
        Turn("", [Call("run_python", {"code": "update_display(HTML('new'), display_id='early')"})]), Turn("Ok.")
    )
    with pytest.raises(KeyError, match="early"):  # the frontend knows that display from another cell
        live.notebook.run("%%ask -r live -y -n\nGo")
    live.notebook.run("1")


def test_clearing_takes_away_what_the_code_has_shown_and_nothing_else(live: Live) -> None:
    live.run(
        "from IPython.display import HTML, clear_output, display\nprint('old text')\n"
        "display(HTML('old'))\ndisplay(HTML('older'))\n"
        "clear_output()\nprint('new text')\ndisplay(HTML('new'))"
    )
    assert live.told.startswith("run_python: ok\n\nnew text\n<IPython.core.display.HTML object>")
    assert [bundle.get("text/html", "") for bundle in live.cell.outputs[1:3]] == ["new", ""]
    assert "old text" not in live.card.partition("display(HTML('new'))")[2]


def test_a_picture_that_is_drawn_again_and_again_has_one_place(live: Live) -> None:
    live.run(
        "from IPython.display import HTML, clear_output, display\n"
        "for i in range(5):\n    clear_output(wait=True)\n    display(HTML(f'state {i}'))"
    )
    assert [bundle["text/html"] for bundle in live.cell.outputs[1:2]] == ["state 4"]
    assert sum("state" in bundle.get("text/html", "") for bundle in live.cell.outputs[1:]) == 1


def test_where_nobody_watches_each_display_is_shown_once_below_the_card(alone: Live) -> None:
    code = (
        "from IPython.display import HTML, clear_output, display\ndisplay(HTML('gone'))\nclear_output()\n"
        "handle = display(HTML('one'), display_id=True)\nhandle.update(HTML('two'))\n"
        "print('text')\ndisplay(HTML('three'))"
    )
    alone.notebook.run("HTML = clear_output = display = handle = None; del HTML, clear_output, display, handle")
    first = alone.run(code)
    assert [bundle["text/html"] for bundle in first.outputs[1:3]] == ["two", "three"]
    assert first.updates == 0
    alone.notebook.run("del HTML, clear_output, display, handle")
    assert alone.run(code).outputs == first.outputs, "a saved notebook equals its next execution"


def test_widgets_are_shown_as_in_a_cell(live: Live) -> None:
    live.run("import ipywidgets\nipywidgets.IntSlider(value=3)")
    assert "application/vnd.jupyter.widget-view+json" in live.cell.outputs[1]
    assert "IntSlider(value=3)" in live.told


def test_help_is_output(live: Live) -> None:
    live.run("def double(x):\n    'Twice it.'\n\ndouble?")
    assert "Signature: double(x)" in live.told
    assert "Twice it." in live.told


def test_code_can_not_put_text_into_the_users_cells(live: Live) -> None:
    live.run("get_ipython().set_next_input('rm', replace=True)")
    assert "that was left out" in live.told


def test_code_may_ask_where_somebody_can_answer(live: Live) -> None:
    live.run("input('Name? ')")
    assert live.cell.asked == ["Name? "]
    assert live.told == "run_python: ok\n\n'typed'"


def test_code_that_asks_where_nobody_can_answer_fails_readably(alone: Live) -> None:
    alone.run("input('Name? ')")
    assert "this frontend does not support input requests" in alone.told


def test_an_object_that_can_not_be_shown_says_why(live: Live) -> None:
    live.run("class Odd:\n    def _repr_html_(self):\n        raise ValueError('no' + ' page')\nOdd()")
    assert live.told.startswith("run_python: ok")
    assert "ValueError: no page" in live.told


# -- errors


def test_an_error_is_shown_as_ipython_shows_it_and_told_in_a_few_lines(live: Live) -> None:
    live.run("def half(x):\n    return x / 0\n\nprint('so far')\nhalf(1)")
    assert live.told.startswith(
        "run_python: error\n\nso far\n\nError:\nline 5\n    half(1)\nline 2, in half\n    return x / 0\n"
        "ZeroDivisionError: division by zero"
    )
    shown = live.cell.outputs[1]["text/plain"]
    assert "\x1b[31mZeroDivisionError\x1b[39m" in shown
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert "----> 2     return x / 0" in plain
    number = int(live.value("len(In)")) - 2
    assert f"Cell In[{number}], line 5" in plain
    assert "jupyter_skills" not in plain
    assert "interactiveshell" not in plain
    assert "Traceback" not in live.card


def test_where_nobody_watches_the_error_is_in_the_card_without_paths(alone: Live) -> None:
    alone.run("import json\njson.loads('{')")
    assert "line 2\n    json.loads('{')\nin json.decoder, raw_decode\nJSONDecodeError: Expecting property" in alone.card
    assert "\x1b" not in str(alone.cell.outputs)
    assert "site-packages" not in str(alone.cell.outputs)
    assert "/json/" not in str(alone.cell.outputs)


@pytest.mark.parametrize(
    ("code", "told", "shown"),
    [
        ("x = (1,\n  2 3)", "line 2\n    2 3)\n    ^", "SyntaxError"),
        (
            "if True:\nx = 1",
            "line 2\n    x = 1\n    ^\nIndentationError: expected an indented block",
            "IndentationError",
        ),
        ("return 1", "SyntaxError: 'return' outside function", "SyntaxError"),
        ("%no_such_magic", "UsageError: Line magic function `%no_such_magic` not found.", "UsageError"),
        (
            "try:\n    1 / 0\nexcept ArithmeticError as error:\n    raise KeyError('b') from error",
            "line 2\n    1 / 0\nZeroDivisionError: division by zero\nThat was the cause of:\nline 4\n",
            "The above exception was the direct cause",
        ),
        (
            "try:\n    1 / 0\nexcept ArithmeticError:\n    {}['b']",
            "While that was handled:\nline 4\n    {}['b']\nKeyError: 'b'",
            "another exception occurred",
        ),
        (
            "def odd():\n    raise ValueError('inner')\ntry:\n    odd()\nexcept ValueError as error:\n"
            "    raise ExceptionGroup('several', [error, TypeError('t')])",
            "ExceptionGroup: several (2 sub-exceptions)\n1. line 4\n       odd()\n   line 2, in odd\n"
            "       raise ValueError('inner')\n   ValueError: inner\n2. TypeError: t",
            "Exception Group Traceback",
        ),
        ("error = ValueError('a')\nerror.add_note('a hint')\nraise error", "ValueError: a\na hint", "a hint"),
        ("class Error(Exception):\n    def __str__(self): return 1\nraise Error", "<exception str() failed>", "Error"),
        ("def again(): again()\nagain()", "RecursionError: maximum recursion depth", "RecursionError"),
        ("raise ValueError('\\x1b[2J\\x07' + 'end')", "ValueError: end", "ValueError"),
    ],
)
def test_every_kind_of_error_is_told_and_shown(live: Live, code: str, told: str, shown: str) -> None:
    live.run(code)
    assert live.told.startswith("run_python: error")
    assert told in live.told
    text = live.cell.outputs[1]["text/plain"]
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert shown in plain
    assert "\x1b" not in plain
    assert "interactiveshell.py" not in plain
    assert "jupyter_skills" not in plain


@pytest.mark.parametrize("code", ["exit()", "quit()", "exit", "import sys\nsys.exit()", "raise SystemExit(0)"])
def test_an_exit_ends_the_code_alone(live: Live, code: str) -> None:
    live.run(f"print('before')\n{code}\nprint('after')" if code != "exit" else code)
    assert live.told.startswith("run_python: ok")
    assert "The code ended itself by an exit; the kernel goes on." in live.told
    assert "after" not in live.told
    assert "To exit" not in live.told
    assert live.value("1 + 1") == "2"


@pytest.mark.parametrize("base", ["Exception", "BaseException"])
def test_an_error_whose_text_is_an_exit_ends_neither_the_kernel_nor_the_turn(live: Live, base: str) -> None:
    live.run(f"class Bad({base}):\n    def __str__(self): raise SystemExit\nraise Bad")
    assert "an error that can't be shown: showing it raised SystemExit" in live.told
    assert live.notebook.value("1 + 1") == "2"


@pytest.mark.parametrize("method", ["__str__", "__eq__", "__bool__"])
def test_an_exit_with_an_object_of_the_codes_own_is_an_error_and_changes_no_rule(live: Live, method: str) -> None:
    live.run(
        "get_ipython().jupyter_skills.settings.approval = 'allow'\n"
        f"class Status:\n    def {method}(self, *_): raise RuntimeError\nraise SystemExit(Status())"
    )
    assert "an error that can't be shown" in live.told
    assert live.notebook.value("get_ipython().jupyter_skills.settings.approval") == "'ask'"


def test_variables_that_who_hides_are_watched_too(live: Live) -> None:
    live.notebook.run("from_startup = [1]\nget_ipython().user_ns_hidden['from_startup'] = from_startup")
    live.run("from_startup.append(2)\nopen = 3")
    assert "changed in place from_startup (list, 1 item → list, 2 items)" in live.told
    assert "rebound open (function → int 3)" in live.told
    live.notebook.run("%skill undo")
    assert live.notebook.value("from_startup, callable(open)") == "([1], True)"


def test_what_decides_about_consent_is_put_back(live: Live) -> None:
    live.run("settings = get_ipython().jupyter_skills.settings\nsettings.approval, settings.run = 'allow', 'live'")
    assert "JupyterSkills.approval is for the user alone to set; it was put back." in live.told
    settings = "get_ipython().jupyter_skills.settings"
    assert live.notebook.value(f"{settings}.approval, {settings}.run") == "('ask', 'docker')"
    live.run("%config JupyterSkills.run = 'live'")
    assert live.notebook.value(f"{settings}.run, {settings}.place_set") == "('docker', None)"


def test_where_variables_can_not_be_watched_the_code_runs_and_that_is_said(live: Live) -> None:
    changes = "import jupyter_skills.notebook.live.changes as changes"
    live.notebook.run(f"{changes}\nkept, changes.Snapshot = changes.Snapshot, None")
    try:
        live.run("print(6 * 7)")
    finally:
        live.notebook.run("changes.Snapshot = kept\ndel changes, kept")
    assert "42\n" in live.told
    assert "What it did to variables is not known, and can't be undone" in live.told


def test_a_number_in_a_variable_that_is_called_like_a_secret_is_not_told(live: Live) -> None:
    live.run("db_password = 4321\ncount = 4322")
    assert "added db_password (int)" in live.told
    assert "added count (int 4322)" in live.told


def test_an_exit_with_a_status_is_an_error(live: Live) -> None:
    live.run("import sys\nsys.exit('no data')")
    assert live.told.startswith("run_python: error\n\nError:\nSystemExit: no data")


def test_the_debugger_finds_the_error_afterwards(live: Live) -> None:
    live.run("def half(x):\n    return x / 0\nhalf(42)")
    assert live.value("__import__('sys').last_type.__name__") == "'ZeroDivisionError'"
    replies = iter(["p x", "q"])
    live.notebook.answer = lambda _: next(replies)
    assert "42" in live.notebook.run("%debug").stdout


def test_a_tasks_cancellation_is_an_error_of_the_code_and_not_of_the_turn(live: Live) -> None:
    live.run("import asyncio\ntask = asyncio.create_task(asyncio.sleep(9))\ntask.cancel()\nawait task")
    assert "CancelledError" in live.told
    live.run("raise KeyboardInterrupt")
    assert live.told.startswith("run_python: error")


# -- interrupts

MARK = "open('mark', 'w').close()\n"


@pytest.mark.parametrize(
    "works",
    [
        "import time\ntime.sleep(60)",
        "import asyncio\nawait asyncio.sleep(60)",
        "while True: pass",
        "import time\nwhile True:\n    try: time.sleep(60)\n    except Exception: pass",
        "import time\nasync def inner(): time.sleep(60)\nimport asyncio\nawait asyncio.gather(inner(), inner())",
        "import subprocess\nsubprocess.run(['sleep', '60'])",
        "!touch mark; sleep 60",  # made there, for an interrupt of IPython's own fork is another matter
        "import threading\nthreading.Event().wait(60)",
        "while True: print('more')",
    ],
)
def test_an_interrupt_ends_code_at_once(live: Live, works: str) -> None:
    cell = live.interrupted(f"kept = 1\nprint('so' + ' far')\n{works if 'mark' in works else MARK + works}")
    assert live.told.startswith("run_python: interrupted\n\nso far\n")
    assert "so far" in live.card
    assert "interrupted" in live.card
    assert (cell.stdout, cell.stderr) == ("", "")
    assert live.value("[(run.outcome, run.consent) for run in answer.code]") == "[('interrupted', '-y')]"
    live.run("kept + 1")
    assert live.told == "run_python: ok\n\n2"


def test_an_interrupt_that_code_swallows_ends_the_turn_when_the_code_has_ended(live: Live) -> None:
    live.interrupted(
        f"import time\ntry:\n    {MARK}    time.sleep(60)\nexcept KeyboardInterrupt: pass\nprint('we' + 'nt on')"
    )
    assert live.told.startswith("run_python: interrupted\n\nwent on\n")
    live.interrupted(
        f"import asyncio\ntry:\n    {MARK}    await asyncio.sleep(60)\n"
        "except asyncio.CancelledError: pass\nprint('we' + 'nt on')"
    )
    assert live.told.startswith("run_python: interrupted\n\nwent on\n")


def test_signal_handlers_are_those_from_before(live: Live) -> None:
    live.notebook.run("import signal\nmine = lambda *_: None\nsignal.signal(signal.SIGUSR1, mine)")
    handlers = "[signal.getsignal(one) is mine for one in [signal.SIGUSR1]], signal.getsignal(signal.SIGINT)"
    before = live.value(handlers)
    live.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert live.value(handlers) == before
    live.interrupted(f"import time\n{MARK}time.sleep(60)")
    assert live.value(handlers) == before


# -- variables


def test_what_happened_to_variables_is_shown_and_told(live: Live) -> None:
    live.notebook.run("rows = [1]\nname = 'secret'\ngone = 1\nsame = {}\nnumber = 1")
    live.run("rows.append(2)\nname = 'other secret'\ndel gone\nfresh = 2\nnumber += 1\n_ = 5")
    said = live.told.partition("Variables: ")[2]
    assert said == (
        "changed in place rows (list, 1 item → list, 2 items); rebound name (str, 6 characters → str, 12 characters); "
        "deleted gone (int 1); rebound number (int 1 → int 2); added fresh (int 2)"
    )
    for words in ("rows", "changed in place", "list, 1 item → list, 2 items", "fresh", "added"):
        assert words in live.card
    assert "<table" in live.cell.outputs[0]["text/html"]
    assert (
        live.value("[change.name for change in answer.code[0].changes]")
        == "['rows', 'name', 'gone', 'number', 'fresh']"
    )
    live.notebook.run("del _")


def test_interrupted_code_tells_what_it_had_changed(live: Live) -> None:
    live.notebook.run("rows = []")
    live.interrupted(f"rows.append(1)\nimport time\n{MARK}time.sleep(60)")
    assert "changed in place rows" in live.told


def test_many_variables_are_counted(live: Live) -> None:
    live.run("for i in range(100): globals()[f'many_{i}'] = i")
    assert "… and 71 more" in live.told
    assert "… and 81 more" in live.card


def test_what_can_not_be_given_back_is_noted(live: Live) -> None:
    live.notebook.run("import numpy as np\n%config JupyterSkills.undo_memory = 1\nbig = np.zeros(1_000_000)")
    live.run("big[5] = 1")
    assert (
        "'%skill undo' could not give back all that these hold: big (ndarray, 1,000,000 float64, 8.0 MB: too large)."
        in live.told
    )
    live.notebook.run("%config JupyterSkills.undo_memory = 256\ndel big")
