"""Functions, classes, modules and exceptions as text."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import traceback
import types
from typing import Any

from jupyter_skills.context.kinds import TEXT_LIMIT, Redact, is_a, is_class, shortened
from jupyter_skills.execution.output import clean_text

_MOST_SOURCE = 40_000  # what is asked for is the source, so more of it than of a repr
_MOST_DOC = 3_000
_FRAMES = 12
_OF_NUMPY = ("ufunc", "_ArrayFunctionDispatcher", "vectorize")


def code(name: str, value: Any, redact: Redact = str) -> str | None:
    """A function or class as its source, or as its signature and documentation; None for anything else."""
    if is_class(value):
        source = _source(value) or _class_in_a_cell(value)
    elif inspect.isroutine(value) or is_a(value, "functools", "_lru_cache_wrapper") or is_a(value, "numpy", *_OF_NUMPY):
        source = _source(value)
    else:
        return None
    if source and len(source) <= _MOST_SOURCE:
        return redact(source)
    return shortened(_documented(name, value, redact, too_long=bool(source)), TEXT_LIMIT, redact)


def module(name: str, value: Any, redact: Redact = str) -> str | None:
    """A module as its name and the first line of its documentation; None for anything else."""
    if not isinstance(value, types.ModuleType):
        return None
    first = (inspect.getdoc(value) or "").strip().partition("\n")[0]
    version = value.__dict__.get("__version__")
    told = f"module {value.__name__}" + (f" {version}" if isinstance(version, str) else "")
    return shortened(f"{told}: {first}" if first else told, TEXT_LIMIT, redact)


def exception(value: Any, redact: Redact = str) -> str | None:
    """An exception with the end of its traceback; None for anything else."""
    if not isinstance(value, BaseException):
        return None
    lines = traceback.format_exception(type(value), value, value.__traceback__, limit=-_FRAMES)
    return shortened(clean_text("".join(lines)).strip(), TEXT_LIMIT, redact)


def _source(value: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(value)).rstrip("\n")
    except Exception:  # noqa: BLE001 -- objects that pretend to be code raise all sorts
        return ""


def _class_in_a_cell(kind: type) -> str:
    """The source of a class of the notebook's, whose module has no file: the newest cell that defines one like it."""
    members = {member for member in vars(kind) if not member.startswith("__")} | set(
        vars(kind).get("__annotations__", {})
    )
    for file, entry in reversed(list(linecache.cache.items())):
        if len(entry) != 4 or entry[1] is not None or kind.__module__ != "__main__":
            continue  # a lazy entry, or one of a real file
        text = "".join(entry[2])
        if f"class {kind.__name__}" not in text:
            continue
        try:
            nodes = [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, ast.ClassDef)]
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in reversed(nodes):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            source = "".join(entry[2][first - 1 : node.end_lineno])
            if node.name == kind.__name__ and all(member in source for member in _written(members)):
                return textwrap.dedent(source).rstrip("\n")
    return ""


def _written(members: set[str]) -> set[str]:
    return {member for member in members if not member.startswith("_")}  # decorators and enums add others


def _documented(name: str, value: Any, redact: Redact, too_long: bool) -> str:
    kind = "class" if is_class(value) else "function"
    try:
        called = f"{getattr(value, '__qualname__', name)}{inspect.signature(value)}"
    except (TypeError, ValueError):
        called = str(getattr(value, "__qualname__", name))
    lines = [f"{kind} {called}" + (" (its source is too long to show)" if too_long else "")]
    if doc := inspect.getdoc(value):
        lines += ["", shortened(doc, _MOST_DOC, redact)]
    if kind == "class" and (names := [each for each in vars(value) if not each.startswith("_")]):
        lines += ["", f"defines {', '.join(names[:100])}{', …' if len(names) > 100 else ''}"]
    return "\n".join(lines)
