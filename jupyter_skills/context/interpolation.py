r"""Values of expressions in a prompt: ``$`expression```, and nothing else of what stands there.

What is taken for an expression stands on one line between ``$``` and the next backtick, and Python can compile it.
Three things look alike and stay as they are:

- ``$`a^2`$``, which GitHub and GitLab show as a formula;
- a backtick that ends inline code, as in ``matches `^a$` (once) `b```: an odd number stands before it on its line;
- ``\$`x```, which is how to write ``$`x``` itself; only there the backslash goes away. ``$$`` could be it too,
  but ``$$`price``` is how one writes a dollar sign before a value. A value after a backslash is ``$`"\\" + name```.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence

from jupyter_skills.context.parts import Part, merged
from jupyter_skills.errors import SkillsError, UsageProblem
from jupyter_skills.words import shortened

_CANDIDATE = re.compile(r"\$`([^`\r\n]*)`")
_FORMULA_ENDS = re.compile(r"\$(?!`)")  # $`a`$`b` are two values side by side
_NAMED = 40
_TOLD = 300


def interpolated(
    text: str, value_of: Callable[[str], object], describe: Callable[[str, object], Sequence[Part]]
) -> tuple[list[Part], list[str]]:
    """A prompt with the values of its expressions in their places; all other text is left as it is.

    Each expression is evaluated once, in order, and described before the next one is evaluated.

    Args:
        text: The prompt.
        value_of: Evaluates an expression.
        describe: Puts a value, which is that of the expression it is given, before a model.

    Returns:
        The parts, no two texts next to each other; and what the user should know, one sentence each.

    Raises:
        UsageProblem: An expression can't be evaluated.
    """
    parts: list[Part] = []
    notices: list[str] = []
    done = at = line = ticks = counted = 0
    while match := _CANDIDATE.search(text, at):
        start, end = match.span()
        if (begin := max(text.rfind("\n", counted, start), text.rfind("\r", counted, start)) + 1) > line:
            line, ticks, counted = begin, 0, begin
        ticks += text.count("`", counted, start)
        counted = start
        expression = match[1].strip()
        if _FORMULA_ENDS.match(text, end):
            at = end + 1
            continue
        at = start + 2  # within what stays as it is, another may begin
        if not expression:
            continue
        escaped = text[start - 1 : start] == "\\"
        if ticks % 2:
            notices.append(f"{_named(match[0])} stands in the prompt as it is: its first backtick ends inline code.")
            continue
        if not _is_expression(expression):
            if not escaped:
                notices.append(f"{_named(match[0])} stands in the prompt as it is: it is no Python expression.")
            continue
        at = end
        if escaped:
            parts.append(text[done : start - 1])
            done = start
            if re.match(r"[\w.:\\]", text[max(start - 2, 0) : start - 1]):  # it may have been meant as a path
                notices.append(f"{_named(match[0])} stands in the prompt as it is: a backslash is before it.")
            continue
        parts.append(text[done:start])
        done = end
        value = _evaluated(expression, value_of)
        parts += _in_its_place(
            parts, list(describe(expression, value)), text[end : end + 1], issubclass(type(value), str)
        )
    parts.append(text[done:])
    return merged(parts), list(dict.fromkeys(notices))


def _in_its_place(before: list[Part], described: list[Part], after: str, exactly: bool) -> list[Part]:
    """A description of several lines gets lines of its own; a text of the user's stays exactly as it is."""
    if exactly or not any(isinstance(part, str) and "\n" in part for part in described):
        return described
    last = next((part for part in reversed(before) if part), "\n")
    if isinstance(last, str) and not last.endswith(("\n", "\r")):
        described = ["\n", *described]
    end = described[-1]
    if after not in ("", "\n", "\r") and isinstance(end, str) and not end.endswith("\n"):
        described = [*described, "\n"]
    return described


def _is_expression(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what may not be Python at all
            compile(text, "<prompt>", "eval", dont_inherit=True)  # unlike ast.parse it knows that nothing awaits here
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
        return False
    return True


def _evaluated(expression: str, value_of: Callable[[str], object]) -> object:
    try:
        return value_of(expression)
    except SkillsError:
        raise
    except Exception as error:  # noqa: BLE001 -- the user's expression may raise anything
        raise UsageProblem(
            f"$`{expression}` can't be evaluated: {_told(error)}",
            f"Mend it, or write \\$`{expression}` if it is to stand in the prompt as it is",
        ) from None


def _told(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 -- so may its text
        text = ""
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return said if len(said) <= _TOLD else f"{said[:_TOLD]}…"


def _named(text: str) -> str:
    return shortened(text, _NAMED)
