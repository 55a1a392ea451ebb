"""How a turn looks: in a notebook while it goes on, in a notebook without a reader, and in a terminal."""

from __future__ import annotations

from typing import Protocol

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import Event


class Renderer(Protocol):
    """Shows one turn. Its methods are called on the event loop of the cell."""

    def show(self, event: Event) -> None:
        """Called with each event, as it happens."""
        ...

    def settle(self) -> None:
        """Called when all that was shown must be complete: before a question, and at the end, however it comes."""
        ...

    def finish(self, answer: Answer, seconds: float) -> None:
        """Called once, after the last event of a turn that came to its end."""
        ...


def renderer_for(shell: InteractiveShell) -> Renderer:
    """The renderer that fits the frontend of the cell that runs now."""
    from jupyter_skills.notebook.render.notebook import NotebookRenderer
    from jupyter_skills.notebook.render.terminal import TerminalRenderer

    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return TerminalRenderer()
    # A frontend with a person before it takes input; nbclient, nbval and papermill do not, and nbval
    # doesn't see updates of a display.
    return NotebookRenderer(live=bool(getattr(kernel, "_allow_stdin", False)))
