"""How a turn looks in a notebook, while it goes on and without a reader."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.notebook.audience import watched
from jupyter_skills.rendering import Renderer


def renderer_for(shell: InteractiveShell) -> Renderer:
    """The renderer that fits the frontend of the cell that runs now."""
    from jupyter_skills.notebook.render.notebook import NotebookRenderer
    from jupyter_skills.rendering.terminal import TerminalRenderer

    if getattr(shell, "kernel", None) is None:
        return TerminalRenderer()
    return NotebookRenderer(live=watched(shell))
