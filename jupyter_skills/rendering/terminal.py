"""A turn in a terminal, as plain text. Implements ``Renderer``."""

from __future__ import annotations

import os
import sys

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import (
    CallFinished,
    CallOutput,
    CallStarted,
    Drafted,
    Event,
    Notice,
    TextDone,
    Waiting,
)
from jupyter_skills.execution.lines import Lines
from jupyter_skills.execution.output import clean_text, overwritten
from jupyter_skills.markup.cleaning import CleanPieces, without_turning
from jupyter_skills.models.client import ReasoningDelta, TextDelta
from jupyter_skills.rendering.drafting import draft_text
from jupyter_skills.rendering.waiting import Ticker
from jupyter_skills.rendering.words import (
    call_output,
    call_state,
    call_title,
    change_lines,
    file_size,
    summary,
    waiting,
)
from jupyter_skills.words import plain

_ERASE_LINE = "\r\x1b[K"


class TerminalRenderer:
    """Prints a turn as it goes on.

    Escape codes are used only before a person: for what is gone before the end, and for the colours of code,
    which ``NO_COLOR`` and a dumb terminal go without.
    """

    def __init__(self) -> None:
        self._watched = sys.stdout.isatty()
        self._colours = self._watched and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._waiting = ""
        self._ticker = Ticker(self._show_waiting)
        self._text = CleanPieces()
        self._printed: list[str] = []
        self._lines = Lines()
        self._at_line_start = True

    def show(self, event: Event) -> None:
        """See ``Renderer``."""
        if not isinstance(event, Waiting | ReasoningDelta):
            self._stop_waiting()
        match event:
            case Waiting(reason):
                self._wait(clean_text(reason))
            case Notice(text):
                self._write(f"{clean_text(text)}\n")
            case TextDelta(text):
                self._write(self._text.add(text))
            case TextDone():
                self._write(f"{self._text.end()}\n\n")
            case CallStarted():
                self._printed.clear()
                self._lines = Lines()
                self._write(f"╭─ {plain(call_title(event))}\n" + _bar(self._code(event)))
            case CallOutput(text):
                # Where nobody watches, a progress bar is printed once, in its last state.
                self._output(text.replace("\f", "") if self._watched else self._lines.add(text.replace("\f", "")))
            case CallFinished():
                self._finish_call(event)
            case Drafted(request):
                self._write(f"{plain(draft_text(request))}\n")

    def settle(self) -> None:
        """See ``Renderer``."""
        self._stop_waiting()
        if not self._at_line_start:
            self._write("\n")

    def finish(self, answer: Answer, seconds: float) -> None:
        """See ``Renderer``."""
        self._stop_waiting()
        self._write(summary(answer, seconds) + "\n")

    def _finish_call(self, done: CallFinished) -> None:
        self._output(self._lines.last)
        self._output("\n" if self._printed and not self._printed[-1].endswith("\n") else "")
        run = done.execution
        traceback = run.traceback if run is not None else ""
        printed = overwritten("".join(self._printed)).rstrip()
        rest = call_output(done, error=not traceback).removeprefix(printed).strip("\n")
        for text in filter(None, (rest, traceback if self._colours else clean_text(traceback))):
            self._output(text if text.endswith("\n") else f"{text}\n")
        self._write(f"╰─ {call_state(done, timed=self._watched)}\n")
        if run is not None:
            for line in change_lines(run.changes):
                self._write(f"   {line}\n")
            for image in run.images:
                self._write(f"   figure, {image.width}x{image.height} pixels (shown in a notebook)\n")
            for file in run.files:
                self._write(f"   {file.saved_as or file.path} ({file_size(file)})\n")
        self._write("\n")

    def _code(self, call: CallStarted) -> str:
        code = plain(call.code).rstrip()
        if not (code and self._colours):
            return code
        from jupyter_skills.markup.highlight import coloured_for_terminal

        return coloured_for_terminal(code, call.language)

    def _output(self, text: str) -> None:
        if text:
            opening = "├─\n│ " if not self._printed else "│ " if self._printed[-1].endswith("\n") else ""
            body = text.replace("\r\n", "\n").replace("\n", "\n│ ").replace("\r", "\r│ ")
            self._write(opening + (body.removesuffix("│ ") if text.endswith("\n") else body))
            self._printed.append(text)

    def _wait(self, reason: str) -> None:
        if reason and reason == self._waiting:
            return
        self._stop_waiting()
        if reason and self._watched:
            self._waiting = reason
            self._show_waiting(0)
            self._ticker.start()

    def _show_waiting(self, seconds: int) -> None:
        self._write((_ERASE_LINE if seconds else "") + waiting(self._waiting, seconds))

    def _stop_waiting(self) -> None:
        self._ticker.stop()
        if self._waiting:
            self._waiting = ""
            self._write(_ERASE_LINE)

    def _write(self, text: str) -> None:
        if text:
            self._at_line_start = text.endswith(("\n", _ERASE_LINE))
            sys.stdout.write(without_turning(text))
            sys.stdout.flush()


def _bar(code: str) -> str:
    return "".join(f"│ {line}\n" for line in code.split("\n")) if code else ""
