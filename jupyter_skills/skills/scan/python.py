"""What ``scan`` reads out of Python code, by its syntax tree: names instead of spellings, and no comments."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from jupyter_skills.look.known import DECODERS, EVALUATORS, LOADERS, NETWORK_MODULES, SENDERS, STARTERS
from jupyter_skills.skills.scan.rules import PRIVATE_FILE, START_FILE

MOST_CHARACTERS = 500_000

_FETCHERS = frozenset(
    f"{library}.{verb}" for library in ("requests", "httpx", "session", "client") for verb in ("get", "post")
) | {"urlopen", "urllib.request.urlopen"}
# What these are given is shown to somebody, not run.
_TELLERS = frozenset(
    {"print", "add_argument", "ArgumentParser", "debug", "info", "warning", "error", "exception", "exit"}
)
_WHOLE = frozenset({"dumps", "str", "repr", "urlencode", "b64encode"})
_EVERYTHING = frozenset(
    {"'/'", "'~'", "Path.home()", "pathlib.Path.home()", "os.path.expanduser('~')", "Path('/')", "os.environ['HOME']"}
)


@dataclass
class PythonFacts:
    """What stands in a piece of Python code.

    Args:
        strings: Each text in it that may be run, with its line. Not those that document or are printed.
        hits: Each thing found, as its kind and its line.
        notes: Kinds of plain facts, each with its first line.
    """

    strings: list[tuple[str, int]] = field(default_factory=list)
    hits: list[tuple[str, int]] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)


def python_facts(source: str) -> PythonFacts | None:
    """Reads Python code without running it.

    Args:
        source: The code.

    Returns:
        What stands in it, or None if it can't be parsed, or not cheaply.
    """
    if len(source) > MOST_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.removeprefix("\ufeff"))
        nodes = list(ast.walk(tree))
        facts = PythonFacts(strings=list(_strings(nodes)))
        facts.hits = [*_encoded(nodes), *_leaks(nodes, facts.strings), *_shells(nodes), *_changes(nodes)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for kind, line in _facts(nodes):
        facts.notes[kind] = min(line, facts.notes.get(kind, line))
    return facts


def _name(node: ast.expr) -> str:
    """A dotted name such as ``os.path.join``; of anything else its last part, such as ``get`` of ``f().get``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _last(node: ast.expr) -> str:
    return _name(node).rpartition(".")[2]


def _calls(nodes: list[ast.AST]) -> Iterator[ast.Call]:
    return (node for node in nodes if isinstance(node, ast.Call))


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def _strings(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    told: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            told.add(id(node.value))
        elif isinstance(node, ast.Raise) and node.exc:
            told |= {id(inside) for inside in ast.walk(node.exc)}
        elif isinstance(node, ast.Call) and _last(node.func) in _TELLERS:
            told |= {id(inside) for value in _values(node) for inside in ast.walk(value)}
    for node in nodes:
        if id(node) in told:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
        elif isinstance(node, ast.JoinedStr):
            told |= {id(part) for part in node.values}
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{value}" for p in node.values), node.lineno
        elif isinstance(node, ast.List | ast.Tuple) and len(node.elts) < 20:
            words = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            if len(words) > 1 and len(words) == len(node.elts):
                yield " ".join(words), node.lineno


def _calls_any(names: frozenset[str]) -> Callable[[ast.AST], bool]:
    def called(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and bool({_name(node.func), _last(node.func)} & names)

    return called


def _names_start_file(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(START_FILE.search(node.value[:200]))


def _given(nodes: list[ast.AST], source: Callable[[ast.AST], bool]) -> set[str]:
    """The names that are given something from a source, at one or two removes."""
    found: set[str] = set()
    for _ in range(2):
        for node in nodes:
            if isinstance(node, ast.Assign) and _holds(node.value, source, found):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _holds(value: ast.expr, source: Callable[[ast.AST], bool], names: set[str]) -> bool:
    return any(source(node) or (isinstance(node, ast.Name) and node.id in names) for node in ast.walk(value))


def _encoded(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    runs = [call for call in _calls(nodes) if call.args and _name(call.func) in EVALUATORS | STARTERS | LOADERS]
    if not runs:
        return
    decodes, fetches = _calls_any(DECODERS), _calls_any(_FETCHERS)
    decoded, fetched = _given(nodes, decodes), _given(nodes, fetches)
    for call in runs:
        name = _name(call.func)
        if name not in LOADERS and _holds(call.args[0], decodes, decoded):
            yield "decoded-code", call.lineno
        elif name not in STARTERS and _holds(call.args[0], fetches, fetched):
            yield "network-shell", call.lineno


def _leaks(nodes: list[ast.AST], strings: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    called = {_last(call.func) for call in _calls(nodes)}
    if not called & SENDERS or all(kind != "network" for kind, _ in _facts(nodes)):
        return
    reads = bool(called & {"open", "read_text", "read_bytes", "copy", "connect"})
    for text, line in strings:
        if reads and len(text) < 200 and PRIVATE_FILE.search(text):
            yield "exfiltration", line
    for call in _calls(nodes):
        if _last(call.func) in _WHOLE | SENDERS and any(map(_is_environment, _values(call))):
            yield "exfiltration", call.lineno


def _is_environment(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and _last(value.func) in {"dict", "copy"}:
        value = value.args[0] if value.args else value.func
    return _name(value) in {"os.environ", "os.environ.copy", "environ"}


def _shells(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    called = {_last(call.func) for call in _calls(nodes)}
    if "dup2" in called and "connect" in called:
        yield "reverse-shell", min(call.lineno for call in _calls(nodes) if _last(call.func) == "dup2")


def _changes(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    places = _given(nodes, _names_start_file)
    for call in _calls(nodes):
        name = _last(call.func)
        if name == "rmtree" and call.args and ast.unparse(call.args[0]) in _EVERYTHING:
            yield "destructive", call.lineno
        elif name in {"write_text", "write_bytes"} and _holds(call.func, _names_start_file, places):
            yield "persistence", call.lineno
        elif name == "open":
            modes = [value.value for value in _values(call) if isinstance(value, ast.Constant)]
            writes = any(isinstance(mode, str) and mode.strip("bt+") in {"a", "w"} for mode in modes)
            where = [call.func, *call.args[:1]]
            if writes and any(_holds(part, _names_start_file, places) for part in where):
                yield "persistence", call.lineno


def _facts(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            )
            for name in names:
                if name in NETWORK_MODULES or name.partition(".")[0] in NETWORK_MODULES:
                    yield "network", node.lineno
                if name.partition(".")[0] == "subprocess":
                    yield "subprocess", node.lineno
        elif isinstance(node, ast.Call) and _name(node.func) in {"os.system", "os.popen"}:
            yield "subprocess", node.lineno
