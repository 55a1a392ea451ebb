"""Who is there while a cell runs: a person who sees what it shows, and who can answer it."""

from __future__ import annotations

import sys

from IPython.core.interactiveshell import InteractiveShell


def watched(shell: InteractiveShell) -> bool:
    """Whether a person watches what the cell that runs now shows."""
    return sys.stdout.isatty() if _in_terminal(shell) else _takes_input(shell)


def can_answer(shell: InteractiveShell) -> bool:
    """Whether there is a person who could answer the cell that runs now."""
    return sys.stdin.isatty() if _in_terminal(shell) else _takes_input(shell)


def _in_terminal(shell: InteractiveShell) -> bool:
    return getattr(shell, "kernel", None) is None


def _takes_input(shell: InteractiveShell) -> bool:
    # A frontend with a person before it takes input; nbclient, nbval and papermill do not, and nbval
    # doesn't see updates of a display.
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))
