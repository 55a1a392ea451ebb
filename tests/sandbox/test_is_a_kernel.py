"""The isolated kernel in the hands of programs that know nothing of it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pexpect
import pytest

from jupyter_skills.sandbox.settings import KERNEL_NAME
from tests.conftest import until

pytestmark = pytest.mark.docker

INSIDE = "10001"  # the user's number in the sandbox image


def test_the_jupyter_console_runs_interrupts_and_ends_it(workdir: Path, containers: Callable[..., list[str]]) -> None:
    arguments = ["-m", "jupyter_console", "--kernel", KERNEL_NAME, "--simple-prompt"]
    console = pexpect.spawn(sys.executable, arguments, cwd=workdir, encoding="utf-8", timeout=60, dimensions=(50, 120))
    try:
        console.expect(r"In \[1\]: ")
        console.sendline("import os; print('user', os.getuid())")
        console.expect(rf"user {INSIDE}\r\n")
        console.expect(r"In \[2\]: ")
        assert len(containers(console.pid)) == 1
        console.sendline("name = input('Your name? ')")
        console.expect(r"Your name\? ")
        console.sendline("Ada")
        console.expect(r"In \[3\]: ")
        console.sendline("print('loo' + 'ping', flush=True); [None for _ in iter(int, 1)]")
        console.expect("looping")
        console.sendintr()
        console.expect("KeyboardInterrupt")
        console.expect(r"In \[\d+\]: ")
        console.sendline("print('still here,', name)")
        console.expect("still here, Ada\r\n")
        console.sendline("exit")
        console.expect(pexpect.EOF)
        until(lambda: not containers(console.pid))
    finally:
        console.close(force=True)


def test_nbval_compares_a_notebook_with_what_it_prints(workdir: Path, containers: Callable[..., list[str]]) -> None:
    notebook = nbformat.v4.new_notebook()
    for count, (source, value) in enumerate([("import os; os.getuid()", INSIDE), ("6 * 7", "42"), ("6 * 7", "43")], 1):
        result = nbformat.v4.new_output("execute_result", {"text/plain": value}, execution_count=count)
        notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=[result], execution_count=count))
    nbformat.write(notebook, "saved.ipynb")
    options = ["-c", "/dev/null", "-p", "no:cacheprovider", "--nbval", f"--nbval-kernel-name={KERNEL_NAME}"]
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, "saved.ipynb"], stdout=subprocess.PIPE, text=True
    ) as nbval:
        told = nbval.communicate(timeout=120)[0]
    assert re.search(r"1 failed, 2 passed", told), told
    assert "Cell 2: Cell outputs differ" in re.sub(r"\x1b\[[0-9;]*m", "", told)
    until(lambda: not containers(nbval.pid))
