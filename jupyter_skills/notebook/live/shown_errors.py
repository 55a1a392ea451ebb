"""What IPython shows of errors while code runs: kept for the card, and kept from failing the cell."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.execution.output import bounded, clean_coloured
from jupyter_skills.notebook.live.failure import compact, has_group, without_our_frames

_LONGEST = 20_000


class ShownErrors:
    """The errors that IPython shows while a piece of code runs.

    Args:
        shell: Where it runs.
        code: The code as it was given.
        transformed: The code as it will be compiled.
    """

    def __init__(self, shell: InteractiveShell, code: str, transformed: str) -> None:
        self._shell = shell
        self._file = shell.compile.get_code_name(code, transformed, shell.execution_count)
        self._shown: dict[int, tuple[BaseException, str]] = {}
        self.exiting = False
        """Whether the code has ended by ``SystemExit``: what IPython says then is meant for a terminal."""

    def traceback(self, error: BaseException) -> str:
        """How IPython has shown an error; empty if it has not."""
        return self._shown.get(id(error), (error, ""))[1]

    def compact(self, error: BaseException) -> str:
        """An error in a few lines."""
        return compact(error, self._name_of)

    def others(self, last: BaseException | None) -> list[BaseException]:
        """Those that did not end the code, such as one of a method that shows an object."""
        return [error for error, _ in self._shown.values() if error is not last]

    def methods(self) -> dict[str, Callable[..., Any]]:
        """What to put in place of the shell's methods of the same names."""
        shell = self._shell
        plain = "showtraceback" not in vars(shell)  # otherwise another extension shows errors in its own way
        showtraceback, showsyntaxerror = shell.showtraceback, shell.showsyntaxerror

        def show(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
            error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
            self._prepare(error)
            if plain and has_group(error):
                self._show_group(error, exc_tuple)
            else:
                showtraceback(exc_tuple, *args, **kwargs)

        def show_syntax(*args: Any, **kwargs: Any) -> None:
            self._prepare(sys.exc_info()[1])
            showsyntaxerror(*args, **kwargs)

        def keep(kind: type[BaseException], error: BaseException, lines: list[str]) -> None:
            self._keep(error, shell.InteractiveTB.stb2text(lines))

        def keep_usage(error: BaseException) -> None:
            self._keep(error, f"UsageError: {error}")

        return {
            "showtraceback": show,
            "showsyntaxerror": show_syntax,
            "_showtraceback": keep,  # IPython's own place for a side channel
            "show_usage_error": keep_usage,
        }

    def file_under_cell(self) -> None:
        """Has IPython call the code by the number of the cell that runs, and not by that of the next one."""
        numbers = vars(self._shell.compile).get("_filename_map", {})
        if self._file in numbers:
            numbers[self._file] = self._shell.execution_count - 1

    def _prepare(self, error: BaseException | None) -> None:
        self.file_under_cell()
        if error is not None:
            without_our_frames(error)

    def _keep(self, error: BaseException, text: str) -> None:
        if isinstance(error, SystemExit):
            self.exiting = True
            return
        self._shown[id(error)] = error, bounded(clean_coloured(text), _LONGEST)

    def _show_group(self, error: BaseException | None, exc_tuple: Any) -> None:
        assert error is not None, "there is a group in it"
        self._shell.get_exception_only(exc_tuple)  # which remembers it for %debug and %tb
        frames = error.__traceback__
        # The first frame is IPython's own.
        told = traceback.TracebackException(type(error), error, frames.tb_next if frames else None)
        self._keep(error, "".join(told.format()))

    def _name_of(self, file: str) -> str | None:
        if file == self._file:
            return ""
        named = self._shell.compile.format_code_name(file)
        return f"{named[0]} {named[1]}, " if named else None
