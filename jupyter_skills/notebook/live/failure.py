"""Errors of code: as IPython shows them, and in the few lines that a model needs."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import TracebackType

import jupyter_skills
from jupyter_skills.execution.output import clean_text

IsCode = Callable[[str], str | None]
"""Takes a file name of a frame; gives what to call that code in front of ``line 3``: empty for the code that runs
now, ``Cell In[2], `` for an earlier cell, None for a library."""

_OURS = str(Path(jupyter_skills.__file__).parent) + os.sep
_EXAMPLES = os.path.join(_OURS, "examples") + os.sep  # skills come with their own code
_MOST_FRAMES = 8
_MOST_LINKS = 5
_MOST_IN_GROUP = 5
_LONGEST_LINE = 200


def without_our_frames(error: BaseException) -> None:
    """Takes the frames of this package out of the traceback of an error, and of those it came from."""
    for one in _chain(error):
        one.__traceback__ = _stripped(one.__traceback__)


def has_group(error: BaseException | None) -> bool:
    """Whether there is a group of exceptions in what led to an error; IPython then leaves it to Python to show it."""
    return error is not None and any(isinstance(one, BaseExceptionGroup) for one in _chain(error))


def compact(error: BaseException, is_code: IsCode) -> str:
    """An error in a few lines: where in the code it came up, what was raised, and from what.

    No paths are in it, so that it is the same on each machine.
    """
    return clean_text(_told(error, is_code, _MOST_LINKS)).strip("\n")


def _told(error: BaseException, is_code: IsCode, links: int) -> str:
    text = "\n".join([*_frames(error, is_code), _last_words(error)])
    if isinstance(error, BaseExceptionGroup) and links:
        for number, inner in enumerate(error.exceptions[:_MOST_IN_GROUP], 1):
            text += f"\n{number}. " + _told(inner, is_code, links - 1).replace("\n", "\n   ")
        if (more := len(error.exceptions) - _MOST_IN_GROUP) > 0:
            text += f"\n… and {more} more"
    before, how = _cause(error)
    if before is None or not links:
        return text
    return f"{_told(before, is_code, links - 1)}\n{how}\n{text}"


def _cause(error: BaseException) -> tuple[BaseException | None, str]:
    if error.__cause__ is not None:
        return error.__cause__, "That was the cause of:"
    if error.__context__ is not None and not error.__suppress_context__:
        return error.__context__, "While that was handled:"
    return None, ""


def _frames(error: BaseException, is_code: IsCode) -> Iterator[str]:
    """The lines of code that led there; of what libraries did in between only the innermost function is told."""
    if isinstance(error, SyntaxError) and error.lineno and (name := is_code(error.filename or "")) is not None:
        yield f"{name}line {error.lineno}"
        if error.text:
            line = error.text.rstrip("\n")
            indent = len(line) - len(line.lstrip())
            yield f"    {_short(line.strip())}"
            if error.offset and 0 <= (column := error.offset - 1 - indent) < _LONGEST_LINE:
                yield f"    {' ' * column}^"
        return
    frames = traceback.walk_tb(error.__traceback__)
    told: list[str] = []
    seen_code = False
    for is_library, group in groupby(frames, key=lambda frame: is_code(frame[0].f_code.co_filename) is None):
        if is_library:
            frame, _ = list(group)[-1]
            if seen_code:  # what stands before the code is IPython
                told.append(f"in {frame.f_globals.get('__name__', '?')}, {frame.f_code.co_name}")
            continue
        seen_code = True
        for summary in traceback.StackSummary.extract(group):
            inside = "" if summary.name == "<module>" else f", in {summary.name}"
            told.append(f"{is_code(summary.filename)}line {summary.lineno}{inside}\n    {_short(summary.line or '')}")
    left_out = len(told) - _MOST_FRAMES
    if left_out > 0:
        half = _MOST_FRAMES // 2
        told[half:-half] = [f"… {left_out} more …"]
    yield from told


def _last_words(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    told = traceback.TracebackException(type(error), error, None, compact=True)
    kind = type(error)
    return "".join(told.format_exception_only()).rstrip().removeprefix(f"{kind.__module__}.")


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, those it came from and those within it, each once."""
    left, seen = [error], set()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [other for other in (one.__cause__, one.__context__) if other is not None]
            left += one.exceptions if isinstance(one, BaseExceptionGroup) else ()


def _stripped(frames: TracebackType | None) -> TracebackType | None:
    kept = [one for one in _links(frames) if not _is_ours(one.tb_frame.f_code.co_filename)]
    following = None
    for one in reversed(kept):
        one.tb_next = following
        following = one
    return following


def _links(frames: TracebackType | None) -> Iterator[TracebackType]:
    while frames is not None:
        yield frames
        frames = frames.tb_next


def _is_ours(path: str) -> bool:
    return path.startswith(_OURS) and not path.startswith(_EXAMPLES)
