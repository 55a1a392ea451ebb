"""Running code in the user's own namespace. Implements ``LiveKernel``."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

from jupyter_skills.execution.output import (
    IMAGE_TYPES,
    bounded,
    clean_text,
    compact_error,
    decoded_image,
    generated_file,
)
from jupyter_skills.execution.result import Execution, GeneratedFile, Image, OnOutput
from jupyter_skills.notebook.interrupt import blocking
from jupyter_skills.sandbox.settings import DockerSandbox

_MOST_FILES = 2000
_NOTEBOOK = ".ipynb"  # the frontend saves it as it likes


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
        folder = Path.cwd()
        before = _files(folder)
        with capture_output() as captured, _quiet_errors(self._shell), blocking():
            result = await self._shell.run_cell_async(
                code, store_history=False, transformed_cell=self._shell.transform_cell(code)
            )
            self._shell.events.trigger("post_execute")  # figures that are still open are shown now
        if isinstance(raised := result.error_in_exec, KeyboardInterrupt | asyncio.CancelledError):
            raise raised  # IPython takes even these for errors of the code
        text, images = clean_text(captured.stdout + captured.stderr), []
        for output in captured.outputs:
            image, words = _shown(output)
            if image is not None:
                images.append(image)
            text += clean_text(words)
        on_output(text)
        error = result.error_before_exec or result.error_in_exec
        return Execution(
            "ok" if error is None else "error",
            bounded(text, self._limits.output_limit),
            self._explain(error) if error is not None else "",
            tuple(images),
            _changed_since(folder, before, self._limits.file_limit),
            seconds=time.monotonic() - began,
        )

    def _explain(self, error: BaseException) -> str:
        lines = self._shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        return bounded(compact_error(type(error).__name__, error, lines[-12:]), self._limits.output_limit)


@contextmanager
def _quiet_errors(shell: InteractiveShell) -> Iterator[None]:
    """Keeps IPython from showing a traceback beside the card that has it; without it the cell would look failed."""
    before = vars(shell).get("_showtraceback")
    shell._showtraceback = lambda *_: None  # type: ignore[method-assign]  # IPython's own place for a side channel
    try:
        yield
    finally:
        if before is None:
            del shell._showtraceback  # the class's own method is back
        else:
            shell._showtraceback = before  # type: ignore[method-assign]  # that of another extension


def _shown(output: RichOutput) -> tuple[Image | None, str]:
    """A picture to be shown with the answer, or else the output shown as the user's own code would show it."""
    data: dict[str, Any] = output.data or {}
    for kind in IMAGE_TYPES.values():
        content = data.get(kind)
        if content is not None:
            image = decoded_image(content)
            if image is not None:
                return image, ""
    if set(data) - {"text/plain"}:
        output.display()
    return None, f"{data['text/plain']}\n" if "text/plain" in data else ""


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """The files in a folder, not in those below it, with size and time of change."""
    found: dict[str, tuple[int, int]] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_FILES):
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False) and not entry.name.endswith(_NOTEBOOK):
                    facts = entry.stat(follow_symlinks=False)
                    found[entry.name] = facts.st_size, facts.st_mtime_ns
    return found


def _changed_since(folder: Path, before: dict[str, tuple[int, int]], limit: int) -> tuple[GeneratedFile, ...]:
    """The files of the folder that are new or changed, as many as there is room for."""
    changed = []
    for name, facts in sorted(_files(folder).items()):
        if before.get(name) != facts and facts[0] <= limit:
            with suppress(OSError):
                content = (folder / name).read_bytes()
                limit -= len(content)
                # It lies where the user works already: that is where it is saved.
                changed.append(generated_file(name, content, saved_as=name))
    return tuple(changed)
