"""What is asked of IPython: magics and command lines."""

from __future__ import annotations

import ast
import re

from jupyter_skills.look import magics, special
from jupyter_skills.look.atoms import SHELL_CALLS, texts
from jupyter_skills.look.given import Given
from jupyter_skills.look.known import SCRIPT

_SETS = re.compile(r"(\w+)(?:=|\s+)(.*)", re.DOTALL)
# Options of magics that name a file which is written.
_FILE_OPTIONS = {name: re.compile(r"\s-\w*f") for name in ("history", "hist")} | {"prun": re.compile(r"\s-\w*[DT]")}
_NEVER = re.compile(r"(?!)")
_TIMING_OPTIONS = re.compile(r"(?:\s*-(?:[nrotpqclsTDm]+\s*[\w.]*|-no-raise-error)\s)*\s*")


def in_ipython(given: Given, name: str) -> None:
    """Judges a call of a method of IPython's shell."""
    if name in ("system", "getoutput"):
        _shell(given, given.words_of(0, "cmd"))
    elif name in ("run_line_magic", "run_cell_magic", "magic"):
        words = [texts(given.atoms(place)) for place in range(3)]
        if name == "magic" and words[0]:
            first, _, rest = words[0][0].lstrip("% ").partition(" ")
            words = [[first], [rest], None]
        if (
            not words[0]
            or not words[1]
            or (name == "run_cell_magic" and not words[2])
            or any(w and len(w) > 1 for w in words)
        ):
            given.say("hidden", "a magic that can't be told")
        elif name == "run_cell_magic":
            _magic(given, words[0][0], words[1][0], (words[2] or [""])[0])
        else:
            _magic(given, words[0][0], words[1][0], None)
    elif name.partition(".")[0] not in SHELL_CALLS:
        given.say("hidden", f"what IPython's {name} does")


def _shell(given: Given, found: tuple[str, bool] | None) -> None:
    if found is None:
        given.say("run", "runs a command")
        given.say("hidden", "a command that can't be told")
    else:
        mark = "!" if given.walker.cited(given.node.func).startswith("get_ipython()") else ""
        special.command(given, *found, f"{mark}{found[0]}" if mark else "")


def _magic(given: Given, name: str, line: str, cell: str | None) -> None:
    mark = "%" if cell is None else "%%"
    call = f"{mark}{name} {line}".strip()
    name = name.lstrip("%")
    if _FILE_OPTIONS.get(name, _NEVER).search(f" {line}"):
        given.say("write", f"writes by {call}", call)
    if name in magics.PYTHON:
        _python(given, name, line, cell, call)
    elif name in ("env", "set_env"):
        sets = _SETS.fullmatch(line.strip())
        given.say("environment" if sets else "secret", f"{'sets' if sets else 'reads'} {call}", call)
    elif name in magics.SHELL:
        _script(given, name, line, cell, call)
    elif name in magics.ALIASES:
        special.command(given, f"{name} {line}", call=call)
    elif name in magics.KINDS:
        kind = magics.KINDS[name]
        if kind == "install" and line.split(" ")[0] in ("list", "show", "freeze", "check", "--version", "info"):
            given.say("run", f"runs {name} {line}", call)
        else:
            verb = {"write": "writes ", "folder": "moves to ", "read": "reads ", "install": f"{name} "}.get(kind, "")
            given.say(kind, f"{verb}{line}".strip() or call, call)
        if kind == "install" and any(mark in line for mark in "`$;|&{\n"):
            given.say("hidden", f"all that {call} does", call)
    elif name in ("reset", "reset_selective", "xdel"):
        _reset(given, name, line, call)
    elif name in ("load_ext", "reload_ext"):
        if line.strip() not in magics.EXTENSIONS:
            given.say("hidden", f"loads the extension {line.strip()!r}, which runs code of its own", call)
    elif name == "config":
        _, equals, value = line.partition("=")
        if equals and not _is_literal(value):
            given.say("hidden", f"works out {value.strip()}", call)
        elif line.strip() and not line.startswith("InlineBackend"):
            given.say("environment", f"sets {line}", call)
    elif name.lower() in ("html", "svg", "markdown", "latex") and cell is not None:
        if SCRIPT.search(cell):
            given.say("hidden", "what its HTML does in the page", call)
    elif name not in magics.CALM:
        given.say("hidden", f"what {call} does", call)


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return False
    return True


def _python(given: Given, name: str, line: str, cell: str | None, call: str) -> None:
    before = given.node.lineno
    if name == "capture" and cell is not None:
        words = [word for word in line.split() if not word.startswith("-")]
        if words and words[0].isidentifier():
            given.walker.bind(words[0], frozenset("?"), given.walker.scopes.notebook)
        line = ""
    if name == "code_wrap":
        given.say("hidden", f"what {call} does to cells", call)
        return
    options = _TIMING_OPTIONS.match(f"{line} ")
    source = line[options.end() if options else 0 :].strip()
    own = name == "timeit"
    if source:
        given.walker.nested(source, before - 1, own=own, call=call)
    if cell is not None:
        given.walker.nested(cell, before, own=own, call=call)


def _script(given: Given, name: str, line: str, cell: str | None, call: str) -> None:
    if name in magics.INTERPRETERS:
        program = line.split()[0] if name == "script" and line.split() else name
        if program.rpartition("/")[2] not in ("bash", "sh", "zsh"):
            given.say("run", f"runs {program}", call)
            given.say("hidden", f"what {program} is told to do", call)
            return
    text = cell if cell is not None else line
    if name == "sc":
        text = text.partition("=")[2]
    special.command(given, text, call=call)
    if cell is not None and line.strip() and name in ("sx", "system", "!"):
        special.command(given, line, call=call)


def _reset(given: Given, name: str, line: str, call: str) -> None:
    walker = given.walker
    if name == "xdel":
        for word in line.split():
            if word.isidentifier():
                walker.seen.deletes[word] = None
        return
    given.say("forget", f"deletes variables: {call}", call)
    if name == "reset":
        walker.seen.deletes.update(dict.fromkeys(sorted(walker.namespace)))
