"""What a verb of ``%skill`` is: a deed, and the words it takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jupyter_skills.notebook.arguments import MagicParser
from jupyter_skills.notebook.session import Session
from jupyter_skills.words import plain


@dataclass(frozen=True)
class Argument:
    """An argument of a verb: the words for ``add_argument``, and its keywords.

    Args:
        names: Its option strings, or its one name.
        keywords: What argparse takes.
        completes: What its values are, for completion: ``available``, ``loaded``, ``path``, or empty.
    """

    names: Sequence[str]
    keywords: dict[str, object]
    completes: str = ""


def argument(*names: str, completes: str = "", **keywords: object) -> Argument:
    """An ``Argument``, written as one calls ``add_argument``."""
    return Argument(names, keywords, completes)


@dataclass(frozen=True)
class Verb:
    """A verb: what it does, and what it takes."""

    deed: Callable[[Session, argparse.Namespace], None]
    arguments: Sequence[Argument] = ()

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return (self.deed.__doc__ or "").splitlines()[0]

    def parser(self, name: str) -> MagicParser:
        """Its parser; the reference in the docs is generated from it."""
        parser = MagicParser(f"%skill {name}", self.summary)
        for each in self.arguments:
            parser.add_argument(*each.names, **each.keywords)  # type: ignore[arg-type]
        return parser


def say(text: str) -> None:
    """Answers in the cell's output."""
    print(plain(text))  # noqa: T201 -- a line magic answers in the cell's output
