"""``%%ask`` in plain terminal IPython, typed into a real terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted, Event, TextDone, Waiting
from jupyter_skills.execution.result import Change, Execution
from jupyter_skills.models.client import TextDelta
from jupyter_skills.rendering.terminal import TerminalRenderer
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import until
from tests.notebook.virtual_time import run


@pytest.fixture
def terminal(workdir: Path, model: ScriptedModel) -> Iterator[pexpect.spawn]:
    arguments = ["-m", "IPython", "--no-banner", "--simple-prompt", "--no-confirm-exit", "--colors=NoColor"]
    environment = {**os.environ, "NO_COLOR": "1"}  # read as text here; colours have their own tests
    terminal = pexpect.spawn(
        sys.executable, arguments, cwd=workdir, env=environment, encoding="utf-8", timeout=60, dimensions=(50, 120)
    )
    terminal.expect(r"In \[1\]: ")
    for line in ("%load_ext jupyter_skills", f"%config JupyterSkills.api_base = '{model.url}'"):
        terminal.sendline(line)
        terminal.expect(r"In \[\d+\]: ")
    yield terminal
    terminal.close(force=True)


def ask(terminal: pexpect.spawn, options: str, prompt: str) -> None:
    for line in (f"%%ask -m openai/scripted {options}", prompt, "", ""):
        terminal.sendline(line)


@pytest.mark.docker
def test_a_turn_is_printed_as_it_goes_on(terminal: pexpect.spawn, model: ScriptedModel) -> None:
    command = {"command": "echo hello; echo x > made.txt"}
    model.add(Turn("I'll see.", [Call("run_shell", command)]), Turn("Hello it is."))
    ask(terminal, "", "Say hello")
    terminal.expect(r"In \[\d+\]: $")
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", terminal.before.replace("\r\n", "\n"))
    assert (
        "I'll see.\n\n╭─ run_shell · isolated kernel\n│ echo hello; echo x > made.txt\n├─\n│ hello\n╰─ ok · TIME\n"
        "   ask_files/made.txt (2 bytes)\n\nHello it is.\n\nopenai/scripted · 240 tokens · "
    ) in re.sub(r"(?:< )?\d+\.\d s", "TIME", shown, count=1)


QUESTION = r"Run it\? \[y\]es, \[a\]lways exactly this code, \[e\]dit, or say why not: "


def value(terminal: pexpect.spawn, expression: str) -> str:
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline(f"print('value', {expression}, 'end')")
    terminal.expect(r"value (.*) end\r\n")
    return str(terminal.match[1])


@pytest.mark.parametrize(("reply", "total"), [("y", "3"), ("n", "None"), ("", "None"), ("not today", "None")])
def test_live_code_waits_for_a_typed_answer(
    terminal: pexpect.spawn, model: ScriptedModel, reply: str, total: str
) -> None:
    model.add(Turn("", [Call("run_python", {"code": "total = 1 + 2"})]), Turn("Well."))
    ask(terminal, "-r live", "Add")
    terminal.expect(r"│ total = 1 \+ 2\r\n├─ Run this code in your kernel\?\r\n│ binds  total\r\n" + QUESTION)
    terminal.sendline(reply)
    assert value(terminal, "globals().get('total')") == total
    said = model.requests[1].body["messages"][-1]["content"]
    assert ("They said: not today" in said) == (reply == "not today")


def test_what_is_typed_before_the_question_is_no_answer_to_it(terminal: pexpect.spawn, model: ScriptedModel) -> None:
    call = Call("run_python", {"code": "total = 1 + 2"})
    model.add(Turn("Thinking about it", [call], piece=5, hold_after=2), Turn("Well."))
    ask(terminal, "-r live", "Add")
    terminal.expect("Think")
    terminal.sendline("y")
    terminal.expect("y\r\n")
    model.release()
    terminal.expect(QUESTION)
    terminal.sendline("no")
    assert value(terminal, "globals().get('total')") == "None"


def test_the_end_of_input_declines(terminal: pexpect.spawn, model: ScriptedModel) -> None:
    model.add(Turn("", [Call("run_python", {"code": "total = 1 + 2"})]), Turn("Well."))
    ask(terminal, "-r live", "Add")
    terminal.expect(QUESTION)
    terminal.sendeof()
    assert value(terminal, "globals().get('total')") == "None"


def test_exactly_this_code_is_not_asked_about_again(terminal: pexpect.spawn, model: ScriptedModel) -> None:
    call = Call("run_python", {"code": "n = globals().get('n', 0) + 1"})
    model.add(Turn("", [call, call]), Turn("Well."))
    ask(terminal, "-r live", "Count")
    terminal.expect(QUESTION)
    terminal.sendline("a")
    assert value(terminal, "n") == "2"


def test_code_can_be_edited_at_the_next_prompt(workdir: Path, model: ScriptedModel) -> None:
    """In the terminal as people have it: a plain prompt can't be filled in."""
    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    arguments = ["-m", "IPython", "--no-banner", "--no-confirm-exit", "--colors=NoColor"]
    with closing(
        pexpect.spawn(
            sys.executable, arguments, cwd=workdir, env=environment, encoding="utf-8", timeout=60, dimensions=(50, 120)
        )
    ) as terminal:
        model.add(Turn("", [Call("run_python", {"code": "open('edited', 'w').close()"})]), Turn("Well."))
        lines = ["%load_ext jupyter_skills", f"%config JupyterSkills.api_base = '{model.url}'"]
        for number, line in enumerate([*lines, "%ask -m openai/scripted -r live Make it"], 1):
            terminal.expect(rf"In \[{number}\]:")
            terminal.send(f"{line}\r")
        terminal.expect(r"\[e\]dit, or say why not: ")
        terminal.send("e\r")
        terminal.expect(r"In \[4\]:[\s\S]*edit-[0-9a-f]{8}[\s\S]*close")
        assert not (workdir / "edited").exists()
        terminal.send("\x1b\r")  # runs what stands there, though it has more than one line
        until((workdir / "edited").exists, within=30)


def test_ctrl_c_stops_a_turn_and_the_shell_goes_on(terminal: pexpect.spawn, model: ScriptedModel) -> None:
    model.add(Turn("first and never last", piece=5, hold_after=3), Turn("Here I am."))
    ask(terminal, "-r off", "Talk")
    terminal.expect("first")
    terminal.sendintr()
    terminal.expect(
        r"AskInterrupted: The cell was interrupted\. The conversation and the sandbox stay usable\.", timeout=5
    )
    ask(terminal, "-r off", "Again")
    terminal.expect(r"Here I am\.")


def test_a_mistake_is_one_line(terminal: pexpect.spawn) -> None:
    terminal.sendline("%skill load nothing")
    terminal.expect(r"In \[\d+\]: ")
    lines = [line for line in terminal.before.replace("\r", "").splitlines()[1:] if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("SkillNotFound: There is no skill 'nothing'.")


CALL = CallStarted("run_python", "", "docker", "python", "if x:\n    print('a')\n")
DONE = CallFinished(True, "", Execution("ok", "a\nb\n", seconds=1.26))
EVENTS = [Waiting("Waiting for x"), TextDelta("Well."), TextDone("Well."), CALL, CallOutput("a\n"), DONE]

Printed = Callable[..., str]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Printed]:
    """What a terminal gets for some events, with a few variables of its environment."""
    ours, theirs = pty.openpty()

    def show(events: list[Event], *, wait: float = 0, **environment: str) -> str:
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        async def turn() -> None:
            renderer = TerminalRenderer()
            for event in events:
                renderer.show(event)
            await asyncio.sleep(wait)
            renderer.settle()

        with os.fdopen(os.dup(theirs), "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            run(turn())
            stream.write("END")
        shown = b""
        while not shown.endswith(b"END"):
            shown += os.read(ours, 4096)
        return shown.decode().replace("\r\n", "\n").removesuffix("END")

    yield show
    os.close(ours)
    os.close(theirs)


def test_code_has_colours_before_a_person(printed: Printed) -> None:
    shown = printed([CALL, DONE], TERM="xterm")
    assert "│ \x1b[34mif\x1b[39;49;00m x:" in shown
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert plain == ("╭─ run_python · isolated kernel\n│ if x:\n│     print('a')\n├─\n│ a\n│ b\n╰─ ok · 1.3 s\n\n")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_there_are_no_colours_for_those_who_want_none(printed: Printed, environment: dict[str, str]) -> None:
    assert "\x1b" not in printed([CALL, DONE], **environment)


def test_a_long_wait_is_counted_and_nothing_of_it_stays(printed: Printed) -> None:
    shown = printed([Waiting("Waiting for x")], wait=4.5, TERM="xterm")
    assert shown == "Waiting for x …\r\x1b[KWaiting for x … 3 s\r\x1b[KWaiting for x … 4 s\r\x1b[K"


def test_what_is_not_read_in_a_terminal_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    renderer = TerminalRenderer()
    for event in EVENTS:
        renderer.show(event)
    renderer.settle()
    assert capsys.readouterr().out == (
        "Well.\n\n╭─ run_python · isolated kernel\n│ if x:\n│     print('a')\n├─\n│ a\n│ b\n╰─ ok\n\n"
    )


def test_a_models_text_can_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    renderer = TerminalRenderer()
    for piece in ("one\r", "\ntwo \x1b", "[31mred\x1b[", "0m \u202e\u2066", "👩\u200d👧\x07"):
        renderer.show(TextDelta(piece))
    renderer.show(TextDone(""))
    assert capsys.readouterr().out == "one\ntwo red 👩\u200d👧\n\n"


def test_an_interrupted_call_says_so_after_what_it_printed(capsys: pytest.CaptureFixture[str]) -> None:
    renderer = TerminalRenderer()
    for event in (CALL, CallOutput("a\n"), CallFinished(False, "", Execution("interrupted", "a\n", seconds=1.26))):
        renderer.show(event)
    assert capsys.readouterr().out.endswith("├─\n│ a\n╰─ interrupted\n\n")


LIVE = CallStarted("run_python", "", "live", "python", "work()")
ADDED = (Change("x", "added", "", "int 3"),)
FAILED = CallFinished(False, "", Execution("error", "50%\n", "line 1\nE", changes=ADDED, traceback="\x1b[31mE: all"))


def test_an_error_of_live_code_has_ipythons_colours_before_a_person(printed: Printed) -> None:
    shown = printed([LIVE, CallOutput("\r10%"), CallOutput("\r50%"), CallOutput("\n"), FAILED], TERM="xterm")
    assert "├─\n│ \r│ 10%\r│ 50%\n│ \x1b[31mE: all\n╰─ failed\n   x  added  int 3\n" in shown


def test_a_progress_bar_is_one_line_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    renderer = TerminalRenderer()
    for event in (LIVE, CallOutput("\r10%"), CallOutput("\r50%"), CallOutput("\n"), FAILED):
        renderer.show(event)
    assert capsys.readouterr().out.endswith("├─\n│ 50%\n│ E: all\n╰─ failed\n   x  added  int 3\n\n")
