"""The verbs about which skills are in force."""

from __future__ import annotations

import argparse
import json
from typing import get_args

from IPython.display import display

from jupyter_skills.errors import UsageProblem
from jupyter_skills.markup.markdown import to_html
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.settings import RunPlace
from jupyter_skills.skills.facts import facts_of, table
from jupyter_skills.skills.requirements import requirements_of
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.verbs import find
from jupyter_skills.store.finding import available, candidates, resolve
from jupyter_skills.store.loaded import BrokenSkill, LoadedSkill
from jupyter_skills.words import count

_MOST_PROBLEMS = 3


def load(session: Session, options: argparse.Namespace) -> None:
    """Load skills for this notebook."""
    tell_news(session)
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
    tell_news(session)
    if options.all and options.name:
        raise UsageProblem("%skill unload: both names and --all", "Give one of the two")
    if options.all:
        say(f"Unloaded {count(len(session.registry.names), 'skill')}.")
        session.registry.clear()
    elif not options.name:
        raise UsageProblem("%skill unload: no skill is named", "Name one, or say --all")
    for name in options.name:  # all or none
        if name not in session.registry.names:
            session.registry.get(name)
    for name in dict.fromkeys(options.name):
        session.registry.unload(name)
        say(f"Unloaded {name}.")


def list_(session: Session, options: argparse.Namespace) -> None:
    """List the loaded skills, or all that can be loaded."""
    loaded = list(session.registry)
    session.news()  # the list tells it
    if options.available:
        names = {entry.skill.name for entry in loaded}
        rows = [{**found.as_json(), "loaded": found.usable and found.name in names} for found in available()]
    else:
        rows = [*map(_row, loaded), *map(_broken_row, session.registry.broken)]
    if options.json:
        say(json.dumps(rows, ensure_ascii=False, indent=2))
    elif not rows:
        say("No skill is loaded. See '%skill list --available'." if not options.available else "No skill was found.")
    for row in rows if not options.json else ():
        marks = [str(row[key]) for key in ("source", "run") if row.get(key)]
        marks += [key for key in ("pinned", "loaded") if row.get(key)]
        marked = f" ({', '.join(marks)})" if marks else ""
        say(f"{row['name']}{marked}: {row['description'] or row['folder']}")
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
    found, problem = candidates(" ".join(options.words))
    if problem is not None:
        say(str(problem))
    skills = {skill.name: skill for skill in found}
    skills |= {entry.skill.name: entry.skill for entry in session.registry}
    lines = list(find(options.words, list(skills.values()), as_json=options.json))
    say("\n".join(lines or ["No skill fits these words. See '%skill list --available' for all."]))


def loaded_or_found(session: Session, reference: str) -> Skill:
    """The loaded skill of a name as it is now, or else the one that can be loaded by that word.

    Raises:
        SkillProblem: There is neither.
    """
    return session.registry.get(reference).skill.refreshed() if reference in session.registry else resolve(reference)


def tell_news(session: Session) -> None:
    """Says, once, which skills are in force though nobody loaded them here: the kernel was restarted, or so."""
    if news := session.news():
        say(news)


def _row(entry: LoadedSkill) -> dict[str, object]:
    return {
        "name": entry.skill.name,
        "description": entry.skill.description,
        "pinned": entry.pinned,
        "run": entry.run,
        "source": str(entry.skill.source),
        "folder": str(entry.skill.folder or ""),
        "problem": "",
    }


def _broken_row(entry: BrokenSkill) -> dict[str, object]:
    return {
        "name": entry.name,
        "description": "",
        "pinned": entry.pinned,
        "run": entry.run,
        "source": "",
        "folder": entry.place,
        "problem": entry.problem.message,
    }


VERBS = {
    "load": Verb(
        load,
        [
            argument(
                "reference",
                nargs="+",
                metavar="REF",
                help="a skill's name, its folder, its SKILL.md, a .zip or .skill archive, or store:ID[@VERSION]",
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
