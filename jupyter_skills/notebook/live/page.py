"""Where the displays of code go: to a page that somebody watches, to one that nobody does, or to a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.result import Display

Data = dict[str, Any]
Publish = Callable[..., None]
_PLAIN = "text/plain"
_NOTHING = {_PLAIN: ""}


class Page:
    """What all of them have in common: what is displayed is heard, and what is cleared is not.

    Args:
        heard: Takes it for the model.
        publish: IPython's own way to the frontend, as ``DisplayPublisher.publish``.
    """

    def __init__(self, heard: Heard, publish: Publish) -> None:
        self._heard = heard
        self._publish = publish
        self._lock = threading.RLock()  # threads of the code print too; and __del__ may, in the middle of anything
        self._to_be_cleared = False
        self._updated: dict[str, Data] = {}

    @property
    def displays(self) -> tuple[Display, ...] | None:
        """What is still to be shown; see ``Execution``."""
        return ()

    def show(self, data: Data, metadata: Data | None = None, transient: Data | None = None, **_: object) -> None:
        """Shows a display."""
        with self._lock:
            self._before_output()
            self._show(data, metadata or {}, transient or {})
            self._heard.display(data)
            self._after_output()

    def update(self, data: Data, metadata: Data | None = None, transient: Data | None = None, **_: object) -> None:
        """Puts something else in the place of displays that have an id."""
        with self._lock:
            self._before_output()
            self._update(data, metadata or {}, transient or {})
            # A progress bar is updated many times, and only how it ended is of interest.
            self._updated[str((transient or {}).get("display_id", ""))] = data
            self._after_output()

    def write(self, text: str) -> None:
        """Takes a piece of text."""
        with self._lock:
            self._before_output()
            self._heard.print(text)
            self._after_output()

    def clear(self, *, wait: bool) -> None:
        """Takes away what the code has shown so far, not what else stands in the cell.

        Args:
            wait: Whether it stays until something comes in its place.
        """
        with self._lock:
            self._to_be_cleared = True
            if not wait:
                self._before_output()
                self._after_output()

    def end(self) -> None:
        """Called once, when the code has ended."""
        for data in self._updated.values():
            self._heard.display(data)
        self._updated.clear()

    def _before_output(self) -> None:
        if self._to_be_cleared:
            self._to_be_cleared = False
            self._updated.clear()
            self._heard.clear()
            self._clear()

    def _after_output(self) -> None: ...

    def _show(self, data: Data, metadata: Data, transient: Data) -> None: ...

    def _update(self, data: Data, metadata: Data, transient: Data) -> None: ...

    def _clear(self) -> None: ...


class WatchedPage(Page):
    """A notebook with somebody before it: all is shown as it comes.

    An output can't be taken away again without all others of the cell. So each display gets a place that can be
    updated, and what is shown after the code has cleared its output goes into the places of what stood there.
    """

    def __init__(self, heard: Heard, publish: Publish) -> None:
        super().__init__(heard, publish)
        self._places: list[str] = []
        self._named: set[str] = set()
        self._free: list[str] = []
        self._stale: list[str] = []

    def _show(self, data: Data, metadata: Data, transient: Data) -> None:
        name = transient.get("display_id")
        if not (name or _is_rich(data)):
            return  # the text is shown with what the code printed
        if name is None and self._free:
            place = self._free.pop(0)
            self._publish(data, metadata, transient={**transient, "display_id": place}, update=True)
        else:
            place = name or uuid4().hex
            if name:
                self._named.add(name)  # the code may update it later, so nothing else may take its place
            self._publish(data, metadata, transient={**transient, "display_id": place})
        self._stale = [other for other in self._stale if other != place]
        self._places.append(place)

    def _update(self, data: Data, metadata: Data, transient: Data) -> None:
        name = transient.get("display_id")
        self._stale = [place for place in self._stale if place != name]
        self._publish(data, metadata, transient=transient, update=True)

    def _clear(self) -> None:
        self._stale = self._places
        self._free += [place for place in self._places if place not in self._named]
        self._places = []

    def _after_output(self) -> None:
        for place in self._stale:
            self._publish(_NOTHING, transient={"display_id": place}, update=True)
        self._stale = []


class UnwatchedPage(Page):
    """A notebook that runs by itself: each display is shown once, in its last version, when the code has ended."""

    def __init__(self, heard: Heard, publish: Publish) -> None:
        super().__init__(heard, publish)
        self._kept: list[tuple[object, Display]] = []

    @property
    def displays(self) -> tuple[Display, ...]:
        """See ``Page``."""
        return tuple(display for _, display in self._kept)

    def _show(self, data: Data, metadata: Data, transient: Data) -> None:
        name = transient.get("display_id")
        if name or _is_rich(data):
            self._kept.append((name, Display(data, metadata)))

    def _update(self, data: Data, metadata: Data, transient: Data) -> None:
        name = transient.get("display_id")
        if not any(name == known for known, _ in self._kept):  # it was shown by an earlier cell
            self._publish(data, metadata, transient=transient, update=True)
        self._kept = [(known, Display(data, metadata) if known == name else shown) for known, shown in self._kept]

    def _clear(self) -> None:
        self._kept.clear()


class Terminal(Page):
    """A terminal: a display is its text there, unless an extension shows more of it.

    Args:
        heard: Takes it for the model.
        publish: IPython's own way to the terminal.
        renderers: What shows some types of data there; see ``InteractiveShell.mime_renderers``.
    """

    def __init__(self, heard: Heard, publish: Publish, renderers: Mapping[str, object]) -> None:
        super().__init__(heard, publish)
        self._renderers = renderers

    @property
    def displays(self) -> None:
        """See ``Page``; the renderer tells of pictures."""
        return

    def update(self, data: Data, metadata: Data | None = None, transient: Data | None = None, **_: object) -> None:
        """See ``Page``; in a terminal all that was shown stays."""
        self.show(data, metadata, transient)

    def clear(self, *, wait: bool) -> None:
        """See ``Page``; in a terminal IPython clears but the line."""
        self._heard.print("\r")

    def _show(self, data: Data, metadata: Data, transient: Data) -> None:
        if any(kind in data for kind in self._renderers):
            self._publish(data, metadata, transient=transient)


def _is_rich(data: Data) -> bool:
    return bool(set(data) - {_PLAIN})
