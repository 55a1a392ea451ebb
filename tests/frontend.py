"""A frontend without a page: it talks to a real ipykernel as JupyterLab or nbclient would."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from jupyter_client.manager import KernelManager

Bundle = dict[str, Any]


@dataclass
class Cell:
    """What came of a cell.

    Args:
        outputs: Its displays in the order they were first shown, each in its last version.
        stdout: What it printed.
        stderr: What it printed as errors.
        error: ``(name, value, rendered lines)`` if it failed.
        updates: How many times a display was changed after it was shown.
        asked: The questions that were put to the user.
    """

    outputs: list[Bundle] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    error: tuple[str, str, list[str]] | None = None
    updates: int = 0
    asked: list[str] = field(default_factory=list)

    @property
    def plain(self) -> str:
        """All displays as text."""
        return "\n".join(bundle.get("text/plain", "") for bundle in self.outputs)

    def kinds(self) -> list[str]:
        """The richest MIME type of each display."""
        return [sorted(bundle, key="text/plain".__eq__)[0] for bundle in self.outputs]


class Notebook:
    """A kernel and a client.

    Args:
        folder: The kernel's working folder.
        answer: Called with each question to the user; without it the frontend takes no input, like nbclient.
        environment: What the kernel's environment has beyond this process's own.
    """

    def __init__(
        self,
        folder: Path,
        answer: Callable[[str], str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.answer = answer
        self.environment = environment or {}

    def __enter__(self) -> Self:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(self.folder), env={**os.environ, **self.environment})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=False)

    def interrupt_when(self, condition: Callable[[], object]) -> threading.Thread:
        """Interrupts the kernel as soon as it is so; asked from a thread, for the kernel may say nothing meanwhile."""

        def wait() -> None:
            while not condition():
                time.sleep(0.01)
            self.manager.interrupt_kernel()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread

    def run(self, code: str, *, during: Callable[[Cell, Bundle], None] | None = None, timeout: float = 60) -> Cell:
        """Runs a cell to its end.

        Args:
            code: The cell.
            during: Called after each message with the cell so far and the message's content.
            timeout: Seconds without any message after which the test fails.
        """
        cell = Cell()
        by_id: dict[str, int] = {}
        request = self.client.execute(code, allow_stdin=self.answer is not None)
        while True:
            if self.answer is not None:
                self._answer(cell)
            try:
                message = self.client.get_iopub_msg(timeout=0.05 if self.answer else timeout)
            except queue.Empty:
                assert self.answer is not None, f"no word from the kernel for {timeout} s"
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind == "stream":
                setattr(cell, content["name"], getattr(cell, content["name"]) + content["text"])
            elif kind in ("display_data", "execute_result"):
                cell.outputs.append(content["data"])
                by_id[content.get("transient", {}).get("display_id", "")] = len(cell.outputs) - 1
            elif kind == "update_display_data":
                cell.updates += 1
                cell.outputs[by_id[content["transient"]["display_id"]]] = content["data"]
            elif kind == "error":
                cell.error = content["ename"], content["evalue"], content["traceback"]
            if during is not None:
                during(cell, content)
        reply = self.client.get_shell_msg(timeout=timeout)
        while reply["parent_header"].get("msg_id") != request:
            reply = self.client.get_shell_msg(timeout=timeout)
        assert (reply["content"]["status"] == "error") == (cell.error is not None)
        return cell

    def use(self, model: Any, name: str = "openai/scripted") -> None:
        """Points the notebook at a scripted model."""
        base = model.url if name.startswith("openai") else model.root
        cell = self.run(f"%config JupyterSkills.api_base = {base!r}\n%config JupyterSkills.model = {name!r}")
        assert cell.error is None

    def value(self, expression: str) -> str:
        """The repr of an expression in the kernel."""
        cell = self.run(f"print(repr(({expression})))")
        assert cell.error is None, cell.error
        return cell.stdout.strip()

    def complete(self, typed: str) -> list[str]:
        """What Tab offers after some text."""
        request = self.client.complete(typed, len(typed))
        reply = self.client.get_shell_msg(timeout=30)
        while reply["parent_header"].get("msg_id") != request:
            reply = self.client.get_shell_msg(timeout=30)
        matches: list[str] = reply["content"]["matches"]
        return matches

    def _answer(self, cell: Cell) -> None:
        try:
            question = self.client.get_stdin_msg(timeout=0)
        except queue.Empty:
            return
        assert self.answer is not None
        cell.asked.append(question["content"]["prompt"])
        self.client.input(self.answer(question["content"]["prompt"]))
