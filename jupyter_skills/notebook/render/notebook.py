"""A turn in a notebook: Markdown that grows, cards for tool calls, pictures. Implements ``Renderer``."""

from __future__ import annotations

from IPython.display import publish_display_data

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
from jupyter_skills.execution.result import Execution, GeneratedFile, Image
from jupyter_skills.markup.cleaning import clean
from jupyter_skills.markup.markdown import to_html
from jupyter_skills.models.client import TextDelta
from jupyter_skills.notebook.render import card
from jupyter_skills.notebook.render.parts import CallPart, TextPart
from jupyter_skills.notebook.render.place import Bundle, Place
from jupyter_skills.notebook.render.throttle import Throttle
from jupyter_skills.rendering.drafting import draft_text
from jupyter_skills.rendering.waiting import Ticker
from jupyter_skills.rendering.words import file_size, summary, waiting

# Rendered once before the first piece comes, which then needn't wait for what is loaded at its first use.
_EVERYTHING = "*text*\n```python\n1\n```\n"


class NotebookRenderer:
    """Shows a turn in the cell's output.

    Args:
        live: Whether somebody watches. If not, each part is shown once, when it is complete, and
            without what differs from run to run: a saved notebook then equals its next execution.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._part: TextPart | CallPart | None = None
        self._place = Place()  # of the next part; a line about what is waited for may stand there until then
        self._waited_for = ""
        self._seconds = 0
        self._ticker = Ticker(self._tick)
        self._waiting = Throttle(self._show_waiting)
        if live:
            to_html(_EVERYTHING)

    def show(self, event: Event) -> None:
        """See ``Renderer``."""
        match event:
            case Waiting(reason):
                self._wait(reason)
            case Notice(text):
                publish_display_data(_line(text))
            case TextDelta(text):
                if self._live and text:
                    self._text_part().add(text)
            case TextDone(text):
                self._finish_text(text)
            case CallStarted():
                self._part = CallPart(event, self._taken_place(), live=self._live)
            case CallOutput(text):
                if isinstance(self._part, CallPart):
                    self._part.add(text)
            case CallFinished():
                self._finish_call(event)
            case Drafted(request):
                text = draft_text(request)
                publish_display_data({"text/html": card.listing(text, "json"), "text/plain": text})

    def settle(self) -> None:
        """See ``Renderer``."""
        self._stop_waiting()
        if self._part is not None:
            self._part.settle()
        elif not self._place.empty:
            self._place.show({"text/plain": ""})  # nothing is waited for any more

    def finish(self, answer: Answer, seconds: float) -> None:
        """See ``Renderer``."""
        self.settle()
        publish_display_data(_line(summary(answer, seconds if self._live else None)))

    def _wait(self, reason: str) -> None:
        if not self._live or reason == self._waited_for:
            return
        self._waited_for, self._seconds = reason, 0
        self._ticker.stop()
        if reason:
            self._ticker.start()
        self._say_waiting()

    def _tick(self, seconds: int) -> None:
        self._seconds = seconds
        self._say_waiting()

    def _say_waiting(self) -> None:
        if isinstance(self._part, CallPart):
            self._part.say(self._waiting_words())
        elif self._part is None and self._waited_for:
            self._waiting.ask()

    def _show_waiting(self) -> None:
        if self._part is None and self._waited_for:
            self._place.show(_line(self._waiting_words()))

    def _waiting_words(self) -> str:
        return waiting(self._waited_for, self._seconds) if self._waited_for else ""

    def _stop_waiting(self) -> None:
        self._waited_for = ""
        self._ticker.stop()
        self._waiting.stop()

    def _taken_place(self) -> Place:
        self._stop_waiting()
        place, self._place = self._place, Place()
        return place

    def _text_part(self) -> TextPart:
        if not isinstance(self._part, TextPart):
            self._part = TextPart(self._taken_place())
        return self._part

    def _finish_text(self, text: str) -> None:
        if not self._live:
            text = clean(text)
            self._taken_place().show({"text/html": to_html(text), "text/plain": text})
            return
        if not isinstance(self._part, TextPart):  # it came in one piece
            self._text_part().add(text)
        self._text_part().finish()
        self._part = None

    def _finish_call(self, done: CallFinished) -> None:
        if isinstance(self._part, CallPart):
            self._part.finish(done)
            self._part = None
        self._stop_waiting()
        if done.execution is not None:
            self._show_made(done.execution)

    def _show_made(self, run: Execution) -> None:
        if run.displays is None:
            for image in run.images:
                publish_display_data(_image(image))
        for display in run.displays or ():
            publish_display_data(dict(display.data), dict(display.metadata))
        if self._live and run.traceback:
            # The paths in it differ from machine to machine; where nobody watches, the card has the error without.
            publish_display_data({"text/plain": run.traceback})
        for file in run.files:
            _publish_file(file)


def _line(text: str) -> Bundle:
    text = clean(text)
    return {"text/html": card.dim(text), "text/plain": text}


def _image(image: Image) -> Bundle:
    return {image.mime_type: image.data, "text/plain": f"<{image.mime_type}, {image.width}x{image.height} pixels>"}


def _publish_file(file: GeneratedFile) -> None:
    if file.image is not None:
        publish_display_data(_image(file.image))
    if file.saved_as:
        publish_display_data({"text/html": card.file_link(file), "text/plain": f"{file.saved_as} ({file_size(file)})"})
