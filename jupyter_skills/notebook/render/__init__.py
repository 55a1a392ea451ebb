"""How a turn looks in a notebook, while it goes on and without a reader."""

from __future__ import annotations

import sys

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.rendering import Renderer


def watched(shell: InteractiveShell) -> bool:
    """Whether a person watches what the cell that runs now shows."""
    kernel = getattr(shell, "kernel", None)
    # A frontend with a person before it takes input; nbclient, nbval and papermill do not, and nbval
    # doesn't see updates of a display.
    return bool(getattr(kernel, "_allow_stdin", False)) if kernel is not None else sys.stdout.isatty()


def renderer_for(shell: InteractiveShell) -> Renderer:
    """The renderer that fits the frontend of the cell that runs now."""
    from jupyter_skills.notebook.render.notebook import NotebookRenderer
    from jupyter_skills.rendering.terminal import TerminalRenderer

    if getattr(shell, "kernel", None) is None:
        return TerminalRenderer()
    return NotebookRenderer(live=watched(shell))
