"""What expressions stand for, and what is said of them on the way."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_skills.look.atoms import (
    MADE,
    MOST_PATHS,
    SHELL,
    UNKNOWN,
    Atoms,
    added,
    attribute,
    beginnings,
    effect,
    is_danger,
    joined,
    paths,
    text,
    texts,
)
from jupyter_skills.look.effects import FUNCTIONS, INNER, METHODS
from jupyter_skills.look.known import KEY_FILE
from jupyter_skills.look.scopes import Function, Scope, Scopes
from jupyter_skills.look.seen import Seen

# What IPython puts beside Python's own.
_SHELL_NAMES = {"get_ipython": "IPython.get_ipython", "display": "IPython.display.display"}
_BUILTINS = frozenset(dir(builtins)) | frozenset(_SHELL_NAMES) | {"exit", "quit"}
_MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__debug__"})
_INNARDS = frozenset({"__builtins__", "__loader__", "__spec__", "__build_class__"})
# A text that grows in a loop is another one each time.
_ROUNDS_OF_TEXTS = 3
_NAMESPACES = frozenset({"globals", "locals", "vars", "dir"})
# Matplotlib imports the rest of such a text.
_BACKEND = re.compile(r"\s*module://", re.IGNORECASE)
_TOLD = frozenset({"secret", "hidden"})


class Values:
    """Follows what names and expressions stand for; ``Walker`` adds the statements, ``calls`` the calls.

    Args:
        lines: The code, in lines.
        namespace: The names that the notebook has.
        modules: Those of them that stand for modules, functions or classes, with what they stand for; None where that
            isn't known.
        scopes: The scopes of the code.
        own: The names of modules that are not the ones known under these names.
    """

    def __init__(
        self,
        lines: list[str],
        namespace: frozenset[str],
        modules: Mapping[str, str] | None,
        scopes: Scopes,
        own: frozenset[str] = frozenset(),
    ) -> None:
        self.lines = lines
        self.namespace = namespace
        self.modules = modules or {}
        self.told = modules is not None
        self.scopes = scopes
        self.own = own
        self.env: dict[tuple[int, str], Atoms] = {}
        self.moved = False
        self.functions: dict[str, tuple[Any, Scope]] = {}
        self.trees: dict[tuple[str, bool], tuple[ast.Module | None, Scope, str]] = {}
        self.depth = 0
        self.round = 0
        self._raw = "", b""
        self.begin()

    def begin(self) -> None:
        """Starts over, with what names were found to stand for."""
        self.round += 1
        self.seen = Seen()
        self.scope = self.scopes.notebook
        self.definite: set[str] = set()
        self.gained: list[str] = []
        self.before: set[str] = set()
        self.moved = False
        self.values: dict[int, Atoms] = {}
        self.shift = 0
        self.here: ast.AST = ast.Pass()
        self.returning = "ret"
        self.documents: set[int] = set()

    # Names

    def learn(self, scope: Scope, name: str, atoms: Atoms) -> None:
        """Adds to what a name may stand for."""
        if self.round > _ROUNDS_OF_TEXTS:
            atoms = frozenset("?" if atom[0] in "=%" else atom for atom in atoms) | frozenset(
                atom for atom in atoms if atom in self.env.get((scope.number, name), ())
            )
        key = (scope.number, name)
        known = self.env.get(key, frozenset())
        if not atoms <= known:
            together = joined((known, atoms))
            if len(together) > MOST_PATHS:
                self.say("hidden", f"what {name} stands for", f"what {name} stands for", 0)
                together = known | UNKNOWN
            if together != known:
                self.env[key] = together
                self.moved = True

    def say(self, kind: str, what: str, call: str, line: int) -> None:
        """Notes a thing; the line is that of the tree, which may stand inside of another cell."""
        self.seen.add(kind, what, call, line + self.shift if line else 0)

    def cited(self, node: ast.AST) -> str:
        """How the code writes something, up to the end of its line."""
        start, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not 0 < start <= len(self.lines):
            return ""
        line = self.lines[start - 1]
        if start == end and line.isascii():
            return line[node.col_offset : node.end_col_offset]  # type: ignore[attr-defined]
        if self._raw[0] is not line:
            self._raw = line, line.encode(errors="surrogatepass")
        cut = self._raw[1][node.col_offset : node.end_col_offset if start == end else None]  # type: ignore[attr-defined]
        return cut.decode(errors="replace") + ("" if start == end else "…")

    def value(self, node: ast.expr) -> Atoms:
        """What an expression may stand for; looks at all that stands in it, once."""
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            self._children(node)
            found = UNKNOWN
        else:
            found = method(node)
        self.values[id(node)] = found
        return found

    def use(self, node: ast.expr) -> Atoms:
        """The same where the value goes somewhere that it can't be followed to."""
        found = self.value(node)
        self.passed_on(node, found)
        return found

    def passed_on(self, node: ast.AST, found: Atoms) -> None:
        """Says so where something dangerous is handed on."""
        line = getattr(node, "lineno", 0)
        for path in paths(found):
            if is_danger(path):
                self.say("hidden", f"what is done with {path}, which is passed on", f"{path} passed on", line)
            elif not path.endswith(")") and self._is_function(path):
                kind = effect(path)
                what = f"passes on {path.removeprefix('?.')}"
                if kind and kind not in ("read", "make", "folder", "query"):
                    self.say(kind, what, self.cited(node) or path, line)

    @staticmethod
    def _is_function(path: str) -> bool:
        last = path.rpartition(".")[2]
        return path != "os.environ" and (path != f"?.{last}" or last != "write")

    def uses(self, nodes: Iterable[ast.expr | None]) -> None:
        """Looks at several that are passed on."""
        for node in nodes:
            if node is not None:
                self.use(node)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.use(child)
            else:
                self._children(child)

    def _constant(self, node: ast.Constant) -> Atoms:
        value = node.value
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if not isinstance(value, str):
            return UNKNOWN
        if id(node) not in self.documents:
            self._key_file(value, node)
        return text(value)

    def _key_file(self, value: str, node: ast.AST) -> None:
        if _BACKEND.match(value):
            what = f"names {value!r}, a module that draws in the place of a known one"
            self.say("hidden", what, repr(value), getattr(node, "lineno", 0))
        if len(value) < 1_000 and KEY_FILE.search(value):
            self.say("secret", f"names {value!r}", repr(value), getattr(node, "lineno", 0))

    def _name(self, node: ast.Name) -> Atoms:
        home = self.scope.home(node.id)
        if home.parent is None:
            found = self.notebook_name(node.id)
        else:
            found = self.env.get((home.number, node.id), frozenset())
            if home.kind == "class":
                found |= self.notebook_name(node.id)
        if node.id in _INNARDS:
            self.say("hidden", f"what is done with {node.id}", node.id, node.lineno)
        return found or UNKNOWN

    def notebook_name(self, name: str) -> Atoms:
        """What a name of the notebook stands for where the code has come to."""
        found = self.env.get((0, name), frozenset())
        if name in self.definite:
            return found
        there = name in self.namespace or name in self.modules
        if name in _BUILTINS:
            found |= {_SHELL_NAMES.get(name, f"builtins.{name}")}
        if (there or not (name in _BUILTINS or name in self.before)) and name not in _MODULE_NAMES:
            if name not in _SHELL_NAMES:
                self.seen.reads[name] = None
            if name in self.modules:
                found |= {self.modules[name]}
            elif not (there and self.told) and name not in self.before and name in INNER:
                # A name that nothing is said of can only be meant as what it is called after.
                found |= {name}
            else:
                found |= {f"@{name}"}
        return found

    def _attribute(self, node: ast.Attribute, callee: bool = False) -> Atoms:
        base = self.value(node.value)
        found = attribute(base, node.attr)
        if node.attr == "__dict__" and any(map(is_danger, base)):
            self.say("hidden", f"what {self.cited(node)} leads to", self.cited(node), node.lineno)
        for path in paths(found):
            named = path in FUNCTIONS or node.attr in METHODS or path.startswith(SHELL)
            if (
                named
                and effect(path) in _TOLD
                and (not callee or (METHODS.get(node.attr) == "hidden" and node.attr.startswith("_")))
            ):
                what = f"what .{node.attr} leads to" if effect(path) == "hidden" else f"reads {path}"
                self.say(effect(path), what, self.cited(node) or path, node.lineno)
        return found

    def callee(self, node: ast.expr) -> Atoms:
        """What a call calls; that it is called is for others to judge."""
        if isinstance(node, ast.Attribute):
            found = self._attribute(node, callee=True)
            self.values[id(node)] = found
            return found
        return self.value(node)

    def _subscript(self, node: ast.Subscript) -> Atoms:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "modules":
            base = self.value(node.value.value)
            if "sys" in base:
                names = texts(self.use(node.slice))
                if names and isinstance(node.ctx, ast.Load):
                    return frozenset(names)
                self.say("hidden", "changes or looks up modules by hand", self.cited(node), node.lineno)
                return UNKNOWN
        base = self.value(node.value)
        self.use(node.slice)
        if isinstance(node.slice, ast.Slice) and (node.slice.step is not None or beginnings(base)):
            return MADE | frozenset(atom for atom in base if atom[0] not in "=%")
        return base if not isinstance(node.value, ast.Constant) else MADE

    def _starred(self, node: ast.Starred) -> Atoms:
        return self.value(node.value)

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Atoms:
        return joined(self.value(each) for each in node.elts) or UNKNOWN

    _tuple = _set = _list

    def _dict(self, node: ast.Dict) -> Atoms:
        self.uses(node.keys)
        return joined(self.value(each) for each in node.values) or UNKNOWN

    def _ifexp(self, node: ast.IfExp) -> Atoms:
        self.use(node.test)
        return joined((self.value(node.body), self.value(node.orelse)))

    def _boolop(self, node: ast.BoolOp) -> Atoms:
        return joined(self.value(each) for each in node.values)

    def _namedexpr(self, node: ast.NamedExpr) -> Atoms:
        found = self.value(node.value)
        self.bind(node.target.id, found, self.scope.around)
        return found

    def _compare(self, node: ast.Compare) -> Atoms:
        for each in (node.left, *node.comparators):
            called = isinstance(each, ast.Call) and not each.args and isinstance(each.func, ast.Name) and each.func.id
            named = called in _NAMESPACES or (isinstance(each, ast.Attribute) and each.attr == "modules")
            if not (named and each is not node.left):
                self.value(each)
        return UNKNOWN

    def _binop(self, node: ast.BinOp) -> Atoms:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Add):
            found = added(left, right)
            for value in texts(found) or ():
                self._key_file(value, node)
            return found
        if isinstance(node.op, ast.Mod) and beginnings(left):
            return UNKNOWN | {f"%{start.partition('%')[0]}" for start in beginnings(left)}
        if isinstance(node.op, ast.Mult) and (beginnings(left) or beginnings(right)):
            return MADE
        paths_ = frozenset(atom for atom in left | right if atom.startswith(("pathlib.", "@", "~")))
        self.passed_on(node.left, left)
        self.passed_on(node.right, right)
        return paths_ | UNKNOWN

    def _joinedstr(self, node: ast.JoinedStr) -> Atoms:
        found = text("")
        for part in node.values:
            if isinstance(part, ast.Constant):
                found = added(found, text(str(part.value)))
            elif isinstance(part, ast.FormattedValue):
                inside = self.value(part.value)
                if part.format_spec is not None:
                    self.value(part.format_spec)
                plain = texts(inside) if part.format_spec is None and part.conversion == -1 else None
                found = added(found, inside if plain else MADE if "~" in inside else UNKNOWN)
        for value in texts(found) or beginnings(found):
            self._key_file(value, node)
        return found

    def _lambda(self, node: ast.Lambda) -> Atoms:
        return self.function(node)

    def comprehension(self, node: Any, *results: ast.expr) -> Atoms:
        """A comprehension: its targets are its own."""
        outside, self.scope = self.scope, self.scopes.of[id(node)]
        for number, each in enumerate(node.generators):
            if number == 0:
                self.scope, inside = outside, self.scope
                given = self.value(each.iter)
                self.scope = inside
            else:
                given = self.value(each.iter)
            self.store(each.target, given)
            self.uses(each.ifs)
        found = joined(self.value(each) for each in results)
        self.scope = outside
        return found

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Atoms:
        return self.comprehension(node, node.elt)

    _setcomp = _generatorexp = _listcomp

    def _dictcomp(self, node: ast.DictComp) -> Atoms:
        return self.comprehension(node, node.key, node.value)

    def _await(self, node: ast.Await) -> Atoms:
        return self.value(node.value)

    def _yield(self, node: ast.Yield) -> Atoms:
        if node.value is not None:
            self.use(node.value)
        return UNKNOWN

    def store(self, target: ast.expr, atoms: Atoms, given: ast.expr | None = None) -> None:
        """Gives what stands on the left of an assignment a value."""
        raise NotImplementedError

    def bind(self, name: str, atoms: Atoms, scope: Scope) -> None:
        """Gives a name of a scope a value."""
        raise NotImplementedError

    def function(self, node: Function) -> Atoms:
        """Goes through a function as if it ran."""
        raise NotImplementedError
