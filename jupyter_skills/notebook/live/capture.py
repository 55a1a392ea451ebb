"""What code writes and displays while it runs in the live kernel, taken from IPython's own ways out.

The objects that others may hold on to, such as streams in the handlers of ``logging``, stay where they are; only their
methods are led here. What is not the code's goes on as ever: that of tasks and threads which were there before, of
processes that were forked, and of all of them once the code has ended. Nor is what programs and libraries write to the
file descriptors heard here: ipykernel shows it with the output of the cell.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.execution.heard import Heard
from jupyter_skills.notebook.audience import watched
from jupyter_skills.notebook.author import apart, sign, unsign, written_by
from jupyter_skills.notebook.interrupt import Interrupts
from jupyter_skills.notebook.live.page import Page, Terminal, UnwatchedPage, WatchedPage
from jupyter_skills.notebook.live.patches import Patches
from jupyter_skills.notebook.live.shown_errors import ShownErrors

Method = Callable[..., Any]
_NEXT_INPUT = "The code wanted to put text into a cell of the notebook; that was left out."


class Capture:
    """Takes what a piece of code writes and displays, for as long as it is entered.

    Args:
        shell: Where the code runs.
        code: The code as it will be compiled.
        heard: Takes it for the model.
        errors: Takes the errors that IPython shows.
    """

    def __init__(self, shell: InteractiveShell, code: str, heard: Heard, errors: ShownErrors) -> None:
        self._shell = shell
        self._heard = heard
        self._errors = errors
        self._silent = _ends_in_semicolon(code)
        self._publish: Method = shell.display_pub.publish
        self._patches = Patches()
        self._open = False
        self._process = os.getpid()
        self._context = apart()
        self.page = self._page()
        self.interrupts: Interrupts | None = None
        """Those that are to wait while something is taken; on the main thread."""

    def __enter__(self) -> Self:
        shell = self._shell
        self._threads = frozenset(threading.enumerate())
        shell.display_trap.__enter__()  # or the code's own run would set IPython's hook once more
        self._token = sign(self)
        try:
            self._lead_all()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        self._open = True
        return self

    def _lead_all(self) -> None:
        shell = self._shell
        for name in ("stdout", "stderr"):
            self._lead_stream(name)
        self._lead(shell.display_pub, "publish", self._display)
        self._lead(shell.display_pub, "clear_output", lambda wait=False: self.page.clear(wait=wait))
        self._lead(sys, "displayhook", self._show_value)
        self._lead(shell, "ask_exit", _exit)
        self._lead(shell, "set_next_input", lambda *_, **__: self._heard.note(_NEXT_INPUT))
        self._lead(shell.hooks, "show_in_pager", self._show_help)
        for name, method in self._errors.methods().items():
            self._lead(shell, name, method)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        self._patches.undo()
        unsign(self._token)
        self._shell.display_trap.__exit__(kind, error, traceback)
        self.page.end()

    def _page(self) -> Page:
        if getattr(self._shell, "kernel", None) is None:
            return Terminal(self._heard, self._publish, getattr(self._shell, "mime_renderers", {}))
        return (WatchedPage if watched(self._shell) else UnwatchedPage)(self._heard, self._published)

    def _published(self, *args: Any, **kwargs: Any) -> None:
        if written_by(self):
            self._publish(*args, **kwargs)
        else:  # a thread knows nothing of the cell that it belongs to
            self._context.copy().run(self._publish, *args, **kwargs)

    def _takes(self) -> bool:
        """Whether what is written now is the code's."""
        if not self._open or os.getpid() != self._process:
            return False
        ours = written_by(self)
        if ours is not None:
            return ours
        thread = threading.current_thread()
        return thread is not threading.main_thread() and thread not in self._threads

    def _lead(self, owner: object, name: str, ours: Method) -> None:
        original = getattr(owner, name)

        def led(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self._takes():
                return original(*args, **kwargs)
            return self._untorn(ours, *args, **kwargs)

        self._patches.put(owner, name, led)

    def _lead_stream(self, name: str) -> None:
        stream = getattr(sys, name)
        original = stream.write

        def write(text: str) -> int:
            __tracebackhide__ = True
            if not self._takes() or not isinstance(text, str):
                return int(original(text))
            if name == "stdout" or not self._errors.exiting:
                self._untorn(self.page.write, text)
            return len(text)

        self._patches.put(stream, "write", write)

    def _untorn(self, method: Method, *args: Any, **kwargs: Any) -> Any:
        """Calls it so that an interrupt comes before or after it."""
        __tracebackhide__ = True
        interrupts = self.interrupts
        if interrupts is None or threading.current_thread() is not threading.main_thread():
            return method(*args, **kwargs)
        interrupts.hold()
        try:
            return method(*args, **kwargs)
        finally:
            interrupts.release()

    def _display(self, data: Any, metadata: Any = None, *args: Any, update: bool = False, **kwargs: Any) -> None:
        (self.page.update if update else self.page.show)(data, metadata, kwargs.get("transient"))

    def _show_value(self, value: object = None) -> None:
        """In place of ``sys.displayhook``: shows the value of a last expression, and keeps it nowhere."""
        if value is None or self._silent:
            return
        assert self._shell.display_formatter is not None, "a shell has one"
        data, metadata = self._shell.display_formatter.format(value)
        if data:
            self.page.show(data, metadata)

    def _show_help(self, text: Any, *_: object, **__: object) -> None:
        """In place of a pager: what ``?`` tells is output like any other."""
        text = text.get("text/plain", "") if isinstance(text, dict) else text
        self.page.write(f"{str(text).rstrip()}\n")


def _exit() -> None:
    """In place of the end of the kernel: ends the code."""
    __tracebackhide__ = True
    raise SystemExit


def _ends_in_semicolon(code: str) -> bool:
    with suppress(Exception):  # the tokenizer's, for code that is none
        return bool(DisplayHook.semicolon_at_end_of_expression(code))
    return False
