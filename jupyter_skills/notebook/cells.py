"""The code of executed cells, as a script can run it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.errors import UsageProblem


def as_script(shell: InteractiveShell, ranges: str) -> tuple[str, list[int]]:
    """The source of executed cells, one after the other, each below a comment with its number.

    Args:
        shell: Where they ran.
        ranges: Their numbers, such as ``3-9`` or ``3, 5-7``, as IPython's ``%history`` takes them.

    Returns:
        The source; and the numbers of cells that are no plain Python, and stand there as comments.

    Raises:
        UsageProblem: There are no such cells.
    """
    history = shell.history_manager
    try:
        rows = list(history.get_range_by_str(ranges.replace(",", " "), raw=True)) if history else []
    except (ValueError, OverflowError):
        rows = []
    cells = [(number, source) for _, number, source in rows if isinstance(source, str) and source.strip()]
    if not cells:
        raise UsageProblem(f"There are no executed cells '{ranges}'", "Give the numbers in their brackets, such as 3-9")
    parts: list[str] = []
    foreign: list[int] = []
    for number, source in cells:
        code = next((candidate for candidate in _candidates(source) if _is_python(candidate)), None)
        if code is None:
            foreign.append(number)
            code = _commented(source.splitlines())
        parts.append(f"# In [{number}]\n{code}")
    return "\n\n".join(parts) + "\n", foreign


def _candidates(source: str) -> Iterator[str]:
    """The cell as it is, and with the lines that look like magics as comments."""
    yield source.rstrip("\n")
    lines = source.splitlines()
    yield "\n".join(_commented([line]) if line.lstrip().startswith(("%", "!")) else line for line in lines)


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _commented(lines: list[str]) -> str:
    return "\n".join(f"# {line}".rstrip() for line in lines)
