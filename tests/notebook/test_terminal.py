"""``%%ask`` in plain terminal IPython, typed into a real terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn


@pytest.fixture
def terminal(workdir: Path, model: ScriptedModel) -> Iterator[pexpect.spawn]:
    arguments = ["-m", "IPython", "--no-banner", "--simple-prompt", "--no-confirm-exit", "--colors=NoColor"]
    terminal = pexpect.spawn(sys.executable, arguments, cwd=workdir, encoding="utf-8", timeout=60, dimensions=(50, 120))
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
        "I'll see.\n\n╭─ run_shell · isolated kernel\n│ echo hello; echo x > made.txt\n├─\n│ hello\n╰─ ok\n"
        "   ask_files/made.txt (2 bytes)\n\nHello it is.\n\nopenai/scripted · 240 tokens · "
    ) in shown


@pytest.mark.parametrize(("reply", "value"), [("y", "3"), ("n", "None")])
def test_live_code_waits_for_a_typed_y(terminal: pexpect.spawn, model: ScriptedModel, reply: str, value: str) -> None:
    model.add(Turn("", [Call("run_python", {"code": "total = 1 + 2"})]), Turn("Well."))
    ask(terminal, "-r live", "Add")
    terminal.expect(r"│ total = 1 \+ 2\s+Run this code in your kernel\? \[y/N\] ")
    terminal.sendline(reply)
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("print('total is', globals().get('total'))")
    terminal.expect(rf"total is {value}\r\n")


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
