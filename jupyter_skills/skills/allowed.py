"""``allowed-tools``: what a skill's author says it needs. Here it only ever narrows, and grants nothing.

The specification leaves its grammar open. In use are one line separated by blanks, one separated by commas, and
a YAML list; each entry is a tool's name, perhaps with a pattern in parentheses, which may hold blanks, commas
and more parentheses: ``Bash(git log:*, git diff:*) Read``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MOST_ENTRIES = 200
_LONGEST = 20_000

# What clients call a way to run code, and which of our tools do the same.
_SHELL = {"bash", "shell", "run_shell", "terminal", "sh", "powershell", "execute", "execute_command", "run_command"}
_PYTHON = {"python", "run_python", "notebookedit", "execute_code", "code_execution", "jupyter", "ipython"}


@dataclass(frozen=True)
class AllowedTool:
    """One entry.

    Args:
        name: The tool's name, as it is written.
        pattern: What stands in the parentheses after it; empty if there are none.
    """

    name: str
    pattern: str = ""


def parse(value: str | Iterable[object] | None) -> tuple[AllowedTool, ...]:
    """The entries of ``allowed-tools`` in any of its forms; what makes no sense is left out.

    Args:
        value: The field's value: text, a list, or None.
    """
    texts = [value] if isinstance(value, str) else [part for part in value or () if isinstance(part, str)]
    found = [entry for text in texts[:_MOST_ENTRIES] for entry in _entries(text[:_LONGEST])]
    return tuple(dict.fromkeys(found[:_MOST_ENTRIES]))


def languages(entries: Iterable[AllowedTool]) -> frozenset[str]:
    """The languages, of ``python`` and ``shell``, that a skill with these entries wants to use.

    Whoever may use a shell may use Python in it, so the former includes the latter. A pattern is not enforced:
    a shell has too many ways to say the same thing.
    """
    names = {entry.name.lower() for entry in entries}
    if "*" in names or names & _SHELL:
        return frozenset({"python", "shell"})
    return frozenset({"python"}) if names & _PYTHON else frozenset()


def _entries(text: str) -> Iterator[AllowedTool]:
    depth, word = 0, ""
    for character in f"{text} ":
        if depth == 0 and (character.isspace() or character in ",;"):
            if word:
                yield _entry(word)
            word = ""
            continue
        depth = max(0, depth + (character == "(") - (character == ")"))
        word += character
    if word.strip():  # a parenthesis was left open: what it holds is as much as can be told
        yield _entry(word.strip())


def _entry(word: str) -> AllowedTool:
    name, opened, pattern = word.partition("(")
    return AllowedTool(name.strip("\"'[] "), pattern.removesuffix(")").strip() if opened else "")
