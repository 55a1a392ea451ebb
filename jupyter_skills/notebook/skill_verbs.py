"""The verbs of ``%skill``: one parser and one function each."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from IPython.display import display

from jupyter_skills.agent.markdown import to_html
from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.arguments import MagicParser, split_words
from jupyter_skills.notebook.session import Session, run_now
from jupyter_skills.skills.discovery import discover, resolve
from jupyter_skills.skills.skill import Skill


def load(session: Session, options: argparse.Namespace) -> None:
    """Put skills in force."""
    for skill in [resolve(reference) for reference in options.reference]:  # all or none
        session.registry.load(skill, pinned=options.pin)
        _say(f"Loaded {skill.name}: {skill.description}")


def unload(session: Session, options: argparse.Namespace) -> None:
    """Take skills out of force."""
    if options.all and options.name:
        raise UsageProblem("%skill unload: both names and --all", "Give one of the two")
    if options.all:
        session.registry.clear()
    elif not options.name:
        raise UsageProblem("%skill unload: no skill is named", "Name one, or say --all")
    for name in dict.fromkeys(session.registry.get(name).skill.name for name in options.name):  # all or none
        session.registry.unload(name)


def list_(session: Session, options: argparse.Namespace) -> None:
    """List the skills in force, or all that can be loaded."""
    if options.available:
        rows = [
            {
                "name": found.name,
                "description": found.skill.description if found.skill else "",
                "source": found.source,
                "loaded": found.skill is not None and found.name in session.registry,
                "problem": found.problem,
            }
            for found in discover()
        ]
    else:
        rows = [
            {
                "name": entry.skill.name,
                "description": entry.skill.description,
                "pinned": entry.pinned,
                "folder": str(entry.skill.folder),
            }
            for entry in session.registry
        ]
    if options.json:
        _say(json.dumps(rows, ensure_ascii=False, indent=2))
    elif not rows:
        _say("No skill is loaded. See '%skill list --available'." if not options.available else "No skill was found.")
    for row in rows if not options.json else ():
        marks = [str(row[key]) if key == "problem" else key for key in ("pinned", "loaded", "problem") if row.get(key)]
        mark = f" ({', '.join(marks)})" if marks else ""
        _say(f"{row['name']}{mark}: {row['description'] or row.get('source')}")


def show(session: Session, options: argparse.Namespace) -> None:
    """Show a skill's instructions and files."""
    loaded = options.name in session.registry
    skill: Skill = session.registry.get(options.name).skill if loaded else resolve(options.name)
    bundle = {"text/html": to_html(skill.body), "text/plain": skill.body}  # a stranger's skill must run nothing
    display(bundle, raw=True)
    _say(f"Skill  {skill.name}: {skill.description}\nFolder {skill.folder}\nDigest {skill.digest}")
    _say("Files  " + "\n       ".join(skill.files()))


def sandbox(session: Session, options: argparse.Namespace) -> None:
    """Start, stop or restart this notebook's isolated kernel, or say whether it runs."""
    if options.action in ("stop", "restart"):
        run_now(session.stop_sandbox)
    if options.action in ("start", "restart"):
        run_now(session.sandbox.start)
    state = "is running" if session.sandbox_running else "is not running"
    _say(f"The isolated kernel {state} (image {session.limits.image}).")


def reset(session: Session, _: argparse.Namespace) -> None:
    """Forget the conversation."""
    session.reset()
    _say("The conversation is forgotten.")


@dataclass(frozen=True)
class Argument:
    """An argument of a verb: the words for ``add_argument``, and its keywords."""

    names: Sequence[str]
    keywords: dict[str, object]


def _argument(*names: str, **keywords: object) -> Argument:
    return Argument(names, keywords)


@dataclass(frozen=True)
class Verb:
    """A verb: what it does, and what it takes."""

    deed: Callable[[Session, argparse.Namespace], None]
    arguments: Sequence[Argument] = ()

    def parser(self, name: str) -> MagicParser:
        """Its parser; the reference in the docs is generated from it."""
        parser = MagicParser(f"%skill {name}", self.deed.__doc__ or "")
        for argument in self.arguments:
            parser.add_argument(*argument.names, **argument.keywords)  # type: ignore[arg-type]
        return parser


VERBS = {
    "load": Verb(
        load,
        [
            _argument("reference", nargs="+", metavar="REF", help="a skill's name, its folder or its SKILL.md"),
            _argument("--pin", action="store_true", help="put its instructions into every request"),
        ],
    ),
    "unload": Verb(
        unload,
        [
            _argument("name", nargs="*", metavar="NAME", help="a loaded skill"),
            _argument("--all", action="store_true", help="all of them"),
        ],
    ),
    "list": Verb(
        list_,
        [
            _argument("--available", action="store_true", help="all that can be loaded by name"),
            _argument("--json", action="store_true", help="as JSON"),
        ],
    ),
    "show": Verb(show, [_argument("name", metavar="NAME", help="a loaded or available skill, or a folder")]),
    "sandbox": Verb(
        sandbox,
        [
            _argument(
                "action", nargs="?", default="status", choices=["status", "start", "stop", "restart"], help="what to do"
            )
        ],
    ),
    "reset": Verb(reset),
}


def run(session: Session, line: str) -> None:
    """Runs one ``%skill`` line.

    Raises:
        SkillsError: The verb or its words make no sense, or it could not be done.
    """
    words = split_words(line)
    if not words or words[0] in ("-h", "--help"):
        for name in VERBS:
            _say(f"%skill {name:<8} {VERBS[name].deed.__doc__}")
        return
    if words[0] not in VERBS:
        close = get_close_matches(words[0], VERBS, n=1)
        raise UsageProblem(
            f"%skill: there is no verb '{words[0]}'",
            f"Did you mean '%skill {close[0]}'" if close else f"The verbs are: {', '.join(VERBS)}",
        )
    verb = VERBS[words[0]]
    parser = verb.parser(words[0])
    options = parser.parse(words[1:])
    if options.help:
        _say(parser.format_help())
        return
    verb.deed(session, options)


def _say(text: str) -> None:
    print(text)  # noqa: T201 -- a line magic answers in the cell's output
