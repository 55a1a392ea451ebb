"""How a turn looks in a notebook, while it goes on and without a reader."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.rendering import Renderer


def renderer_for(shell: InteractiveShell) -> Renderer:
    """The renderer that fits the frontend of the cell that runs now."""
    from jupyter_skills.notebook.render.notebook import NotebookRenderer
    from jupyter_skills.rendering.terminal import TerminalRenderer

    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return TerminalRenderer()
    # A frontend with a person before it takes input; nbclient, nbval and papermill do not, and nbval
    # doesn't see updates of a display.
    return NotebookRenderer(live=bool(getattr(kernel, "_allow_stdin", False)))
