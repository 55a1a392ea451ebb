"""What statements do to names, in the order they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from jupyter_skills.look.atoms import UNKNOWN, Atoms, attribute, effect, paths
from jupyter_skills.look.binding import Binder
from jupyter_skills.look.calls import judge, result
from jupyter_skills.look.effects import MODULES
from jupyter_skills.look.known import is_known
from jupyter_skills.look.reading import read, unix
from jupyter_skills.look.scopes import Function, imported_as

# Cells inside of cells inside of cells.
_DEEPEST = 4


class Walker(Binder):
    """Goes through statements once; see ``Values`` for the arguments."""

    def walk(self, body: Iterable[ast.stmt]) -> None:
        """Goes through the statements of a block."""
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.AST) -> None:
        """Goes through one statement, or a part of one."""
        self.here = node
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is not None:
            method(node)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            else:
                self.statement(child)

    # Statements

    def _expr(self, node: ast.Expr) -> None:
        found = self.value(node.value)
        if not isinstance(node.value, ast.Name | ast.Attribute):
            return
        if any(effect(path) == "exit" for path in paths(found)):
            self.say("exit", f"{self.cited(node.value)}", self.cited(node.value), node.lineno)

    def _assign(self, node: ast.Assign) -> None:
        followed = all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in node.targets)
        found = self.value(node.value)
        for path in paths(found) if followed else ():
            if path not in MODULES:
                self.passed_on(node.value, frozenset({path}))
        for target in node.targets:
            self.store(target, found, node.value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        self.value(node.annotation)
        if node.value is not None:
            self.store(node.target, self.value(node.value), node.value)

    def _augassign(self, node: ast.AugAssign) -> None:
        given = self.use(node.value)
        if isinstance(node.target, ast.Name):
            before = self._name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            rest = frozenset(atom for atom in before | given if atom[0] not in "=%")
            self.bind(node.target.id, rest | UNKNOWN, self.scope)
        else:
            self.store(node.target, UNKNOWN, node.value)

    def _delete(self, node: ast.Delete) -> None:
        waiting = list(reversed(node.targets))
        while waiting:
            target = waiting.pop()
            if isinstance(target, ast.Tuple | ast.List):
                waiting += reversed(target.elts)
            elif isinstance(target, ast.Name):
                if self.scope.home(target.id).parent is None:
                    self.seen.deletes[target.id] = None
            else:
                self._change_part(target, None)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        given = self.value(node.iter)
        with self.branch():
            self.store(node.target, given)
            self.walk(node.body)
        with self.branch():
            self.walk(node.orelse)

    _asyncfor = _for

    def _while(self, node: ast.While) -> None:
        self.value(node.test)
        for block in (node.body, node.orelse):
            with self.branch():
                self.walk(block)

    def _if(self, node: ast.If) -> None:
        self.value(node.test)
        with self.branch() as first:
            self.walk(node.body)
        with self.branch() as second:
            self.walk(node.orelse)
        self.certain(set(first).intersection(second))

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            found = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.store(item.optional_vars, found, item.context_expr)
        self.walk(node.body)

    _asyncwith = _with

    def _try(self, node: Any) -> None:
        with self.branch() as first:
            self.walk(node.body)
            self.walk(node.orelse)
        after: list[set[str]] = [set(first)]
        for handler in node.handlers:
            with self.branch() as gained:
                self._handler(handler)
            after.append(set(gained))
        self.certain(set.intersection(*after))
        self.walk(node.finalbody)

    _trystar = _try

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.value(node.type)
        if node.name:
            home = self.scope.home(node.name)
            self.learn(home, node.name, UNKNOWN)
            if home.parent is None:
                self.before.add(node.name)
                if node.name in self.namespace:
                    self.seen.deletes[node.name] = None
                self.definite.add(node.name)
        self.walk(node.body)
        # It ends with its clause.
        if node.name:
            self.definite.discard(node.name)

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        for case in node.cases:
            with self.branch():
                self._pattern(case.pattern, subject)
                if case.guard is not None:
                    self.value(case.guard)
                self.walk(case.body)

    def _pattern(self, pattern: ast.pattern, subject: Atoms) -> None:
        names: list[tuple[int, int, str]] = []
        for node in ast.walk(pattern):
            if isinstance(node, ast.MatchValue):
                self.value(node.value)
            elif isinstance(node, ast.MatchClass):
                self.value(node.cls)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                names.append((node.end_lineno, node.end_col_offset, node.rest))
            elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
                names.append((node.end_lineno, node.end_col_offset, node.name))
        for _, _, name in sorted(names):
            self.bind(name, subject, self.scope)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports(alias.name, node.lineno)
            found = alias.name if alias.asname else alias.name.partition(".")[0]
            self.bind(imported_as(node, alias), frozenset({found}), self.scope)

    def _importfrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        self.imports(module, node.lineno)
        for alias in node.names:
            if alias.name == "*":
                what = f"which names 'from {module} import *' binds"
                self.say("hidden", what, f"from {module} import *", node.lineno)
            else:
                found = attribute(frozenset({module}), alias.name) if not node.level else UNKNOWN
                if "os.environ" in found or "os.environb" in found:
                    self.say("secret", "reads os.environ", "os.environ", node.lineno)
                self.bind(imported_as(node, alias), found, self.scope)

    def imports(self, module: str, line: int) -> None:
        """Judges that a module is imported."""
        if module.partition(".")[0] in self.own:
            what = f"imports {module!r}, which is the skill's own file"
            self.say("hidden", what, f"import {module}", line)
        elif module.partition(".")[0] in ("ctypes", "cffi", "antigravity"):
            self.say("hidden", f"imports {module!r}", f"import {module}", line)
        elif not is_known(module) and not any(
            module.partition(".")[0] == path.partition(".")[0] for path in self.modules.values()
        ):
            self.say("hidden", f"imports {module!r}, which runs code of its own", f"import {module}", line)

    def _global(self, node: ast.Global) -> None:
        pass

    _nonlocal = _global

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.learn(self.scope, self.returning, self.use(node.value))

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorated = bool(node.decorator_list)
        for decorator in node.decorator_list:
            for path in paths(self.use(decorator)):
                if effect(path):
                    self.say(effect(path), f"calls {path.removeprefix('?.')}", self.cited(decorator), decorator.lineno)
        if node.returns is not None:
            self.value(node.returns)
        found = self.function(node)
        self.bind(node.name, found | UNKNOWN if decorated else found, self.scope)

    _asyncfunctiondef = _functiondef

    def function(self, node: Function) -> Atoms:
        """Goes through a function as if it ran."""
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        scope = self.scopes.of[id(node)]
        for arg in every:
            if arg.annotation is not None:
                self.value(arg.annotation)
            self.learn(scope, arg.arg, UNKNOWN)
        places = [*given.posonlyargs, *given.args]
        for arg, default in zip(reversed(places), reversed(given.defaults), strict=False):
            self.learn(scope, arg.arg, self.use(default))
        for arg, given_default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if given_default is not None:
                self.learn(scope, arg.arg, self.use(given_default))
        if self.scope.kind == "notebook" and not isinstance(node, ast.Lambda):
            # Its body runs once it has its name, unless a decorator calls it at once.
            self.before.add(node.name)
            self.certain([] if node.decorator_list else [node.name])
        outside, self.scope = self.scope, scope
        if isinstance(node, ast.Lambda):
            self.learn(scope, self.returning, self.use(node.body))
        else:
            self._document(node)
            self.walk(node.body)
        self.scope = outside
        self.functions[f"def:{scope.number}"] = (node, scope)
        return frozenset({f"def:{scope.number}"})

    def _document(self, node: Any) -> None:
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            self.documents.add(id(first.value))

    def _classdef(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.use(decorator)
        for base in (*node.bases, *(word.value for word in node.keywords)):
            self.use(base)
        outside, self.scope = self.scope, self.scopes.of[id(node)]
        self._document(node)
        self.walk(node.body)
        self.scope = outside
        self.bind(node.name, UNKNOWN, self.scope)

    def _typealias(self, node: Any) -> None:
        self.value(node.value)
        self.bind(node.name.id, UNKNOWN, self.scope)

    # Calls

    def _call(self, node: ast.Call) -> Atoms:
        callee = self.callee(node.func)
        judge(self, node, callee)
        return result(self, node, callee)

    def nested(self, source: str, before: int, *, own: bool, call: str) -> None:
        """Looks at code that a call runs.

        Args:
            source: The code.
            before: How many lines of this code stand before its first one.
            own: Whether the names it binds are its own, and not the notebook's.
            call: The call, as it is cited.
        """
        source = unix(source)
        key = (source, own)
        if key not in self.trees:
            tree, why = read(source)
            scope = self.scopes.new("function", self.scopes.notebook) if own else self.scopes.notebook
            if tree is not None:
                self.scopes.add(tree, scope)
                self.moved = True  # what it deletes was not known so far
            self.trees[key] = (tree, scope, why)
        tree, scope, why = self.trees[key]
        if tree is None or self.depth >= _DEEPEST:
            self.say("hidden", f"code inside of a call: {why or 'nested too deeply'}", call, before + 1)
            return
        outside = self.lines, self.shift, self.scope
        self.lines, self.shift, self.scope = source.split("\n"), self.shift + before, scope
        self.depth += 1
        with self.branch():
            self.walk(tree.body)
        self.depth -= 1
        self.lines, self.shift, self.scope = outside
