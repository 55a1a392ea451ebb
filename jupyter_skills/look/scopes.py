"""Which names belong to the notebook, and which to a function, class or comprehension."""

from __future__ import annotations

import ast

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Scope:
    """What names mean in one part of the code.

    Args:
        number: Tells it from the other scopes; 0 is the notebook.
        kind: ``notebook``, ``function``, ``class`` or ``comprehension``.
        parent: The scope around it.
    """

    def __init__(self, number: int, kind: str, parent: Scope | None) -> None:
        self.number = number
        self.kind = kind
        self.parent = parent
        self.bound: set[str] = set()
        self.shared: set[str] = set()  # declared global
        self.outer: set[str] = set()  # declared nonlocal

    def home(self, name: str) -> Scope:
        """The scope whose variable a name is here."""
        scope: Scope = self
        first = True
        while scope.parent is not None:
            if name in scope.shared:
                break
            if name in scope.bound and name not in scope.outer and (first or scope.kind != "class"):
                return scope
            scope, first = scope.parent, False
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str) -> None:
        """Notes that the code of this scope gives a name a value."""
        self.bound.add(name)

    @property
    def around(self) -> Scope:
        """The scope that ``:=`` binds in."""
        scope: Scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope


class Scopes:
    """The scopes of some trees that share the notebook's names."""

    def __init__(self) -> None:
        self.notebook = Scope(0, "notebook", None)
        self.of: dict[int, Scope] = {}
        self.deleted: set[str] = set()
        self._count = 0

    def new(self, kind: str, parent: Scope) -> Scope:
        """A scope inside of another."""
        self._count += 1
        return Scope(self._count, kind, parent)

    def add(self, tree: ast.AST, scope: Scope) -> None:
        """Finds the scopes in a tree whose own names are those of ``scope``."""
        waiting: list[tuple[ast.AST, Scope]] = [(tree, scope)]
        while waiting:
            node, scope = waiting.pop()
            inner = scope
            if isinstance(node, Function | ast.ClassDef | Comprehension):
                kind = "class" if isinstance(node, ast.ClassDef) else "function"
                inner = self.new("comprehension" if isinstance(node, Comprehension) else kind, scope)
                self.of[id(node)] = inner
            self._note(node, scope)
            outside, inside = parts(node)
            waiting += [(child, scope) for child in outside]
            waiting += [(child, inner) for child in inside]

    def _note(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                scope.bind(node.id)
            if isinstance(node.ctx, ast.Del):
                self.deleted.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope.bind(node.name)
        elif isinstance(node, ast.NamedExpr):
            scope.around.bind(node.target.id)
        elif isinstance(node, ast.Global):
            scope.shared.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.outer.update(node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                scope.bind(imported_as(node, alias))
        elif isinstance(node, ast.arg):
            scope.bind(node.arg)
        else:
            name = captured(node)
            if name:
                scope.bind(name)
                if isinstance(node, ast.ExceptHandler):
                    self.deleted.add(name)


def imported_as(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)


def captured(node: ast.AST) -> str | None:
    """The name that a pattern, an ``except`` clause or a type parameter binds, if any."""
    if isinstance(node, ast.MatchMapping):
        return node.rest
    if isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler):
        return node.name
    # Python 3.12 has type parameters; the name of one is a text there.
    return str(node.name) if type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple") else None  # type: ignore[attr-defined]


def parts(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """The parts of a node that belong to the scope around it, and those that belong to its own, if it has one."""
    if isinstance(node, Function):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        outer = [*given.defaults, *filter(None, given.kw_defaults)]
        outer += [arg.annotation for arg in every if arg.annotation]
        bare: list[ast.AST] = [ast.arg(arg.arg) for arg in every]
        if isinstance(node, ast.Lambda):
            return list(outer), [*bare, node.body]
        outer += [*node.decorator_list, *filter(None, (node.returns,))]
        return list(outer), [*bare, *node.body, *getattr(node, "type_params", [])]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords], [*node.body, *getattr(node, "type_params", [])]
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, Comprehension):
        # The first iterable is worked out before the comprehension begins.
        first = node.generators[0]
        own = [first.target, *first.ifs, *(child for child in children if child is not first)]
        return [first.iter], own
    if isinstance(node, ast.NamedExpr):
        return [node.value], []
    return children, []
