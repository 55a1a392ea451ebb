"""A turn in a notebook: Markdown that grows, cards for tool calls, pictures. Implements ``Renderer``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from IPython.display import publish_display_data, update_display

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted, Event, Notice, TextDone, Waiting
from jupyter_skills.agent.markdown import to_html
from jupyter_skills.execution.result import GeneratedFile, Image
from jupyter_skills.models.client import TextDelta
from jupyter_skills.notebook.render import card
from jupyter_skills.rendering.words import file_size, summary

_BETWEEN_UPDATES = 0.1

Bundle = dict[str, Any]

_NO_CALL = CallStarted("")


class NotebookRenderer:
    """Shows a turn in the cell's output.

    Args:
        live: Whether somebody watches. If not, each part is shown once, when it is complete, and
            without what differs from run to run: a saved notebook then equals its next execution.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._part = _Part()
        self._text = ""
        self._call = _NO_CALL
        self._output = ""
        self._state = ""

    def show(self, event: Event) -> None:
        """See ``Renderer``."""
        match event:
            case Waiting(reason):
                self._wait(reason)
            case Notice(text):
                publish_display_data(_line(text))
            case TextDelta(text):
                self._text += text
                if self._live:
                    self._part.update(partial(_markdown, self._text))
            case TextDone(text):
                self._complete(partial(_markdown, text))
                self._text = ""
            case CallStarted():
                self._call, self._output, self._state = event, "", ""
                self._show_call(None)
            case CallOutput(text):
                self._output += text
                self._show_call(None)
            case CallFinished():
                self._show_call(event)
                self._call = _NO_CALL
                if event.execution is not None:
                    for image in event.execution.images:
                        publish_display_data(_image(image))
                    for file in event.execution.files:
                        _publish_file(file)

    def settle(self) -> None:
        """See ``Renderer``."""
        if self._part.free and self._part.shown:
            self._part.update(lambda: {"text/plain": ""}, claim=False)  # nothing is waited for any more
        self._part.flush()

    def finish(self, answer: Answer, seconds: float) -> None:
        """See ``Renderer``."""
        self.settle()
        publish_display_data(_line(summary(answer, seconds if self._live else None)))

    def _wait(self, reason: str) -> None:
        if not self._part.free and self._call.tool:
            self._state = reason
            self._show_call(None)
        elif self._live and reason:
            # The place of this line is taken over by what comes after it, so nothing of it stays.
            self._part.update(partial(_line, f"{reason} …"), claim=False)

    def _show_call(self, done: CallFinished | None) -> None:
        if done is None and not self._live:
            return
        make = partial(_card, self._call, self._state, self._output, done)
        if done is None:
            self._part.update(make)
        else:
            self._complete(make)

    def _complete(self, make: Callable[[], Bundle]) -> None:
        self._part.update(make)
        self._part.flush()
        self._part = _Part()


@dataclass
class _Part:
    """One place in the output. What is shown there is made, and changes, a few times a second at most."""

    shown: Bundle | None = None
    wanted: Callable[[], Bundle] | None = None
    free: bool = True
    _timer: asyncio.TimerHandle | None = None
    _display: dict[str, str] = field(default_factory=dict)

    def update(self, make: Callable[[], Bundle], *, claim: bool = True) -> None:
        self.wanted = make
        was_free, self.free = self.free, not claim
        if self.shown is None or (was_free and claim):
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_BETWEEN_UPDATES, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.wanted is None:
            return
        bundle, self.wanted = self.wanted(), None
        if self.shown is None:
            self._display = {"display_id": uuid4().hex}
            publish_display_data(bundle, transient=self._display)
        elif bundle != self.shown:
            update_display(bundle, raw=True, display_id=self._display["display_id"])
        self.shown = bundle


def _card(call: CallStarted, state: str, output: str, done: CallFinished | None) -> Bundle:
    asking = call.place == "live" and done is None
    return {
        "text/html": card.call_card(call, state, output, done, opened=asking),
        "text/plain": card.plain_card(call, state, done),
    }


def _line(text: str) -> Bundle:
    return {"text/html": card.dim(text), "text/plain": text}


def _markdown(text: str) -> Bundle:
    return {"text/html": to_html(text), "text/plain": text}


def _image(image: Image) -> Bundle:
    return {image.mime_type: image.data, "text/plain": f"<{image.mime_type}, {image.width}x{image.height} pixels>"}


def _publish_file(file: GeneratedFile) -> None:
    if file.image is not None:
        publish_display_data(_image(file.image))
    if file.saved_as:
        publish_display_data({"text/html": card.file_link(file), "text/plain": f"{file.saved_as} ({file_size(file)})"})
