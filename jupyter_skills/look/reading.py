"""Code as a syntax tree, if that can be had cheaply."""

from __future__ import annotations

import ast
import warnings

from jupyter_skills.look.magics import as_calls

# A cell of so many characters is nothing that a person reads before consenting to it.
MOST_CHARACTERS = 64_000
# The look goes down into the tree by Python calls, of which a kernel allows about a thousand.
MOST_DEPTH = 150


def unix(source: str) -> str:
    """Code with each line ended as Python takes it: a lone carriage return ends one, too."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def read(source: str) -> tuple[ast.Module | None, str]:
    """Parses code.

    Args:
        source: Python, or a cell with magics.

    Returns:
        The tree, or None with the reason why it can't be had.
    """
    if len(source) > MOST_CHARACTERS:
        return None, "it is too long to be looked at"
    reason = ""
    for text in (source, as_calls):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text if isinstance(text, str) else text(source))
        except (SyntaxError, ValueError, UnicodeError):
            reason = reason or "it is no Python that can be read"
        except (RecursionError, MemoryError):
            return None, "it is nested too deeply to be looked at"
        else:
            return (tree, "") if _is_flat(tree) else (None, "it is nested too deeply to be looked at")
    return None, reason


def _is_flat(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False
