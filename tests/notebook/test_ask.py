"""``%%ask`` in a real ipykernel, seen as a frontend sees it."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import until
from tests.frontend import Bundle, Cell, Notebook

BALL = """\
import sys
sys.path.insert(0, "/skills/gif-maker")
from gif_maker import animate
animate(lambda canvas, t: canvas.ellipse((20, 20 + 10 * t), 5, "red"), "ball.gif", size=(40, 40), seconds=0.4)
print("a,b", file=open("data.csv", "w"))
"""


@pytest.fixture
def asker(workdir: Path) -> Iterator[Notebook]:
    """A notebook whose user answers each question with the next of ``replies``."""
    with Notebook(workdir, answer=lambda _: asker_replies.pop(0)) as notebook:
        notebook.run("%load_ext jupyter_skills")
        yield notebook


asker_replies: list[str] = []


@pytest.mark.docker
def test_the_main_job(notebook: Notebook, model: ScriptedModel) -> None:
    """Load a skill, ask, run its code in isolation, see the picture."""
    model.add(
        Turn("I'll look.", [Call("load_skill", {"name": "gif-maker"})]),
        Turn("", [Call("run_python", {"code": BALL}), Call("run_shell", {"command": "ls /skills /work"})]),
        Turn("Here it **is**."),
    )
    notebook.use(model)
    assert "Loaded gif-maker" in notebook.run("%skill load gif-maker").stdout
    cell = notebook.run("%%ask -o answer\nCreate a bouncing ball GIF")
    assert cell.error is None, cell.error
    assert cell.kinds() == [
        *["text/html", "text/html"],
        *["text/html", "image/gif", "text/html", "text/html"],
        *["text/html", "text/html", "text/html"],
    ]
    gif = base64.b64decode(cell.outputs[3]["image/gif"])
    assert gif.startswith(b"GIF89a")
    assert (notebook.folder / "ask_files/ball.gif").read_bytes() == gif
    assert 'href="ask_files/data.csv" download="data.csv"' in cell.outputs[5]["text/html"]
    assert "/skills:\ngif-maker" in cell.plain
    assert notebook.value("[f.saved_as for f in answer.files]") == "['ask_files/ball.gif', 'ask_files/data.csv']"
    assert (cell.stdout, cell.stderr) == ("", "")


def test_the_prompt_reaches_the_model_as_it_was_typed(notebook: Notebook, model: ScriptedModel) -> None:
    prompt = (
        'Explain {"a": {}} and $x_{1}$ and `!ls`, %magic, f"{x!r}", \\n, \'\'\' and """:\n\n    indented\ttab\n%%time'
    )
    model.add(Turn("Ok."))
    notebook.use(model)
    assert notebook.run(f"%%ask -r off\n{prompt}\n").error is None
    assert model.requests[0].body["messages"][1]["content"] == prompt


def test_words_after_the_options_are_the_first_line_of_the_prompt(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*[Turn("Ok.")] * 3)
    notebook.use(model)
    notebook.run("%%ask -r off What's this -m about?\nSecond line")
    notebook.run("%ask -r off --system 'Be brief' Don't {panic}")
    notebook.run("for word in ['one']:\n    %ask -r off from a loop")
    prompts = [request.body["messages"][-1]["content"] for request in model.requests]
    assert prompts == ["What's this -m about?\nSecond line", "Don't {panic}", "from a loop"]
    assert model.requests[1].body["messages"][0]["content"].endswith("Be brief")


def test_markdown_grows_while_it_comes_where_somebody_watches(asker: Notebook, model: ScriptedModel) -> None:
    model.add(Turn("first and *last*", piece=5, hold_after=2))
    asker.use(model)
    seen: list[str] = []

    def watch(cell: Cell, _: Bundle) -> None:
        if cell.outputs and "first" in cell.outputs[0]["text/plain"]:
            seen.append(cell.outputs[0]["text/html"])
            model.release()

    cell = asker.run("%%ask -r off\nTalk", during=watch)
    assert seen[0] == "<p>first</p>\n"
    assert cell.outputs[0]["text/html"] == "<p>first and <em>last</em></p>\n"
    assert cell.updates >= 1


def test_each_part_is_shown_once_where_nobody_watches(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*[Turn("A long answer in many pieces.", piece=1)] * 2)
    notebook.use(model)
    first, second = (notebook.run("%%ask -n -r off\nTalk") for _ in range(2))
    assert first.updates == 0
    assert first.outputs == second.outputs, "a saved notebook equals its next execution"


def test_a_new_conversation_forgets_the_old_one(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*[Turn("Ok.")] * 4)
    notebook.use(model)
    for cell in ("%%ask -r off\nOne", "%%ask -r off\nTwo", "%%ask -n -r off\nThree"):
        notebook.run(cell)
    notebook.run("%skill reset\n%ask -r off Four")
    assert [len(request.body["messages"]) for request in model.requests] == [2, 4, 2, 2]


def test_just_the_named_skills_are_put_before_the_model(
    notebook: Notebook, model: ScriptedModel, workdir: Path
) -> None:
    from tests.conftest import write_skill

    write_skill(workdir / ".agents/skills", "mine", body="Do it with care, and only if asked.")
    model.add(Turn("Ok."), Turn("Ok."))
    notebook.use(model)
    notebook.run("%skill load gif-maker")
    notebook.run("%%ask -r off -s mine\nHello")
    notebook.run("%%ask -r off\nHello")
    systems = [request.body["messages"][0]["content"] for request in model.requests]
    assert ["gif-maker" in system for system in systems] == [False, True]
    assert ["<name>mine</name>" in system for system in systems] == [True, True]


@pytest.mark.parametrize(
    ("reply", "runs"), [("y", True), (" Y ", True), ("yes", True), ("n", False), ("", False), ("yep", False)]
)
def test_live_code_is_shown_and_runs_after_a_y_only(
    asker: Notebook, model: ScriptedModel, reply: str, *, runs: bool
) -> None:
    asker_replies[:] = [reply]
    model.add(
        Turn("", [Call("run_python", {"code": "total = sum(values)\nprint('adding')\ntotal"})]), Turn("So it is.")
    )
    asker.use(model)
    asker.run("values = [1, 2, 3]")
    shown: list[str] = []
    cell = asker.run("%%ask -r live -o answer\nAdd my values", during=lambda cell, _: shown.append(cell.plain))
    assert cell.error is None
    assert cell.asked == ["Run it? [y]es, [a]lways exactly this code, [e]dit, or say why not: "]
    assert any("total = sum(values)" in plain and "running" in plain for plain in shown), (
        "shown before it is asked about"
    )
    assert asker.value("globals().get('total')") == ("6" if runs else "None")
    told = model.requests[1].body["messages"][-1]["content"]
    assert told.startswith("run_python: ok\n\nadding\n6") == runs
    assert ("declined to run this code; it did not run" in told) != runs
    consent = "" if runs else ", declined: yep" if reply == "yep" else ", declined"
    assert asker.value("[(c.place, c.consent, c.outcome) for c in answer.code]") == repr(
        [("live", "user, typed" + consent, "ok" if runs else "declined")]
    )


def test_live_code_without_anybody_to_ask_fails_the_cell_and_runs_nothing(
    notebook: Notebook, model: ScriptedModel
) -> None:
    model.add(Turn("", [Call("run_python", {"code": "touched = True"})]), Turn("I could not."))
    notebook.use(model)
    cell = notebook.run("%%ask -r live\nTouch it")
    assert cell.error is not None
    assert cell.error[0] == "ConsentUnavailable"
    assert "nobody here to ask" in cell.error[1]
    assert notebook.value("'touched' in globals()") == "False"
    assert notebook.run("%%ask -r live\nWell then").error is None


def test_consent_given_beforehand_holds_for_that_cell_alone(notebook: Notebook, model: ScriptedModel) -> None:
    call = Turn("", [Call("run_python", {"code": "count = globals().get('count', 0) + 1"})])
    model.add(call, Turn("Done."), call)
    notebook.use(model)
    assert notebook.run("%%ask -r live -y\nCount").error is None
    cell = notebook.run("%%ask -r live\nCount")
    assert cell.error is not None
    assert cell.error[0] == "ConsentUnavailable"
    assert notebook.value("count") == "1"


def test_the_setting_can_deny_and_allow(asker: Notebook, model: ScriptedModel) -> None:
    for policy, outcome, consent in (("deny", "declined", "setting, declined"), ("allow", "ok", "setting")):
        model.add(Turn("", [Call("run_python", {"code": "1"})]), Turn("So."))
        asker.use(model)
        asker.run(f"%config JupyterSkills.approval = '{policy}'")
        assert asker.run("%%ask -r live -o a\nDo").error is None
        assert asker.value("a.code[0].outcome, a.code[0].consent") == repr((outcome, consent))


def test_live_code_runs_like_a_cell(notebook: Notebook, model: ScriptedModel) -> None:
    code = """\
import asyncio, matplotlib.pyplot as plt
await asyncio.sleep(0)
here = %pwd
plt.plot([1, 2])
from IPython.display import HTML, display
display(HTML("<b>bold</b>"))
_ = plt.savefig("saved.png")
"""
    model.add(Turn("", [Call("run_python", {"code": "%matplotlib inline\n" + code})]), Turn("Done."))
    notebook.use(model)
    before = notebook.value("len(In)")
    cell = notebook.run("%%ask -r live -y\nDraw")
    assert cell.error is None
    assert [kind for kind in cell.kinds() if kind.startswith("image")] == ["image/png", "image/png"]
    assert any(bundle.get("text/html") == "<b>bold</b>" for bundle in cell.outputs)
    assert 'href="saved.png"' in json.dumps(cell.outputs).replace('\\"', '"')
    assert notebook.value("here") == repr(str(notebook.folder))
    assert int(notebook.value("len(In)")) - int(before) == 3, "only the cells themselves are in the history"


def test_an_error_in_live_code_is_told_and_the_turn_goes_on(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(Turn("", [Call("run_python", {"code": "kept = 1\n1 / 0"})]), Turn("Oh."))
    notebook.use(model)
    cell = notebook.run("%%ask -r live -y\nFail")
    assert cell.error is None
    assert "Oh." in cell.plain
    assert "ZeroDivisionError: division by zero" in cell.plain
    assert "ZeroDivisionError: division by zero" in model.requests[1].body["messages"][-1]["content"]
    assert notebook.value("kept") == "1"


@pytest.mark.docker
@pytest.mark.parametrize("place", ["docker", "live"])
def test_an_interrupt_ends_code_at_once_and_all_stays_usable(asker: Notebook, model: ScriptedModel, place: str) -> None:
    mark = "open('mark', 'w').close()\n" if place == "live" else ""
    code = f"import time\nx = 1\nprint('be' + 'gun', flush=True)\n{mark}time.sleep(50)"
    model.add(Turn("", [Call("run_python", {"code": code})]))
    asker.use(model)
    shown: list[str] = []
    marked = asker.folder / "mark"
    asker.interrupt_when(lambda: marked.exists() or (shown and "begun" in shown[-1]))
    began = time.monotonic()
    cell = asker.run(f"%%ask -r {place} -y\nWork", during=lambda cell, _: shown.append(str(cell.outputs)))
    assert time.monotonic() - began < 20
    assert cell.error is not None
    assert cell.error[0] == "AskInterrupted"
    model.add(Turn("", [Call("run_python", {"code": "print(x)"})]), Turn("It is 1."))
    assert asker.run(f"%%ask -r {place} -y\nAnd now?").error is None
    assert model.requests[-1].body["messages"][-1]["content"] == "run_python: ok\n\n1"


def test_an_interrupt_of_live_code_that_awaits_leaves_the_kernel_alive(asker: Notebook, model: ScriptedModel) -> None:
    code = "import asyncio\nkept = 1\nopen('mark', 'w').close()\nawait asyncio.sleep(50)"
    model.add(Turn("", [Call("run_python", {"code": code})]))
    asker.use(model)
    asker.interrupt_when((asker.folder / "mark").exists)
    cell = asker.run("%%ask -r live -y\nWait")
    assert cell.error is not None
    assert cell.error[0] == "AskInterrupted"
    assert asker.value("kept") == "1"


def test_an_interrupt_while_the_question_stands_is_no_consent(workdir: Path, model: ScriptedModel) -> None:
    asked: list[str] = []
    interrupting: list[threading.Thread] = []

    def answer_too_late(question: str) -> str:
        asked.append(question)
        interrupting[0].join()
        return "y"

    with Notebook(workdir, answer=answer_too_late) as notebook:
        notebook.run("%load_ext jupyter_skills")
        model.add(Turn("", [Call("run_python", {"code": "touched = True"})]))
        notebook.use(model)
        interrupting.append(notebook.interrupt_when(lambda: asked))
        cell = notebook.run("%%ask -r live\nTouch")
        assert cell.error is not None
        assert cell.error[0] == "AskInterrupted"
        assert notebook.value("'touched' in globals()") == "False"
        told = notebook.value("get_ipython().jupyter_skills.conversation.messages[-1]['content']")
        assert "It did not run: nobody has consented to it." in told
        assert "not given" in notebook.run("%skill log").stdout


def test_all_of_live_code_is_shown_before_it_is_asked_about(asker: Notebook, model: ScriptedModel) -> None:
    asker_replies[:] = ["n"]
    code = "x = 1\n" * 5000 + "# \x1b[8m\u202e\nhidden = True"
    model.add(Turn("", [Call("run_python", {"code": code})]), Turn("No."))
    asker.use(model)
    shown: list[str] = []
    asker.run("%%ask -r live\nHide", during=lambda cell, _: shown.append(str(cell.outputs)))
    card = next(text for text in shown if "running" in text)
    assert "hidden" in card
    assert "\\\\x1b[8m\\\\u202e" in card


def test_an_interrupt_ends_a_call_from_code_too(asker: Notebook, model: ScriptedModel) -> None:
    model.add(Turn("first and never last", piece=5, hold_after=3), Turn("Here I am."))
    asker.use(model)
    asker.interrupt_when(lambda: model.requests)
    cell = asker.run("if True:\n    %ask -r off Talk")
    assert cell.error is not None
    assert cell.error[0] == "AskInterrupted"
    assert "Here I am." in asker.run("%%ask -r off\nAgain").plain


def test_an_interrupt_ends_a_stalled_stream_at_once(asker: Notebook, model: ScriptedModel) -> None:
    model.add(Turn("first and never last", piece=5, hold_after=3), Turn("Here I am."))
    asker.use(model)
    shown: list[str] = []
    asker.interrupt_when(lambda: shown and "first" in shown[-1])
    cell = asker.run("%%ask -r off\nTalk", during=lambda cell, _: shown.append(cell.plain))
    assert cell.error is not None
    assert cell.error[0] == "AskInterrupted"
    assert "first" in cell.plain, "what was said stays"
    assert "Here I am." in asker.run("%%ask -r off\nAgain").plain


@pytest.mark.docker
def test_the_container_goes_with_the_kernel(notebook: Notebook, model: ScriptedModel, containers: object) -> None:
    model.add(Turn("", [Call("run_python", {"code": "1"})]), Turn("Done."))
    notebook.use(model)
    notebook.run("%%ask\nGo")
    owner = int(notebook.value("__import__('os').getpid()"))
    assert len(containers(owner)) == 1  # type: ignore[operator]
    notebook.manager.shutdown_kernel(now=True)
    assert until(lambda: not containers(owner)) < 5  # type: ignore[operator]


def test_files_are_never_overwritten(notebook: Notebook, model: ScriptedModel) -> None:
    folder = notebook.folder / "ask_files"
    folder.mkdir()
    (folder / "note.txt").write_text("the user's own")
    for text in ("made", "made", "other"):
        command = {"command": f"echo {text} > note.txt"}
        model.add(Turn("", [Call("run_shell", command)]), Turn("Done."))
        notebook.use(model)
        assert notebook.run("%%ask\nMake").error is None
        notebook.run("%skill sandbox stop")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "note.txt": "the user's own",
        "note-2.txt": "made\n",
        "note-3.txt": "other\n",
    }
