"""Whose output it is that is written at a moment: a piece of code's, or that of the notebook around it.

What is told apart here is contexts, not threads: code that awaits, the renderer and older tasks share the main thread.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, Token, copy_context

_author: ContextVar[object | None] = ContextVar("jupyter_skills_author")
_UNKNOWN = object()


def sign(author: object) -> Token[object | None]:
    """Makes what is written in this context, and in those that come of it, an author's."""
    return _author.set(author)


def unsign(token: Token[object | None]) -> None:
    """Makes it what it was before."""
    _author.reset(token)


def written_by(author: object) -> bool | None:
    """Whether what is written now is this author's; None if nothing is known, as in most threads."""
    found = _author.get(_UNKNOWN)
    return None if found is _UNKNOWN else found is author


def apart() -> Context:
    """A copy of this context in which nothing that is written is a piece of code's."""
    context = copy_context()
    context.run(_author.set, None)
    return context
