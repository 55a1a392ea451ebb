"""The parts of a turn that change while they are shown: text, and tool calls. Each ends complete."""

from __future__ import annotations

import threading
from collections import deque

from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.execution.lines import Lines
from jupyter_skills.markup.cleaning import CleanPieces
from jupyter_skills.notebook.render.card import LONGEST_OUTPUT, CallCard
from jupyter_skills.notebook.render.growing import GrowingMarkdown
from jupyter_skills.notebook.render.place import Bundle, Place
from jupyter_skills.notebook.render.throttle import ThreadThrottle, Throttle, Updates


class TextPart:
    """A part of the answer, in as many places as it has pages.

    Args:
        place: Where it begins.
    """

    def __init__(self, place: Place) -> None:
        self._places = [place]
        self._pieces = CleanPieces()
        self._text = GrowingMarkdown()
        self._sealed = 0
        self._throttle = Throttle(self._update)

    def add(self, piece: str) -> None:
        """Takes the next piece, and shows it as soon as the throttle lets it."""
        self._text.add(self._pieces.add(piece))
        self._throttle.ask()

    def settle(self) -> None:
        """Shows all that has come."""
        self._throttle.flush()

    def finish(self) -> None:
        """Shows all of it in its last form."""
        self._throttle.stop()
        self._text.add(self._pieces.end())
        for number, (text, html) in enumerate(self._text.finish()):
            self._show(number, text, html)

    def _update(self) -> None:
        self._text.advance()
        for number in range(self._sealed, len(self._text.pages)):
            self._show(number, *self._text.shown(number))
        self._sealed = len(self._text.pages) - 1

    def _show(self, number: int, text: str, html: str) -> None:
        if number == len(self._places):
            if not html:
                return
            self._places.append(Place())
        self._places[number].show({"text/html": html, "text/plain": text})


class CallPart:
    """A tool call.

    Code in the live kernel may print from any thread, and block the event loop while it does: ``add`` may be called
    from any thread then, and what it printed is shown all the same.

    Args:
        call: The call.
        place: Where it is shown.
        live: Whether somebody watches; if not, nothing is shown before it is done.
    """

    def __init__(self, call: CallStarted, place: Place, *, live: bool) -> None:
        self._card = CallCard(call, timed=live, error_apart=live)
        self._place = place
        self._live = live
        self._doing = ""
        self._output = _Tail(LONGEST_OUTPUT)
        self._throttle: Updates = (ThreadThrottle if call.place == "live" else Throttle)(self._update)
        self._ask()

    def say(self, doing: str) -> None:
        """Shows what is waited for now; empty: for its end."""
        self._doing = doing
        self._ask()

    def add(self, output: str) -> None:
        """Shows what it has printed."""
        self._output.add(output)
        self._ask()

    def settle(self) -> None:
        """Shows how it stands."""
        self._throttle.flush()

    def finish(self, done: CallFinished) -> None:
        """Shows how it ended."""
        self._throttle.stop()
        self._place.show(self._bundle(done))

    def _ask(self) -> None:
        if self._live:
            self._throttle.ask()

    def _update(self) -> None:
        self._place.show(self._bundle(None))

    def _bundle(self, done: CallFinished | None) -> Bundle:
        asking = self._card.call.place == "live" and done is None
        return {
            "text/html": self._card.html(self._doing, self._output.text, done, opened=asking),
            "text/plain": self._card.plain(self._doing, done),
        }


class _Tail:
    """The end of what code prints, piece by piece. Threads may add to it while another one asks.

    Args:
        most: How many characters are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()
        self._clear()

    def add(self, piece: str) -> None:
        with self._lock:
            if "\f" in piece:
                self._clear()
            settled = self._lines.add(piece.rpartition("\f")[2])
            if not settled:
                return
            self._pieces.append(settled[-self._most :])
            self._size += len(self._pieces[-1])
            while self._size - len(self._pieces[0]) >= self._most:
                self._size -= len(self._pieces.popleft())

    @property
    def text(self) -> str:
        with self._lock:
            return ("".join(self._pieces) + self._lines.last)[-self._most :]

    def _clear(self) -> None:
        self._lines = Lines()
        self._size = 0
        self._pieces: deque[str] = deque()
