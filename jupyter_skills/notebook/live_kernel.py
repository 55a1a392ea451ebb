"""Running code in the user's own namespace. Implements ``LiveKernel``."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

from jupyter_skills.notebook.interrupt import blocking
from jupyter_skills.sandbox.contract import Execution, GeneratedFile, Image, OnOutput
from jupyter_skills.sandbox.output import IMAGE_TYPES, bounded, checked_image, compact_error, guessed_type
from jupyter_skills.sandbox.settings import DockerSandbox

_MOST_FILES = 2000


class ShellKernel:
    """The shell that the cell itself runs in.

    Args:
        shell: The shell.
        limits: How much output to keep for the model; the other limits are the sandbox's alone.
    """

    def __init__(self, shell: InteractiveShell, limits: DockerSandbox) -> None:
        self._shell = shell
        self._limits = limits

    async def run(self, code: str, on_output: OnOutput) -> Execution:
        """Runs code as a cell would, but leaves ``In`` and ``Out`` alone."""
        began = time.monotonic()
        before = _files()
        with capture_output() as captured, _quiet_errors(self._shell), blocking():
            result = await self._shell.run_cell_async(
                code, store_history=False, transformed_cell=self._shell.transform_cell(code)
            )
            self._shell.events.trigger("post_execute")  # figures that are still open are shown now
        if isinstance(raised := result.error_in_exec, KeyboardInterrupt):
            raise raised
        text, images = captured.stdout + captured.stderr, []
        for output in captured.outputs:
            image, words = _shown(output)
            if image is not None:
                images.append(image)
            text += words
        on_output(text)
        error = result.error_before_exec or result.error_in_exec
        return Execution(
            "ok" if error is None else "error",
            bounded(text, self._limits.output_limit),
            self._explain(error) if error is not None else "",
            tuple(images),
            _changed_since(before, self._limits.file_limit),
            seconds=time.monotonic() - began,
        )

    def _explain(self, error: BaseException) -> str:
        lines = self._shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        return bounded(compact_error(type(error).__name__, error, lines[-12:]), self._limits.output_limit)


@contextmanager
def _quiet_errors(shell: InteractiveShell) -> Iterator[None]:
    """Keeps IPython from showing a traceback beside the card that has it; without it the cell would look failed."""
    shell._showtraceback = lambda *_: None  # type: ignore[method-assign]  # the place for a side channel, it says
    try:
        yield
    finally:
        del shell._showtraceback  # the class's own method is back


def _shown(output: RichOutput) -> tuple[Image | None, str]:
    """A picture to be shown with the answer, or else the output shown as the user's own code would show it."""
    data: dict[str, Any] = output.data or {}
    for kind in IMAGE_TYPES.values():
        content = data.get(kind)
        if content is not None:
            image = checked_image(base64.b64decode(content) if isinstance(content, str) else content)
            if image is not None:
                return image, ""
    if set(data) - {"text/plain"}:
        output.display()
    return None, f"{data['text/plain']}\n" if "text/plain" in data else ""


def _files() -> dict[str, tuple[int, int]]:
    """The files in the working folder, not in those below it, with size and time of change."""
    found: dict[str, tuple[int, int]] = {}
    with os.scandir() as entries:
        for entry in entries:
            if len(found) >= _MOST_FILES:
                break
            if entry.is_file(follow_symlinks=False):
                facts = entry.stat(follow_symlinks=False)
                found[entry.name] = facts.st_size, facts.st_mtime_ns
    return found


def _changed_since(before: dict[str, tuple[int, int]], limit: int) -> tuple[GeneratedFile, ...]:
    changed = []
    for name, facts in sorted(_files().items()):
        if before.get(name) != facts and facts[0] <= limit:
            content = Path(name).read_bytes()
            image = checked_image(content)
            # It lies where the user works already: that is where it is saved.
            changed.append(GeneratedFile(name, content, image.mime_type if image else guessed_type(name), image, name))
    return tuple(changed)
