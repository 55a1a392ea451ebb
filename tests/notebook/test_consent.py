"""Consent to code in the live kernel, with buttons or by typing: a real kernel, seen as JupyterLab sees it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import write_skill
from tests.frontend import Cell, Notebook
from tests.notebook.page import VIEW, Page, open_comms, payloads

replies: list[str] = []
asked: list[str] = []


def answer(question: str) -> str:
    asked.append(question)
    return replies.pop(0)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, kernel_environment: Mapping[str, str]) -> Iterator[Notebook]:
    """One kernel of each ipykernel for all tests."""
    with Notebook(tmp_path_factory.mktemp("consent"), answer, kernel_environment) as notebook:
        skill(notebook.folder)
        notebook.run("%load_ext jupyter_skills")
        notebook.payloads = payloads(notebook)  # type: ignore[attr-defined]
        yield notebook


@pytest.fixture
def notebook(kernel: Notebook, model: ScriptedModel) -> Notebook:
    """The kernel with a new session of ours, before a new model."""
    asked.clear()
    replies.clear()
    kernel.payloads.clear()  # type: ignore[attr-defined]
    kernel.run("%unload_ext jupyter_skills\nget_ipython().config.pop('JupyterSkills', None)\n%reset -f")
    kernel.run("%load_ext jupyter_skills")
    kernel.use(model)
    return kernel


def skill(folder: Path) -> Path:
    """A skill whose one tool counts how often it was called."""
    made = write_skill(folder, "mine")
    (made / "tools.py").write_text(
        "from jupyter_skills import tool\nimport os\n\n\n@tool\ndef count(text: str) -> int:\n"
        '    """Counts."""\n    os.remove("never") if not text else None\n    return len(text)\n'
    )
    return made


def python(*pieces: str, then: str = "Well.") -> list[Turn]:
    return [*(Turn("", [Call("run_python", {"code": piece})]) for piece in pieces), Turn(then)]


def ask(notebook: Notebook, act: Callable[[Page], None], **how: Any) -> tuple[Cell, Page]:
    """Asks, before a page on which somebody acts."""
    page = Page(notebook, act, **how)
    return notebook.run("%%ask -r live -o answer\nGo", during=page), page


def told(model: ScriptedModel) -> str:
    return str(model.requests[-1].body["messages"][-1]["content"])


def consents(notebook: Notebook) -> str:
    return notebook.value("[(run.consent, run.outcome) for run in answer.code]")


def test_code_runs_after_a_click(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("total = sum(values)\ntotal"))
    notebook.run("values = [1, 2, 3]")
    seen: list[str] = []

    def click(page: Page) -> None:
        seen.extend([page.html, *page.buttons().values()])
        page.click("Run")

    cell, _ = ask(notebook, click)
    assert cell.error is None, cell.error
    assert seen[1:] == ["Run", "Run, and don't ask again for exactly this code", "Edit in a cell below", "Decline"]
    assert "Run this code in your kernel?" in seen[0]
    assert (notebook.value("total"), told(model).startswith("run_python: ok\n\n6")) == ("6", True)
    assert consents(notebook) == repr([("user, by button", "ok")])
    assert asked == []


def test_of_the_question_one_plain_line_is_left(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("1"))
    cell, page = ask(notebook, lambda page: page.click("Run"))
    assert page.shown
    assert [bundle for bundle in cell.outputs if VIEW in bundle] == []
    assert "Run, by your consent." in [bundle["text/plain"] for bundle in cell.outputs]
    assert "<script" not in json.dumps(cell.outputs)
    assert "<button" not in json.dumps(cell.outputs)
    assert open_comms(notebook) == [], "nothing is left that a page could still show or use"


def test_exactly_this_code_is_not_asked_about_again_and_any_other_is(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(
        *python("n = globals().get('n', 0) + 1", "n = globals().get('n', 0) + 1", "n = globals().get('n', 0) + 1 ")
    )
    acts = ["Run, and don't", "Decline"]
    ask(notebook, lambda page: page.click(acts.pop(0)))
    assert acts == []
    assert notebook.value("n") == "2"
    assert consents(notebook) == repr(
        [
            ("user, by button, for exactly this code", "ok"),
            ("user, for exactly this code", "ok"),
            ("user, by button, declined", "declined"),
        ]
    )


def test_consent_to_a_skill_is_to_its_tools_as_they_are_and_not_to_the_model_s_own_code(
    notebook: Notebook, model: ScriptedModel
) -> None:
    count = Turn("", [Call("mine__count", {"text": "abc"}), Call("mine__count", {"text": "<b>four</b>"})])
    model.add(count, Turn("", [Call("run_python", {"code": "1"})]), Turn("Well."))
    assert notebook.run("%skill trust ./mine").error is None
    notebook.run("%skill load ./mine --pin")
    acts, seen = ["Allow mine", "Decline"], []

    def act(page: Page) -> None:
        seen.append(page.html)
        page.click(acts.pop(0))

    ask(notebook, act)
    assert consents(notebook) == repr(
        [("user, by button, for mine", "ok"), ("user, for mine", "ok"), ("user, by button, declined", "declined")]
    )
    assert all(
        words in seen[0] for words in ("Run the tool count of the skill mine", "text = &#x27;abc&#x27;", "sha256:")
    )
    changed = notebook.folder / "mine" / "tools.py"
    before = changed.read_text()
    changed.write_text(before + "\n")
    try:
        notebook.run("%skill trust ./mine")
        model.add(Turn("", [Call("mine__count", {"text": "abc"})]), Turn("Well."))
        acts[:] = ["Decline"]
        ask(notebook, act)
        assert consents(notebook) == repr([("user, by button, declined", "declined")])
    finally:
        changed.write_text(before)


def test_code_can_be_declined_with_a_word_of_reason(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("touched = True"))

    def act(page: Page) -> None:
        page.type("use the other table")
        page.click("Decline")

    cell, _ = ask(notebook, act)
    assert cell.error is None
    assert "The user declined to run this code; it did not run. They said: use the other table" in told(model)
    assert "Declined: use the other table" in cell.plain
    assert notebook.value("'touched' in globals()") == "False"


def test_enter_in_the_field_declines_too(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("touched = True"))

    def act(page: Page) -> None:
        page.press_enter()
        page.type("no")  # a page says so after the key

    ask(notebook, act)
    assert "They said: no" in told(model)
    assert notebook.value("'touched' in globals()") == "False"


def test_what_is_typed_without_enter_declines_nothing(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("touched = True"))

    def act(page: Page) -> None:
        page.type("no")
        page.click("Run")

    ask(notebook, act)
    assert consents(notebook) == repr([("user, by button", "ok")])


def test_what_is_edited_goes_into_one_cell_and_the_model_is_told(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("x = 1", "y = 2"))
    ask(notebook, lambda page: page.click("Edit"))
    assert "The user took this code into a cell of their own" in told(model)
    assert consents(notebook) == repr([("user, by button, taken to edit", "edited")] * 2)
    (payload,) = [p for p in notebook.payloads if p["source"] == "set_next_input"]  # type: ignore[attr-defined]
    assert payload["replace"] is False
    head, _, code = payload["text"].partition("\n")
    assert head.startswith("# ")
    assert code == "x = 1\n\ny = 2\n"
    assert notebook.value("'x' in globals()") == "False"


def hears(notebook: Notebook, model: ScriptedModel) -> str:
    """What the model gets with the next prompt."""
    model.add(Turn("Ok."))
    assert notebook.run("%%ask -r off\nWell?").error is None
    return str(model.requests[-1].body["messages"][-1]["content"])


def edited(notebook: Notebook, model: ScriptedModel, code: str) -> str:
    model.add(*python(code))
    ask(notebook, lambda page: page.click("Edit"))
    return str(notebook.payloads[-1]["text"])  # type: ignore[attr-defined]


def test_what_became_of_an_edited_cell_is_told_once(notebook: Notebook, model: ScriptedModel) -> None:
    given = edited(notebook, model, "x = 1\nx")
    assert hears(notebook, model) == "Well?"  # that it was taken was said at once
    notebook.run(given)
    news = "[The user took your code 'x = 1 …' to edit: they ran it as it was; it ended well.]"
    assert hears(notebook, model) == f"{news}\n\nWell?"
    assert hears(notebook, model) == "Well?"
    notebook.run(given.replace("x = 1", "x = 1 / 0"))
    news = hears(notebook, model)
    assert "they changed it and ran it; it failed with ZeroDivisionError: division by zero" in news
    assert "What they ran:\nx = 1 / 0" in news
    notebook.run("x = 5")
    assert hears(notebook, model) == "Well?"


def test_a_prompt_that_failed_leaves_what_is_to_be_told_for_the_next(notebook: Notebook, model: ScriptedModel) -> None:
    given = edited(notebook, model, "x = 1")
    notebook.run(given)
    model.add(Turn(status=500))
    assert notebook.run("%%ask -r off\nWell?").error is not None
    assert "they ran it as it was" in hears(notebook, model)


@pytest.mark.parametrize("code", ["%%time\nz = 1", "!true", "await __import__('asyncio').sleep(0)\nz = 1"])
def test_an_edited_cell_runs_as_it_was_meant(notebook: Notebook, model: ScriptedModel, code: str) -> None:
    given = edited(notebook, model, code)
    assert notebook.run(given).error is None
    assert "they ran it as it was; it ended well" in hears(notebook, model)


def test_a_mark_of_another_session_means_nothing(notebook: Notebook, model: ScriptedModel) -> None:
    assert notebook.run("# The model's code, yours now. [edit-0123abcd]\nx = 1").error is None
    notebook.use(model)
    assert hears(notebook, model) == "Well?"


def test_a_page_that_does_not_say_that_it_shows_buttons_is_asked_by_typing(
    notebook: Notebook, model: ScriptedModel
) -> None:
    model.add(*python("a = 1", "b = 1", "c = 1"))
    replies[:] = ["y", "y", "not that"]
    withdrawn: list[str] = []
    page = Page(notebook, lambda _: None, reports=False)

    def during(cell: Cell, content: dict[str, Any]) -> None:
        page(cell, content)
        withdrawn.extend(words for bundle in cell.outputs if "please type" in (words := bundle.get("text/html", "")))

    cell = notebook.run("%%ask -r live -o answer\nGo", during=during)
    assert cell.error is None
    assert asked == ["Run it? [y]es, [a]lways exactly this code, [e]dit, or say why not: "] * 3
    assert withdrawn, "it says that there are no buttons"
    assert len(page.shown) == 2, "after two questions in vain no more buttons are shown"
    assert consents(notebook) == repr(
        [("user, typed", "ok"), ("user, typed", "ok"), ("user, typed, declined: not that", "declined")]
    )
    assert open_comms(notebook) == []


def test_a_first_report_that_goes_astray_is_followed_by_another(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("1"))
    ask(notebook, lambda page: page.click("Run"), astray=1)
    assert consents(notebook) == repr([("user, by button", "ok")])


def test_what_a_page_makes_up_grants_nothing(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("touched = True"))

    def act(page: Page) -> None:
        run, html = page.button("Run"), next(iter(page.models))
        click = {"method": "custom", "content": {"event": "click"}}
        for comm in (html, page.shown[0], page.field, "f00d"):
            page.send(comm, click)
        for content in ({"event": "Click"}, {"event": "run"}, {"choice": "run"}, ["click"], "click", None):
            page.send(run, {"method": "custom", "content": content})
        page.send(run, {"method": "update", "state": {"description": "Decline", "granted": True}, "buffer_paths": []})
        page.send(run, {"method": "request_state"})
        page.click("Decline")

    ask(notebook, act)
    assert consents(notebook) == repr([("user, by button, declined", "declined")])
    assert notebook.value("'touched' in globals()") == "False"


def test_a_click_that_comes_late_does_nothing(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("a = 1", "touched = True"))
    old: list[str] = []

    def act(page: Page) -> None:
        if not old:
            old.append(page.button("Run"))
            page.click("Run")
            page.click("Run")
            return
        page.send(old[0], {"method": "custom", "content": {"event": "click"}})
        page.click("Decline")

    ask(notebook, act)
    assert consents(notebook) == repr([("user, by button", "ok"), ("user, by button, declined", "declined")])
    assert notebook.value("'touched' in globals()") == "False"


def test_an_interrupt_while_the_buttons_stand_ends_the_cell_and_grants_nothing(
    notebook: Notebook, model: ScriptedModel
) -> None:
    model.add(*python("touched = True"))
    standing = threading.Event()
    interrupting = notebook.interrupt_when(standing.is_set)
    cell, page = ask(notebook, lambda _: standing.set())
    interrupting.join()
    assert cell.error is not None
    assert cell.error[0] == "AskInterrupted"
    assert "Interrupted: it did not run." in cell.plain
    page.send(page.shown[0], {"method": "custom", "content": {"event": "click"}})
    assert notebook.value("'touched' in globals()") == "False"
    assert open_comms(notebook) == []


@pytest.mark.parametrize(
    ("reply", "words", "outcome"),
    [
        ("y", "user, typed", "ok"),
        (" YES ", "user, typed", "ok"),
        ("a", "user, typed, for exactly this code", "ok"),
        ("e", "user, typed, taken to edit", "edited"),
        ("n", "user, typed, declined", "declined"),
        ("", "user, typed, declined", "declined"),
        ("s", "user, typed, declined", "declined"),
        ("yep", "user, typed, declined: yep", "declined"),
        ("y es", "user, typed, declined: y es", "declined"),
    ],
)
def test_what_is_typed_decides(notebook: Notebook, model: ScriptedModel, reply: str, words: str, outcome: str) -> None:
    notebook.run("get_ipython().jupyter_skills.person._silences = 9")  # no page: no need to wait for one
    model.add(*python("1"))
    replies[:] = [reply]
    assert notebook.run("%%ask -r live -o answer\nGo").error is None
    assert consents(notebook) == repr([(words, outcome)])


def test_a_skill_can_be_allowed_by_typing(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("get_ipython().jupyter_skills.person._silences = 9")
    notebook.run("%skill trust ./mine\n%skill load ./mine --pin")
    model.add(Turn("", [Call("mine__count", {"text": "a"}), Call("mine__count", {"text": "ab"})]), Turn("Well."))
    replies[:] = ["s"]
    notebook.run("%%ask -r live -o answer\nGo")
    assert "[s]kill mine" in asked[0]
    assert consents(notebook) == repr([("user, typed, for mine", "ok"), ("user, for mine", "ok")])


def test_the_setting_can_decline_for_a_person_who_is_there(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("%config JupyterSkills.approval = 'deny'")
    model.add(*python("touched = True"))
    cell, page = ask(notebook, lambda page: page.click("Run"))
    assert cell.error is None
    assert (page.shown, asked) == ([], [])
    assert "The user's settings declined to run this code" in told(model)
    assert consents(notebook) == repr([("setting, declined", "declined")])


def test_without_ipywidgets_there_are_no_buttons(notebook: Notebook, model: ScriptedModel) -> None:
    notebook.run("import sys\nkept = sys.modules.pop('ipywidgets')\nsys.modules['ipywidgets'] = None")
    try:
        model.add(*python("1"))
        replies[:] = ["y"]
        cell = notebook.run("%%ask -r live -o answer\nGo")
        assert cell.error is None
        assert len(asked) == 1
    finally:
        notebook.run("sys.modules['ipywidgets'] = kept")


def test_code_can_not_answer_for_the_code_after_it(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("import builtins\nbuiltins.input = lambda *_: 'y'", "stolen = 1"))
    notebook.run("import sys\nkept = sys.modules.pop('ipywidgets')\nsys.modules['ipywidgets'] = None")
    replies[:] = ["y", "n"]
    try:
        assert notebook.run("%%ask -r live -o answer\nGo").error is None
    finally:
        notebook.run("sys.modules['ipywidgets'] = kept")
    assert len(asked) == 2
    assert notebook.value("'stolen' in globals()") == "False"


def test_unloading_leaves_no_hook_behind(notebook: Notebook, model: ScriptedModel) -> None:
    callbacks = "len(get_ipython().events.callbacks['post_run_cell'])"
    before = notebook.value(callbacks)
    edited(notebook, model, "x = 1")
    assert notebook.value(callbacks) != before
    notebook.run("%unload_ext jupyter_skills")
    assert notebook.value(callbacks) == before
    notebook.run("%load_ext jupyter_skills")


def test_the_log_has_each_execution_with_its_consent_in_words(notebook: Notebook, model: ScriptedModel) -> None:
    model.add(*python("import os\nos.remove('no such file')", "kept = 1", "left = 2"))
    acts = ["Run", "Run, and don't", "Decline"]
    ask(notebook, lambda page: page.click(acts.pop(0)))
    table = notebook.run("%skill log").stdout.splitlines()
    assert "user, by button  " in table[1]
    assert "user, by button, for exactly this code" in table[2]
    assert "user, by button, declined" in table[3]
    full = notebook.run("%skill log 1").stdout
    assert "risk     Deletes files: os.remove('no such file') (line 2)." in full
    assert full.endswith("\n\nimport os\nos.remove('no such file')\n")
    entries = json.loads(notebook.run("%skill log --json").stdout)
    assert [entry["consent"] for entry in entries] == [
        "user, by button",
        "user, by button, for exactly this code",
        "user, by button, declined",
    ]
    assert [len(entry["risks"]) for entry in entries] == [1, 0, 0]
    assert [change["name"] for change in entries[1]["changes"]] == ["kept"]
