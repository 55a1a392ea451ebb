"""A call with what it is given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jupyter_skills.look.atoms import UNKNOWN, Atoms, texts

if TYPE_CHECKING:
    from jupyter_skills.look.walker import Walker


class Given:
    """A call with what it is given.

    Args:
        walker: Where the code has come to.
        node: The call.
        values: What its arguments may stand for.
        words: The same for those by keyword; None is for ``**``.
    """

    def __init__(self, walker: Walker, node: ast.Call, values: list[Atoms], words: dict[str | None, Atoms]) -> None:
        self.walker = walker
        self.node = node
        self.values = values
        self.words = words

    @property
    def call(self) -> str:
        """The call as the code writes it."""
        return self.walker.cited(self.node)

    def say(self, kind: str, what: str, call: str = "") -> None:
        """Notes a thing that this call does."""
        self.walker.say(kind, what, call or self.call, self.node.lineno)

    def atoms(self, place: int, *words: str) -> Atoms:
        """What an argument may stand for, by its place or its name."""
        for word in words:
            if word in self.words:
                return self.words[word]
        if any(isinstance(arg, ast.Starred) for arg in self.node.args[: place + 1]) or None in self.words:
            return UNKNOWN
        return self.values[place] if place < len(self.values) else frozenset()

    def argument(self, place: int, *words: str) -> ast.expr | None:
        """An argument itself."""
        for keyword in self.node.keywords:
            if keyword.arg in words:
                return keyword.value
        return self.node.args[place] if place < len(self.node.args) else None

    def shown(self, *words: str) -> str:
        """The first argument, or one by name, as a short text."""
        return self.shown_at(0, *words)

    def shown_at(self, place: int, *words: str) -> str:
        """The same for another argument."""
        known = texts(self.atoms(place, *words))
        if known:
            return repr(known[0]) + (" or another" if len(known) > 1 else "")
        node = self.argument(place, *words)
        return self.walker.cited(node) if node is not None else self.call

    def receiver(self) -> str:
        """The object whose method is called: the file itself, where it is ``Path('out.txt')``."""
        inner = self.node.func.value if isinstance(self.node.func, ast.Attribute) else self.node.func
        made = inner.func if isinstance(inner, ast.Call) else None
        if (
            isinstance(inner, ast.Call)
            and getattr(made, "id", getattr(made, "attr", "")) == "Path"
            and len(inner.args) == 1
        ):
            known = texts(self.walker.values.get(id(inner.args[0]), UNKNOWN))
            if known:
                return repr(known[0])
        return self.walker.cited(inner)

    def words_of(self, place: int, *names: str) -> tuple[str, bool] | None:
        """A command line that is given as a text or as a list of texts.

        Returns:
            The text, and whether all of it is known; None if not even its beginning is.
        """
        node = self.argument(place, *names)
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            known = [self._word(each) for each in node.elts]
            if not known[0]:
                return None
            return " ".join(each[0] if each else "{}" for each in known), all(each and len(each) == 1 for each in known)
        atoms = self.atoms(place, *names)
        known_texts = texts(atoms)
        if known_texts:
            return "\n".join(known_texts), True
        starts = sorted(atom[1:] for atom in atoms if atom[0] in "=%" and atom[1:].strip())
        return ("\n".join(starts), False) if starts else None

    def _word(self, node: ast.expr) -> list[str] | None:
        atoms = self.walker.values.get(id(node), UNKNOWN)
        return ["python"] if atoms == {"sys.executable"} else texts(atoms)
