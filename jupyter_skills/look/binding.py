"""What becomes of names and objects that are given values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jupyter_skills.look.atoms import A_CLASS, Atoms, is_path, paths
from jupyter_skills.look.by_text import draws_with
from jupyter_skills.look.effects import METHODS, MODULES
from jupyter_skills.look.scopes import Scope
from jupyter_skills.look.values import Values

# Settings of libraries, which are there to be set.
_SETTINGS = ("options", "rcParams", "config", "defaults", "backends", "templates", "renderers", "environ")
_NOT_TO_REPLACE = frozenset({"get_ipython", "__builtins__", "__import__", "__build_class__"})


class Binder(Values):
    """Gives names and parts of objects values; see ``Values`` for the arguments."""

    @contextmanager
    def branch(self) -> Iterator[list[str]]:
        """A block that may not run: what it binds is certain in it only. Gives those names once it is over."""
        outside, self.gained = self.gained, []
        gained: list[str] = []
        try:
            yield gained
        finally:
            gained += self.gained
            self.definite.difference_update(gained)
            self.gained = outside

    def certain(self, names: Iterable[str]) -> None:
        """From here on these names are the code's own."""
        for name in names:
            if name not in self.definite and name not in self.scopes.deleted:
                self.definite.add(name)
                self.gained.append(name)

    def bind(self, name: str, atoms: Atoms, scope: Scope) -> None:
        """Gives a name of a scope a value."""
        home = scope.home(name)
        self.learn(home, name, atoms)
        if home.kind == "class":
            # It becomes an attribute, and those are not followed.
            self.passed_on(self.here, atoms)
        if home.parent is None:
            self.seen.binds[name] = None
            self.before.add(name)
            if name in _NOT_TO_REPLACE and atoms != {"IPython.get_ipython"}:
                self.say("hidden", f"replaces {name}", f"{name} replaced", 0)
            if self.scope.kind == "notebook":
                self.certain([name])

    def store(self, target: ast.expr, atoms: Atoms, given: ast.expr | None = None) -> None:
        """Gives what stands on the left of an assignment a value."""
        if isinstance(target, ast.Name):
            self.bind(target.id, atoms, self.scope)
        elif isinstance(target, ast.Tuple | ast.List):
            pairs = given.elts if isinstance(given, ast.Tuple | ast.List) else []
            paired = len(pairs) == len(target.elts) and not any(
                isinstance(e, ast.Starred) for e in (*pairs, *target.elts)
            )
            for place, each in enumerate(target.elts):
                self.store(each, self.values.get(id(pairs[place]), atoms) if paired else atoms)
        elif isinstance(target, ast.Starred):
            self.store(target.value, atoms)
        else:
            self.passed_on(target, atoms)
            self._change_part(target, given)

    def _change_part(self, target: ast.expr, given: ast.expr | None) -> None:
        if not isinstance(target, ast.Attribute | ast.Subscript):
            return
        if isinstance(target, ast.Subscript):
            base, quiet = self._subscripted(target), True
        else:
            base, quiet = self.value(target.value), isinstance(given, ast.Constant)
            if METHODS.get(target.attr) == "hidden":
                self.say("hidden", f"replaces {self.cited(target)}", f"{self.cited(target)} replaced", target.lineno)
            if target.attr == "backend" and "pandas.options.plotting" in base:
                drawn = frozenset[str]() if given is None else self.values.get(id(given), frozenset())
                if not draws_with(drawn):
                    self.say("hidden", f"sets {self.cited(target)}", f"{self.cited(target)} set", target.lineno)
        self.changed(base)
        for path in paths(base):
            root = path.partition(".")[0].removesuffix("()")
            if path == A_CLASS and not quiet:
                name = self.cited(target)
                self.say("hidden", f"changes a class: {name}", f"{name} replaced", target.lineno)
            if not is_path(path) or (path.endswith(")") and not path.startswith("IPython.")):
                continue
            if path in ("os.environ", "os.environb"):
                self.say("environment", f"sets {self.cited(target)}", self.cited(target), target.lineno)
            elif (
                root in MODULES
                or root in ("IPython", "threading")
                or not (quiet or any(part in _SETTINGS for part in path.split(".")))
            ):
                name = self.cited(target)
                self.say("hidden", f"replaces {name}", f"{name} replaced", target.lineno)

    def _subscripted(self, target: ast.Subscript) -> Atoms:
        base = target.value
        self.use(target.slice)
        if isinstance(base, ast.Attribute):
            owner = self.value(base.value)
            if "os" in owner and base.attr in ("environ", "environb"):
                return frozenset({"os.environ"})
        return self.value(base)

    def changed(self, atoms: Atoms) -> None:
        """Notes that an object is changed in place."""
        for atom in sorted(atoms):
            if atom[0] == "@":
                self.seen.changes[atom[1:]] = None
