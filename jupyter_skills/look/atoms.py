"""What an expression may stand for, as a set of short texts.

``os.remove`` is something found under that name, ``requests.Session()`` what calling it gave; ``=text`` is a text,
``%start`` a text of which only the beginning is known, ``~`` a text that the code makes in a way no reader sees,
``@df`` the notebook's ``df`` or a part of it, ``def:3`` a function of this code, ``?`` anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_skills.look.effects import (
    ALL_OF,
    ANY,
    FUNCTIONS,
    METHODS,
    MODULES,
    PATH_METHODS,
    PATH_TEXTS,
    PATHS_OF_PATHS,
)
from jupyter_skills.look.known import STANDARD, names
from jupyter_skills.look.standard import inner, is_strange

Atoms = frozenset[str]

UNKNOWN: Atoms = frozenset({"?"})
MADE: Atoms = frozenset({"?", "~"})
MOST_TEXTS = 8
MOST_PATHS = 40
LONGEST_TEXT = 64_000
LONGEST_PATH = 160
MOST_LEVELS = 6
MOST_PARTS = 2
SHELL = "IPython.get_ipython()."
# The class of an object that nothing is known of.
A_CLASS = "builtins.type()"
# What of IPython's own is followed, or read without harm.
SHELL_CALLS = names("run_line_magic run_cell_magic magic system getoutput config colors __class__")
_MARKS = "=%~@?"


def is_path(atom: str) -> bool:
    """Whether it is a dotted name."""
    return atom[0] not in _MARKS and not atom.startswith("def:")


def paths(atoms: Atoms) -> list[str]:
    """The dotted names among them, and methods of objects that nothing is known of."""
    return sorted(atom for atom in atoms if is_path(atom) or atom.startswith("?."))


def texts(atoms: Atoms) -> list[str] | None:
    """The texts it can be, or None if it can be anything else."""
    if atoms and all(atom[0] == "=" for atom in atoms):
        return sorted(atom[1:] for atom in atoms)
    return None


def beginnings(atoms: Atoms) -> list[str]:
    """What is known of the texts it can be."""
    return sorted(atom[1:] for atom in atoms if atom[0] in "=%")


def joined(several: Iterable[Atoms]) -> Atoms:
    """What may stand where any of them may."""
    found = frozenset[str]().union(*several)
    if len(found) > MOST_TEXTS:
        kept = frozenset(atom for atom in found if atom[0] not in "=%")
        if len(found) - len(kept) > MOST_TEXTS:
            found = kept | UNKNOWN
    return found


def text(value: str) -> Atoms:
    """A text that stands in the code."""
    return frozenset({f"={value}"}) if len(value) <= LONGEST_TEXT else frozenset({f"%{value[:LONGEST_TEXT]}"})


def added(left: Atoms, right: Atoms) -> Atoms:
    """Two texts, or two lists, put together."""
    first, second = texts(left), texts(right)
    if first and second and len(first) * len(second) <= MOST_TEXTS:
        return joined(text(one + other) for one in first for other in second)
    rest = frozenset(atom for atom in left | right if atom[0] not in "=%")
    return rest | UNKNOWN | {f"%{start}" for start in beginnings(left)}


def attribute(atoms: Atoms, name: str) -> Atoms:
    """What an attribute of something may stand for."""
    found: set[str] = set()
    for atom in atoms:
        if is_path(atom) or atom.startswith("?."):
            found.add(_member(atom, name))
        else:
            found.add(f"{ANY}.{name}" if name in METHODS else "?")
            if atom[0] == "@":
                found.add(atom)
            if name == "__class__":
                found.add(A_CLASS)
    return frozenset(found) or UNKNOWN


def _member(path: str, name: str) -> str:
    module = inner(path, name) if is_path(path) else ""
    if module:
        return module
    if path.endswith(f".{name}"):
        return path
    module, _, rest = path.partition("()")
    # A loop that goes from one part to the next would never come to an end.
    if rest.count(".") >= MOST_PARTS or module.count(".") >= MOST_LEVELS or len(path) > LONGEST_PATH:
        return f"{ANY}.{name}" if name in METHODS else "?"
    return f"{path}.{name}"


def called(path: str) -> Atoms:
    """What calling something of that name gives."""
    if path.startswith("pathlib.") and "()" in path:
        return frozenset({"pathlib.Path()"}) if path.rpartition(".")[2] in PATHS_OF_PATHS else UNKNOWN
    if path.startswith("?.") or "()" in path or len(path) > LONGEST_PATH:
        return UNKNOWN
    return frozenset({f"{path}()"})


def effect(path: str, called: bool = False) -> str:
    """What calling a dotted name does.

    Args:
        path: The dotted name.
        called: Whether it is called here, not only named: then it is no constant, however it is written.

    Returns:
        A kind of ``seen.KINDS``, or ``""``.
    """
    if path in FUNCTIONS:
        return FUNCTIONS[path]
    if path.startswith(SHELL):
        return "" if path.removeprefix(SHELL).partition(".")[0] in SHELL_CALLS else "hidden"
    base, _, last = path.rpartition(".")
    if path.startswith("pathlib.") and last in PATH_METHODS and base.rpartition(".")[2] not in PATH_TEXTS:
        return PATH_METHODS[last] if base != "pathlib" else ""
    parts = path.partition("()")[0].split(".")
    if parts[0] in STANDARD and any(part[:1] == "_" and part[:2] != "__" for part in parts):
        return "hidden"
    if last in METHODS and not path.startswith("?") and FUNCTIONS.get(base) == "" and base.endswith("()"):
        return METHODS[last]
    made = False
    prefix = base
    named = METHODS.get(last)
    while prefix:
        if prefix in FUNCTIONS or prefix in ALL_OF:
            kind = FUNCTIONS.get(prefix, ALL_OF.get(prefix, ""))
            whole = prefix not in FUNCTIONS
            if kind == "" and not named:
                return ""
            if kind and not made:
                harmless = "error" in last.lower() or (last.isupper() and not called)
                return "" if whole and harmless else kind
            if kind in ("fetch", "send", "hidden") and (made_of_class(prefix) or not whole):
                return named or (kind if made_of_class(prefix) else "")
            break
        if prefix.endswith("()"):
            made, prefix = True, prefix[:-2]
        else:
            prefix = prefix.rpartition(".")[0]
    return named or ("hidden" if is_strange(path, called) else "")


def made_of_class(path: str) -> bool:
    """Whether what a call of it gives goes on to do what it does: a client, say."""
    last = path.rpartition(".")[2]
    return last[:1].isupper() or last in ("socket", "client", "resource", "create_connection")


def is_danger(path: str) -> bool:
    """Whether something must not be passed on unseen."""
    return path in MODULES
