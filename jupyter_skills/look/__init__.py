"""What a piece of Python code would touch, seen without running it.

It fails closed: what isn't understood counts as hidden, or as the worse kind. It is there for a person who is asked
for consent, and is no wall: code that was seen to do nothing may still call what does, such as a function that the
notebook had before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from jupyter_skills.look.reading import read, unix
from jupyter_skills.look.result import Look, Touch
from jupyter_skills.look.scopes import Scopes
from jupyter_skills.look.seen import Seen
from jupyter_skills.look.walker import Walker

__all__ = ["Look", "Touch", "look"]

# What one round finds a name to stand for, the next one may need: as many rounds as honest code takes.
_MOST_ROUNDS = 10


def look(
    code: str,
    namespace: Collection[str] = (),
    modules: Mapping[str, str] | None = None,
    own: Collection[str] = (),
) -> Look:
    """Looks at code without running it.

    Args:
        code: Python as IPython's ``transform_cell`` leaves it, so that magics are calls of ``get_ipython()``.
        namespace: The names that the notebook has now.
        modules: Those of them that stand for modules, or for functions and classes of modules, with what they stand
            for: ``{"pd": "pandas", "run": "subprocess.run"}``. Where it isn't given, ``os`` and the like are taken
            for what they are called after; where it is, names that aren't in it are no modules.
        own: Names of modules that lie beside the code and are found before all others, whatever they are called.

    Returns:
        What it would touch. Code that can't be read gives one hidden thing; nothing is ever raised.
    """
    try:
        return _look(unix(code), frozenset(namespace), None if modules is None else dict(modules), frozenset(own))
    except (RecursionError, MemoryError):
        return _unread("it is nested too deeply to be looked at")
    except Exception as error:  # noqa: BLE001 -- a defect of the look must not look like harmless code
        return _unread(f"the look at it failed with {type(error).__name__}")


def _look(code: str, namespace: frozenset[str], modules: dict[str, str] | None, own: frozenset[str]) -> Look:
    tree, why = read(code)
    if tree is None:
        return _unread(why)
    scopes = Scopes()
    scopes.add(tree, scopes.notebook)
    walker = Walker(code.split("\n"), namespace, modules, scopes, own)
    for _ in range(_MOST_ROUNDS):
        walker.begin()
        walker.walk(tree.body)
        if not walker.moved:
            break
    else:
        walker.say("hidden", "names that are passed on too often to be followed", "names passed on", 0)
    return walker.seen.look()


def _unread(why: str) -> Look:
    seen = Seen()
    seen.add("hidden", f"the code, as {why}", "the code as a whole", 0)
    return seen.look()
