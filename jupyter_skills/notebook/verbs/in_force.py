"""The verbs about which skills are in force."""

from __future__ import annotations

import argparse
import json
from typing import get_args

from IPython.display import display

from jupyter_skills.agent.markdown import to_html
from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.settings import RunPlace
from jupyter_skills.skills.discovery import discover, resolve
from jupyter_skills.skills.facts import facts_of, table
from jupyter_skills.skills.requirements import requirements_of
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.verbs import find
from jupyter_skills.skills.words import count

_MOST_PROBLEMS = 3


def load(session: Session, options: argparse.Namespace) -> None:
    """Load skills for this notebook."""
    for reference, skill in [(word, resolve(word)) for word in options.reference]:  # all or none
        session.registry.load(skill, pinned=options.pin, run=options.run or "")
        say(f"Loaded {skill.name}: {skill.description}")
        # A tool that is missing matters more here than a field that some other client would refuse.
        errors = sorted(
            (problem for problem in skill.problems if problem.severity == "error"),
            key=lambda problem: not problem.rule.startswith("tool"),
        )
        for problem in errors[:_MOST_PROBLEMS]:
            say(f"  {problem}")
        if len(errors) > _MOST_PROBLEMS:
            say(f"  … and {len(errors) - _MOST_PROBLEMS} more: see '%skill validate {skill.folder or reference}'")
        for refused in requirements_of(skill).refused[:_MOST_PROBLEMS]:
            say(f"  {refused}.")
        if skill.tools and options.run == "live" and not session.trust.trusts(skill):
            say(f"  Its code runs in the sandbox until you trust it: '%skill trust {skill.name}'.")


def unload(session: Session, options: argparse.Namespace) -> None:
    """Unload skills."""
    if options.all and options.name:
        raise UsageProblem("%skill unload: both names and --all", "Give one of the two")
    if options.all:
        say(f"Unloaded {count(len(session.registry), 'skill')}.")
        session.registry.clear()
    elif not options.name:
        raise UsageProblem("%skill unload: no skill is named", "Name one, or say --all")
    for name in dict.fromkeys(session.registry.get(name).skill.name for name in options.name):  # all or none
        session.registry.unload(name)
        say(f"Unloaded {name}.")


def list_(session: Session, options: argparse.Namespace) -> None:
    """List the loaded skills, or all that can be loaded."""
    if options.available:
        rows = [{**found.as_json(), "loaded": found.usable and found.name in session.registry} for found in discover()]
    else:
        rows = [
            {
                "name": entry.skill.name,
                "description": entry.skill.description,
                "pinned": entry.pinned,
                "run": entry.run,
                "source": str(entry.skill.source),
                "folder": str(entry.skill.folder or ""),
            }
            for entry in session.registry
        ]
    if options.json:
        say(json.dumps(rows, ensure_ascii=False, indent=2))
    elif not rows:
        say("No skill is loaded. See '%skill list --available'." if not options.available else "No skill was found.")
    for row in rows if not options.json else ():
        marks = [str(row[key]) for key in ("source", "run") if row.get(key)]
        marks += [key for key in ("pinned", "loaded") if row.get(key)]
        say(f"{row['name']} ({', '.join(marks)}): {row['description'] or row['folder']}")
        if row.get("problem"):
            say(f"  not used: {row['problem']}")


def show(session: Session, options: argparse.Namespace) -> None:
    """Show a skill: its instructions, files, tools, source, digest, trust, problems and size."""
    skill = loaded_or_found(session, options.name)
    bundle = {"text/html": to_html(skill.body), "text/plain": skill.body}  # a stranger's skill must run nothing
    display(bundle, raw=True)
    say(table(facts_of(skill, session.trust)))


def search_(session: Session, options: argparse.Namespace) -> None:
    """Find skills for a task by words, best first."""
    skills = {found.name: found.skill for found in discover() if found.skill and found.usable}
    skills |= {entry.skill.name: entry.skill for entry in session.registry}
    lines = list(find(options.words, list(skills.values()), as_json=options.json))
    say("\n".join(lines or ["No skill fits these words. See '%skill list --available' for all."]))


def loaded_or_found(session: Session, reference: str) -> Skill:
    """The loaded skill of a name as it is now, or else the one that can be loaded by that word.

    Raises:
        SkillProblem: There is neither.
    """
    return session.registry.get(reference).skill.refreshed() if reference in session.registry else resolve(reference)


VERBS = {
    "load": Verb(
        load,
        [
            argument(
                "reference",
                nargs="+",
                metavar="REF",
                help="a skill's name, its folder, its SKILL.md, or a .zip or .skill archive",
                completes="available",
            ),
            argument("--pin", action="store_true", help="put its instructions into every request"),
            argument("--run", choices=get_args(RunPlace), help="where its code runs (default: as for all)"),
        ],
    ),
    "unload": Verb(
        unload,
        [
            argument("name", nargs="*", metavar="NAME", help="a loaded skill", completes="loaded"),
            argument("--all", action="store_true", help="all of them"),
        ],
    ),
    "list": Verb(
        list_,
        [
            argument("--available", action="store_true", help="all that can be loaded by name"),
            argument("--json", action="store_true", help="as JSON"),
        ],
    ),
    "show": Verb(
        show,
        [argument("name", metavar="NAME", help="a loaded or available skill, or a path", completes="available")],
    ),
    "search": Verb(
        search_,
        [
            argument("words", nargs="+", metavar="WORDS", help="what it should be good for"),
            argument("--json", action="store_true", help="as JSON"),
        ],
    ),
}
