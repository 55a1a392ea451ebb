"""Calls that do one thing or another by what they are given."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from jupyter_skills.look.atoms import A_CLASS, attribute, beginnings, effect, is_path, paths, texts
from jupyter_skills.look.effects import METHODS
from jupyter_skills.look.given import Given
from jupyter_skills.look.known import SCRIPT, names
from jupyter_skills.look.shell import judged

OPENERS = ("builtins.open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "io.FileIO")
_MODE = re.compile(r"[rwaxbtU+|:*gzx2]{1,8}")
_ASKS = re.compile(r"(?:select|explain|show|describe)\b(?!.*\binto\b)", re.IGNORECASE | re.DOTALL)
_REACHES = re.compile(r"__|@\s*\w+\s*[.(]")
_COMMANDS = names("""system popen run call check_call check_output Popen getoutput getstatusoutput exec_command
    spawn startfile create_subprocess_exec create_subprocess_shell subprocess_exec subprocess_shell""")
Handler = Callable[[Given, str], bool]


def _open(given: Given, path: str) -> bool:
    """Opens a file; a mode that isn't known may write."""
    alone = path in OPENERS
    if path == "io.open_code":
        return True
    place = 1 if alone else 0
    mode = given.atoms(place, "mode")
    known = texts(mode)
    target = given.shown("file", "name", "filename")
    if not alone:
        first = texts(given.atoms(0)) or []
        if known and not all(map(_MODE.fullmatch, known)):
            # It is a file that comes first, as with ``tarfile.open`` by another name.
            mode = given.atoms(1, "mode")
            known = texts(mode)
        elif isinstance(given.node.func, ast.Attribute) and first == (known or []):
            target = given.receiver()
    if not mode or (known and not any(set(value) & set("wax+") for value in known)):
        given.say("read", f"reads {target}")
    else:
        given.say("write", f"writes {target}")
    return False


def _named_open(given: Given, path: str) -> bool:
    if effect(path) or path.startswith(("os.", "PIL.")):
        return True
    return _open(given, path)


def _archive(given: Given, path: str) -> bool:
    mode = given.atoms(1, "mode")
    known = texts(mode)
    writes = bool(mode) and not (known and set("".join(known)) <= set("rb:*gzx2|") and "x" not in known)
    given.say("write" if writes else "read", f"{'writes' if writes else 'reads'} {given.shown('name', 'file')}")
    return False


def _import(given: Given, path: str) -> bool:
    names = texts(given.atoms(0, "name"))
    if not names or any(name.startswith(".") for name in names):
        given.say("hidden", f"imports {given.shown('name')}, a module that can't be told")
        return False
    for name in names:
        given.walker.imports(name, given.node.lineno)
    return False


def _attribute(given: Given, path: str) -> bool:
    names = texts(given.atoms(1))
    owner = given.atoms(0)
    what = path.rpartition(".")[2]
    modules = [path for path in paths(owner) if not path.endswith("()") and is_path(path)]
    if what == "getattr":
        if not names and modules:
            given.say("hidden", f"looks up in {modules[0]} what can't be told")
        for found in paths(attribute(owner, names[0])) if names else ():
            if effect(found) in ("hidden", "secret"):
                given.say(effect(found), f"looks up {found.removeprefix('?.')}")
    elif modules or A_CLASS in owner or (names and any(name.startswith("__") for name in names)):
        given.say("hidden", f"replaces a part of {given.walker.cited(given.node.args[0]) if given.node.args else 'it'}")
    return False


def _names(given: Given, path: str) -> bool:
    if given.node.args and path.endswith("vars"):
        return False
    given.say("hidden", f"reaches names through {path.rpartition('.')[2]}()")
    return False


def run(given: Given, path: str) -> None:
    """A program that is run."""
    last = path.rpartition(".")[2]
    if last.startswith("exec") and path.startswith(("os.", "posix.", "?.")) and last != "exec_command":
        given.say("exit", f"ends the kernel's process by {last}")
    if last not in _COMMANDS:
        given.say("run", given.call)
        if last.startswith(("exec", "spawn", "posix_spawn")):
            given.say("hidden", f"what {given.call} runs")
        return
    if last.endswith("_exec"):
        known = [texts(value) for value in given.values]
        found = (" ".join(each[0] if each else "{}" for each in known), all(known)) if known and known[0] else None
    else:
        found = given.words_of(0, "args", "cmd", "command")
    if found is None:
        given.say("run", f"runs {given.shown('args', 'cmd')}")
        given.say("hidden", f"what {given.call} runs")
        return
    command(given, *found)


def command(given: Given, text: str, whole: bool = True, call: str = "") -> None:
    """A command line that is run.

    Args:
        given: The call that runs it.
        text: The command line.
        whole: Whether nothing of it is unknown.
        call: How the call is cited if not as the code writes it.
    """
    given.say("run", f"runs {text!r}", call)
    for kind, what in judged(text):
        given.say(kind, what, what)
    if not whole:
        given.say("hidden", f"all of the command {text!r}…")


def database(given: Given, path: str) -> None:
    """A statement for a database."""
    statements = texts(given.atoms(0, "sql", "query", "statement", "con"))
    if statements and all(map(_only_asks, statements)):
        given.say("query", f"reads a database: {statements[0]}")
    else:
        given.say("database", f"changes a database: {given.shown('sql', 'query', 'statement', 'name')}")


def _only_asks(statement: str) -> bool:
    alone = statement.strip().removesuffix(";")
    return ";" not in alone and bool(_ASKS.match(alone))


def _sqlite(given: Given, path: str) -> bool:
    known = texts(given.atoms(0, "database", "url"))
    if path == "sqlalchemy.create_engine" and not (known and all(each.startswith("sqlite:") for each in known)):
        return True
    if known not in ([":memory:"], ["sqlite://"], ["sqlite:///:memory:"]):
        given.say("make", f"opens the database {given.shown('database', 'url')}")
    return False


def _expression(given: Given, path: str) -> bool:
    """``df.query`` and the like: pandas reaches names of the notebook from within the text."""
    atoms = given.atoms(0, "expr")
    if not atoms:
        return False
    starts = beginnings(atoms)
    unseen = "~" in atoms or (path in ("pandas.eval", "numexpr.evaluate", "sympy.sympify") and not starts)
    methods = {name for start in starts for name in re.findall(r"\.\s*(\w+)", start)}
    if unseen or any(map(_REACHES.search, starts)) or any(METHODS.get(name) for name in methods):
        given.say("hidden", f"what {given.call} works out")
    return False


def _timed(given: Given, path: str) -> bool:
    """Runs a text as code; a function's own code was seen where it stands."""
    for place, word in ((0, "stmt"), (1, "setup")):
        node, atoms = given.argument(place, word), given.atoms(place, word)
        for source in texts(atoms) or ():
            given.walker.nested(source, given.node.lineno - 1, own=True, call=given.call)
        if node is not None and not texts(atoms) and not any(atom.startswith("def:") for atom in atoms):
            given.say("hidden", f"runs {given.walker.cited(node)}")
    return False


def _yaml(given: Given, path: str) -> bool:
    loader = given.argument(1, "Loader")
    if loader is None or not given.walker.cited(loader).endswith("SafeLoader"):
        given.say("hidden", f"objects that {given.call} makes")
    return False


def _numpy_load(given: Given, path: str) -> bool:
    pickles = given.argument(2, "allow_pickle")
    if pickles is not None and not (isinstance(pickles, ast.Constant) and pickles.value is False):
        given.say("hidden", f"objects that {given.call} makes")
    return True


def _log_file(given: Given, path: str) -> bool:
    if "filename" in given.words or None in given.words:
        given.say("write", f"writes {given.shown('filename')}")
    return False


def _markup(given: Given, path: str) -> bool:
    atoms = given.atoms(0, "data")
    if "~" in atoms or any(map(SCRIPT.search, beginnings(atoms))) or {"url", "filename"} & set(map(str, given.words)):
        given.say("hidden", "what its HTML does in the page")
    return False


def _queue(given: Given, path: str) -> bool:
    """``sys.path.append`` and the like."""
    given.say("hidden", "changes where modules are imported from")
    return False


def _environment(given: Given, path: str) -> bool:
    if path.rpartition(".")[2] in ("update", "pop", "setdefault", "clear", "popitem", "__setitem__", "__delitem__"):
        given.say("environment", given.call)
        return False
    return True


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(OPENERS, _open),
    **dict.fromkeys(
        (
            "zipfile.ZipFile",
            "h5py.File",
            "tarfile.TarFile",
            "zipfile.PyZipFile",
            "tables.File",
            "gzip.GzipFile",
            "bz2.BZ2File",
            "lzma.LZMAFile",
        ),
        _archive,
    ),
    "tarfile.open": _archive,
    **dict.fromkeys(("builtins.__import__", "importlib.import_module", "importlib.__import__"), _import),
    **dict.fromkeys(("builtins.getattr", "builtins.setattr", "builtins.delattr"), _attribute),
    **dict.fromkeys(("builtins.globals", "builtins.locals", "builtins.vars"), _names),
    "sqlite3.connect": _sqlite,
    "duckdb.connect": _sqlite,
    "sqlalchemy.create_engine": _sqlite,
    **dict.fromkeys(("pandas.eval", "numexpr.evaluate", "sympy.sympify"), _expression),
    **dict.fromkeys(("timeit.timeit", "timeit.repeat", "cProfile.run", "profile.run", "timeit.Timer"), _timed),
    **dict.fromkeys(("yaml.load", "yaml.load_all"), _yaml),
    "numpy.load": _numpy_load,
    "logging.basicConfig": _log_file,
    **dict.fromkeys(
        ("IPython.display.HTML", "IPython.core.display.HTML", "IPython.display.SVG", "IPython.display.Markdown"),
        _markup,
    ),
    **dict.fromkeys(("sys.path.append", "sys.path.insert", "sys.path.extend"), _queue),
    **dict.fromkeys(
        (f"os.environ.{name}" for name in names("update pop setdefault clear popitem __setitem__ __delitem__")),
        _environment,
    ),
}
BY_NAME: dict[str, Handler] = {"open": _named_open, "query": _expression, "eval": _expression}
