"""A turn in a terminal, as plain text. Implements ``Renderer``."""

from __future__ import annotations

import sys

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted, Event, Notice, TextDone, Waiting
from jupyter_skills.execution.output import clean_text
from jupyter_skills.models.client import TextDelta
from jupyter_skills.rendering.words import call_output, call_state, call_title, file_size, summary
from jupyter_skills.skills.words import plain

_ERASE_LINE = "\r\x1b[K"


class TerminalRenderer:
    """Prints a turn as it goes on. Escape codes are used only for what is gone before the end."""

    def __init__(self) -> None:
        self._watched = sys.stdout.isatty()
        self._waiting = False
        self._printed = ""
        self._at_line_start = True

    def show(self, event: Event) -> None:
        """See ``Renderer``."""
        if not isinstance(event, Waiting):
            self._stop_waiting()
        match event:
            case Waiting(reason):
                self._stop_waiting()
                if reason and self._watched:
                    self._waiting = True
                    self._write(f"{reason} …")
            case Notice(text):
                self._write(f"{clean_text(text)}\n")
            case TextDelta(text):
                self._write(clean_text(text))
            case TextDone():
                self._write("\n\n")
            case CallStarted():
                self._printed = ""
                self._write(f"╭─ {call_title(event)}\n" + _bar(plain(event.code)))
            case CallOutput(text):
                self._output(text)
            case CallFinished():
                self._output("\n" if self._printed and not self._printed.endswith("\n") else "")
                rest = call_output(event).removeprefix(self._printed.rstrip()).strip("\n")
                self._output(f"{rest}\n" if rest else "")
                self._write(f"╰─ {call_state(event)}\n")
                for image in event.execution.images if event.execution else ():
                    self._write(f"   figure, {image.width}x{image.height} pixels (shown in a notebook)\n")
                for file in event.execution.files if event.execution else ():
                    self._write(f"   {file.saved_as or file.path} ({file_size(file)})\n")
                self._write("\n")

    def settle(self) -> None:
        """See ``Renderer``."""
        self._stop_waiting()
        if not self._at_line_start:
            self._write("\n")

    def finish(self, answer: Answer, seconds: float) -> None:
        """See ``Renderer``."""
        self._stop_waiting()
        self._write(summary(answer, seconds) + "\n")

    def _output(self, text: str) -> None:
        if text:
            opening = "├─\n│ " if not self._printed else "│ " if self._printed.endswith("\n") else ""
            body = text.replace("\n", "\n│ ")
            self._write(opening + (body.removesuffix("│ ") if text.endswith("\n") else body))
            self._printed += text

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting = False
            self._write(_ERASE_LINE)

    def _write(self, text: str) -> None:
        if text:
            self._at_line_start = text.endswith(("\n", _ERASE_LINE))
            sys.stdout.write(text)
            sys.stdout.flush()


def _bar(code: str) -> str:
    return "".join(f"│ {line}\n" for line in code.rstrip().splitlines())
