"""``jupyter skills ask``, with real litellm against the scripted model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import write_skill


@pytest.fixture(autouse=True)
def reached(model: ScriptedModel, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", model.url)
    monkeypatch.setenv("OPENAI_API_KEY", "for-the-tests")
    monkeypatch.setenv("JUPYTER_SKILLS_MODEL", "openai/scripted")


def asked(*words: str, stdin: str = "") -> tuple[int, str, str]:
    command = [sys.executable, "-m", "jupyter_skills.cli", "ask", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_the_answer_is_printed_with_what_it_cost(model: ScriptedModel) -> None:
    model.add(Turn("Forty-two."))
    status, out, err = asked("What", "is", "it?", "-r", "off")
    assert (status, err) == (0, "")
    assert out.startswith("Forty-two.\n")
    assert "openai/scripted · " in out.splitlines()[-1]
    assert model.requests[0].body["messages"][-1] == {"role": "user", "content": "What is it?"}


def test_the_question_may_come_by_standard_input(model: ScriptedModel) -> None:
    model.add(Turn("Yes."))
    assert asked("-", "-r", "off", stdin="Is {this} $literal?\n")[0] == 0
    assert model.requests[0].body["messages"][-1]["content"].startswith("Is {this} $literal?")


@pytest.mark.docker
def test_its_code_runs_in_a_sandbox_and_files_are_saved_here(model: ScriptedModel, workdir: Path) -> None:
    write_skill(workdir / ".agents" / "skills", "notes", body="Write notes.")
    code = "open('note.txt', 'w').write('kept'); print('written')"
    model.add(Turn("", [Call("load_skill", {"name": "notes"}), Call("run_python", {"code": code})]), Turn("Done."))
    status, out, err = asked("Write a note", "-s", "notes", "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert (answer["text"], answer["finish_reason"]) == ("Done.", "stop")
    assert answer["files"] == [{"path": "ask_files/note.txt", "mime_type": "text/plain", "size": 4}]
    assert [(run["place"], run["outcome"]) for run in answer["code"]] == [("docker", "ok")]
    assert (workdir / "ask_files" / "note.txt").read_text() == "kept"


def test_what_can_t_be_asked_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, says in (
        (["hello", "-s", "nowhere"], "There is no skill 'nowhere'"),
        (["  "], "There is nothing to ask"),
        (["hello", "-m", "no-such/model", "-r", "off"], "no-such/model"),
    ):
        status, out, err = asked(*words)
        assert (status, out) == (2, "")
        assert says in err
        assert len(err.splitlines()) == 1
    monkeypatch.delenv("JUPYTER_SKILLS_MODEL")
    assert "JUPYTER_SKILLS_MODEL" in asked("hello")[2]


def test_files_are_attached_and_a_dry_run_shows_what_would_be_sent(model: ScriptedModel, workdir: Path) -> None:
    (workdir / "data.csv").write_text("a,b\n1,2\n")
    status, out, err = asked("What is in it?", "-a", "data.csv", "-r", "off", "--dry-run", "--json")
    assert (status, err, model.requests) == (0, "", [])
    shown = json.loads(out)
    assert "a,b\n1,2\n" in shown[-1]["content"]
    model.add(Turn("Numbers."))
    assert asked("What is in it?", "-a", "data.csv", "-r", "off")[0] == 0
    assert model.requests[0].body["messages"] == shown


def test_a_limit_that_is_reached_is_no_failure_and_is_said(model: ScriptedModel) -> None:
    model.add(*[Turn("Working.", [Call("fly", {})])] * 2)
    status, out, _ = asked("Go on", "-r", "off", "--max-steps", "2")
    assert (status, out.splitlines()[-1].partition("stopped")[1:]) == (
        0,
        ("stopped", " after the last of its steps (--max-steps)"),
    )


def test_a_limit_that_makes_no_sense_is_said(model: ScriptedModel) -> None:
    for option in ("--max-cost", "--timeout"):
        for value in ("nan", "-1", "much"):
            status, _, err = asked("Go on", option, value)
            assert (status, "is not a positive number" in err) == (2, True)
    assert not model.requests
