"""Calls that are told by a text what to find and to run: a method, a module, an annotation, a template."""

from __future__ import annotations

import ast
import re

from jupyter_skills.look import special
from jupyter_skills.look.atoms import UNKNOWN, Atoms, beginnings, texts
from jupyter_skills.look.effects import INNER, METHODS
from jupyter_skills.look.given import Given
from jupyter_skills.look.known import names
from jupyter_skills.look.special import Handler

# What draws for pandas is a module that it imports by this name.
BACKENDS = names("matplotlib plotly hvplot bokeh holoviews altair pandas_bokeh pandas.plotting._matplotlib")
_PLOTS = frozenset({"plot", "hist", "boxplot"})
_PLAIN_OPTION = re.compile(r"[\w.]{1,80}")
_TEMPLATE = re.compile(r"\{[{%]")
_QUIET = frozenset({"read", "make", "query", "folder", ""})


def _part(given: Given, path: str) -> bool:
    """``operator.attrgetter`` and ``methodcaller``: it gives what will look up, or call, what a text names."""
    several = given.values if path.endswith("attrgetter") else [given.atoms(0)]
    for atoms in several or [UNKNOWN]:
        known = texts(atoms)
        if known is None:
            given.say("hidden", f"looks up what can't be told: {given.call}")
        for part in ".".join(known or ()).split("."):
            kind = METHODS.get(part, "") or ("hidden" if part.startswith("_") or part in INNER else "")
            if kind not in _QUIET:
                given.say(kind, f"calls {part} by its name")
    if any(isinstance(arg, ast.Starred) for arg in given.node.args):
        given.say("hidden", f"looks up what can't be told: {given.call}")
    return False


def _annotations(given: Given, path: str) -> bool:
    """Runs the annotations that are texts where it is asked to."""
    node = given.argument(9, "eval_str")
    if None in given.words or (node is not None and not (isinstance(node, ast.Constant) and not node.value)):
        given.say("hidden", f"runs the annotations that {given.call} finds")
    return False


def _backend(given: Given, path: str) -> bool:
    """Matplotlib's own backends are texts; those of others, ``module://…``, are told where the text stands."""
    atoms = given.atoms(0, "backend", "newbackend")
    if not texts(atoms):
        given.say("hidden", f"which module draws after {given.call}")
    return False


def draws_with(atoms: Atoms) -> bool:
    """Whether pandas would draw with one of the libraries that are known for it."""
    known = texts(atoms)
    return bool(known) and BACKENDS.issuperset(known or ())


def _option(given: Given, path: str) -> bool:
    """An option of pandas; its name may be a part of it, or a pattern."""
    for place in range(0, max(len(given.values), 1), 2):
        known = texts(given.atoms(place, "pat")) or [""]
        for name in known:
            about = name.lower() in "plotting.backend" if _PLAIN_OPTION.fullmatch(name) else True
            if about and not draws_with(given.atoms(place + 1, "val")):
                given.say("hidden", f"which module {given.call} makes pandas draw with")
    return False


def _duckdb(given: Given, path: str) -> bool:
    special.database(given, path)
    return False


def _template(given: Given, path: str) -> bool:
    atoms = given.atoms(0, "source")
    if "~" in atoms or any(map(_TEMPLATE.search, beginnings(atoms))):
        given.say("hidden", f"what the template of {given.call} works out")
    return True


def plots(given: Given) -> None:
    """``df.plot(backend=…)``: pandas imports that module."""
    func = given.node.func
    inner = func.value if isinstance(func, ast.Attribute) else None
    words = {func.attr if isinstance(func, ast.Attribute) else "", getattr(inner, "attr", "")}
    if words.isdisjoint(_PLOTS):
        return
    named = "backend" in given.words or any(
        isinstance(word.value, ast.Dict)
        and any(isinstance(key, ast.Constant) and key.value == "backend" for key in word.value.keys)
        for word in given.node.keywords
        if word.arg is None
    )
    if named and not draws_with(given.words.get("backend", given.words.get(None, UNKNOWN))):
        given.say("hidden", f"which module {given.call} draws with")


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("operator.attrgetter", "operator.methodcaller"), _part),
    **dict.fromkeys(("inspect.signature", "inspect.get_annotations", "inspect.Signature.from_callable"), _annotations),
    **dict.fromkeys(("matplotlib.use", "matplotlib.pyplot.switch_backend"), _backend),
    **dict.fromkeys(("pandas.set_option", "pandas.option_context"), _option),
    **dict.fromkeys((f"duckdb.{name}" for name in names("sql execute query from_query query_df")), _duckdb),
    **dict.fromkeys((f"duckdb.connect().{name}" for name in names("sql execute query from_query")), _duckdb),
    **dict.fromkeys(("cProfile.Profile().run", "profile.Profile().run"), special.HANDLERS["cProfile.run"]),
    **dict.fromkeys(("sqlite3.Connection", "sqlite3.dbapi2.connect"), special.HANDLERS["sqlite3.connect"]),
}
BY_NAME: dict[str, Handler] = {"from_string": _template}
