"""Tab after ``%skill``, ``%ask`` and ``%%ask``: verbs, options, names of skills, paths."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from jupyter_skills.errors import SkillsError
from jupyter_skills.notebook.arguments import MagicParser, ask_parser
from jupyter_skills.notebook.session import Session

if TYPE_CHECKING:
    from jupyter_skills.store.finding import Remembered

_SKILL = re.compile(r"\s*%skill\s+(?P<words>.*)$", re.DOTALL)
_ASK = re.compile(r"\s*%%?ask\s+(?P<words>.*)$", re.DOTALL)
_ASK_COMPLETES = {"skill": "available", "attach": "path"}
_MOST = 500
_PATIENCE = 0.5  # seconds

Matcher = Callable[[CompletionContext], dict[str, Any]]


def matcher_for(session: Session) -> Matcher:
    """What IPython calls with the text before the cursor. For other lines it has nothing to say."""

    @context_matcher(identifier="jupyter_skills")
    def match(context: CompletionContext) -> dict[str, Any]:
        text = context.text_until_cursor
        on_first_line = context.cursor_line == 0
        found: tuple[str, Iterable[str]] | None = None
        try:
            if line := _SKILL.match(text):
                found = _after_skill(session, line["words"])
            elif on_first_line and (line := _ASK.match(text)):
                found = _after_ask(session, line["words"])
        except (SkillsError, OSError):  # the line itself will say what is wrong
            found = None
        if found is None:
            return {"completions": []}
        fragment, words = found
        fitting = dict.fromkeys(word for word in words if word.startswith((fragment, f"'{fragment}")))
        return {
            "completions": [SimpleCompletion(word, type="magic") for word in list(fitting)[:_MOST]],
            "matched_fragment": fragment,
            "suppress": True,  # what fits Python code does not fit here
        }

    return match  # type: ignore[no-any-return]


def _after_skill(session: Session, typed: str) -> tuple[str, Iterable[str]]:
    from jupyter_skills.notebook.verbs import VERBS

    words = typed.split(" ")
    if len(words) == 1:
        return words[0], VERBS
    if words[0] not in VERBS:
        return words[-1], ()
    verb = VERBS[words[0]]
    kinds = {name.lstrip("-").replace("-", "_"): each.completes for each in verb.arguments for name in each.names}
    return words[-1], _values(session, verb.parser(words[0]), kinds, words[1:])


def _after_ask(session: Session, typed: str) -> tuple[str, Iterable[str]] | None:
    words = typed.split(" ")
    parser = ask_parser()
    takes_value = [action for action in parser._actions if action.nargs != 0]
    before = words[:-1]
    expecting = bool(before) and any(before[-1] in action.option_strings for action in takes_value)
    if not expecting and not words[-1].startswith("-"):
        return None  # prose
    return words[-1], _values(session, parser, _ASK_COMPLETES, words)


def _values(session: Session, parser: MagicParser, kinds: Mapping[str, str], words: list[str]) -> Iterable[str]:
    """What could stand in the place of the last word."""
    fragment = words[-1]
    before = words[-2] if len(words) > 1 else ""
    actions = parser._actions  # argparse offers no public way to ask
    option = next((action for action in actions if before in action.option_strings and action.nargs != 0), None)
    if option is not None:
        return _of_action(session, option, kinds, fragment)
    if fragment.startswith("-"):
        return [name for action in actions for name in action.option_strings]
    positionals = [action for action in actions if not action.option_strings]
    done = sum(not word.startswith("-") for word in words[:-1])
    positional = positionals[min(done, len(positionals) - 1)] if positionals else None
    return _of_action(session, positional, kinds, fragment) if positional else ()


def _of_action(session: Session, action: argparse.Action, kinds: Mapping[str, str], fragment: str) -> Iterable[str]:
    if action.choices:
        return [str(choice) for choice in action.choices]
    match kinds.get(action.dest, ""):
        case "loaded":
            return _loaded(session)
        case "available":
            from jupyter_skills.skills.discovery import discover

            names = [*_loaded(session), *_stored().get(), *(found.name for found in discover() if found.usable)]
            return [*sorted(set(names)), *_paths(fragment)]
        case "path":
            return _paths(fragment)
    return ()


@cache
def _stored() -> Remembered:
    from jupyter_skills.store.finding import Remembered, stored_names

    return Remembered(stored_names, _PATIENCE)


def _loaded(session: Session) -> list[str]:
    """What is in force as far as can be said at once: a database that does not answer must not hold up the keyboard."""
    looking = threading.Thread(target=session.registry.pull, daemon=True)
    looking.start()
    looking.join(_PATIENCE)
    return session.registry.names


def _paths(fragment: str) -> list[str]:
    """Files and folders that begin so; folders end in a slash, and what has blanks in it is quoted."""
    head, tail = os.path.split(fragment)
    try:
        with os.scandir(os.path.expanduser(head) or ".") as entries:
            names = sorted(
                entry.name + "/" * entry.is_dir()
                for entry in entries
                if entry.name.startswith(tail) and (tail.startswith(".") or not entry.name.startswith("."))
            )
    except OSError:
        return []
    paths = (os.path.join(head, name) for name in names[:_MOST])
    return [path if shlex.quote(path) == path or path.startswith("~") else shlex.quote(path) for path in paths]
