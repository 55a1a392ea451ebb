"""Code that a person chose to edit: it goes into a cell of theirs, and the model is told what became of it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.words import shortened

_MARK = re.compile(r"^# .*\[edit-([0-9a-f]{8})\]$", re.MULTILINE)
_HEAD = "# The model's code, yours now: change it as you like, and run it. [edit-{}]"
_MOST_KEPT = 50  # cells that were not run yet
_LONGEST_CODE = 2_000
_LONGEST_ERROR = 500
_LONGEST_BEGIN = 80


@dataclass
class _Taken:
    """A cell that a person was given.

    Args:
        code: What the model had wanted to run.
        outcome: What became of it, for the model.
        told: Whether the model knows that.
    """

    code: str
    outcome: str = "they have not run it yet."
    told: bool = False


class Edits:
    """The cells that the user was given in this session, and what became of each.

    Args:
        shell: Where they are run.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._taken: dict[str, _Taken] = {}
        self._number = 0
        self._listening = False

    def turn(self) -> EditedCell:
        """The cell of one turn, which takes all that is edited in it."""
        return EditedCell(self)

    def news(self) -> str:
        """What the model does not know yet of what has become of such cells; empty if there is nothing."""
        news = [taken for taken in self._taken.values() if not taken.told]
        return "\n".join(f"The user took your code '{_begin(taken.code)}' to edit: {taken.outcome}" for taken in news)

    def told(self) -> None:
        """Called once the model knows all of it."""
        for taken in self._taken.values():
            taken.told = True

    def close(self) -> None:
        """Stops to notice what is run."""
        if self._listening:
            self._shell.events.unregister("post_run_cell", self._ran)
            self._listening = False

    def offer(self, pieces: list[str], mark: str) -> str:
        """Puts code into the next cell, in place of what was put there in the same turn.

        Args:
            pieces: The pieces of code, in their order.
            mark: That of the turn's cell; empty if it has none yet.

        Returns:
            The cell's mark.
        """
        code = self._joined([piece.strip("\n") for piece in pieces])
        if not mark:
            self._number += 1
            mark = hashlib.sha256(f"{self._number}\0{code}".encode()).hexdigest()[:8]
        self._taken[mark] = _Taken(code)
        while len(self._taken) > _MOST_KEPT:
            del self._taken[next(iter(self._taken))]
        if not self._listening:
            self._shell.events.register("post_run_cell", self._ran)
            self._listening = True
        # A cell magic must stand first, and what stands below it belongs to it.
        head = "" if _is_cell_magic(code) else f"{_HEAD.format(mark)}\n"
        self._shell.set_next_input(f"{head}{code}\n", replace=False)
        return mark

    def _joined(self, pieces: list[str]) -> str:
        if len(pieces) == 1:
            return pieces[0]
        return "\n\n".join(self._shell.transform_cell(p).strip("\n") if _is_cell_magic(p) else p for p in pieces)

    def _ran(self, result: Any) -> None:
        """Called by IPython after each cell; also after code within one, which is not the user's."""
        cell = getattr(getattr(result, "info", None), "raw_cell", None)
        session = getattr(self._shell, "jupyter_skills", None)
        if not isinstance(cell, str) or cell.lstrip().startswith("%%ask") or getattr(session, "busy", False):
            return
        marks = set(_MARK.findall(cell))
        text = _MARK.sub("", cell).strip()
        for mark, taken in self._taken.items():
            if mark in marks or (_is_cell_magic(text) and text == taken.code.strip()):
                taken.outcome, taken.told = _told(taken, text, result), False


class EditedCell:
    """What is edited in one turn; called for each piece of it.

    Args:
        edits: Those of the session.
    """

    def __init__(self, edits: Edits) -> None:
        self._edits = edits
        self._pieces: list[str] = []
        self._mark = ""

    def add(self, code: str) -> None:
        """Puts a piece of code into the turn's cell, below those that are in it."""
        self._pieces.append(code)
        self._mark = self._edits.offer(self._pieces, self._mark)


def _told(taken: _Taken, cell: str, result: Any) -> str:
    """What the model is told of a cell that was run."""
    changed = cell != taken.code.strip()
    error = getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None)
    told = f"they {'changed it and ran it' if changed else 'ran it as it was'}; "
    told += "it ended well." if error is None else f"it failed with {_compact(error)}"
    return told + (f"\nWhat they ran:\n{shortened(cell, _LONGEST_CODE)}" if changed else "")


def _is_cell_magic(code: str) -> bool:
    return code.lstrip().startswith("%%")


def _begin(code: str) -> str:
    first, _, rest = code.strip().partition("\n")
    return shortened(first, _LONGEST_BEGIN) + (" …" if rest else "")


def _compact(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 -- the user's own class, and its text may be beyond having
        text = type(error).__name__
    return shortened(" ".join(text.split()), _LONGEST_ERROR)
