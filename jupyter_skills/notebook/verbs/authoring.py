"""The verbs for those who write, share and judge skills."""

from __future__ import annotations

import argparse
import json

from jupyter_skills.errors import InvalidSkill, UsageProblem
from jupyter_skills.notebook.cells import as_script
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.in_force import loaded_or_found
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.skills import lock, verbs
from jupyter_skills.skills.places import expanded, working_folder
from jupyter_skills.skills.scaffold import scaffold
from jupyter_skills.skills.scan import alerts_in
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.validation import validate
from jupyter_skills.store.finding import resolve
from jupyter_skills.words import count

_PLACE = ".agents/skills"


def validate_(_: Session, options: argparse.Namespace) -> None:
    """Hold a skill against the specification, strictly.

    Raises:
        InvalidSkill: It is not valid, so that a notebook which validates fails.
    """
    report = validate(options.path)
    say(json.dumps(report.as_json(), ensure_ascii=False, indent=2) if options.json else str(report))
    if not report.valid:
        raise InvalidSkill(f"'{options.path}' is not a valid skill", "Mend what the report names")


def trust(session: Session, options: argparse.Namespace) -> None:
    """Let a skill's code run in this kernel, as long as no byte of it changes."""
    skill = loaded_or_found(session, options.name)
    for line in verbs.trust(skill, session.trust, looked_at=options.yes):
        say(line)


def untrust(session: Session, options: argparse.Namespace) -> None:
    """Take trust back."""
    for line in verbs.untrust(loaded_or_found(session, options.name), session.trust):
        say(line)


def new(session: Session, options: argparse.Namespace) -> None:
    """Begin a new skill, perhaps from executed cells."""
    code, foreign = as_script(session.shell, options.from_cells) if options.from_cells else ("", [])
    folder = scaffold(options.name, expanded(options.folder), options.description or "", code)
    say(f"Made {folder}. Edit its SKILL.md, then '%skill load {options.name}'.")
    for number in foreign:
        say(f"Cell {number} is no plain Python; it is there as a comment.")
    if code:
        say("Read its scripts/cells.py before you share it: cells may hold paths, names and keys.")
        for finding in alerts_in(Skill.from_path(folder).content):
            say(f"  {finding}")


def pack(session: Session, options: argparse.Namespace) -> None:
    """Make an archive of a skill: the same bytes for the same files."""
    for line in verbs.pack(loaded_or_found(session, options.name), options.output):
        say(line)


def freeze(session: Session, _: argparse.Namespace) -> None:
    """Write down, in the notebook's folder, which skills are loaded: to the byte."""
    folder = working_folder()
    fresh, broken = session.registry.refreshed()
    if broken:
        raise broken[0]
    if not fresh:
        raise UsageProblem("There is nothing to freeze: no skill is loaded", "Load some, or delete the lock by hand")
    lock.write([lock.LockEntry.of(entry.skill, folder, pinned=entry.pinned, run=entry.run) for entry in fresh], folder)
    say(f"Locked {count(len(fresh), 'skill')} in {lock.LOCK_FILE}.")


def sync(session: Session, _: argparse.Namespace) -> None:
    """Load just the skills that were frozen, if none of them has changed."""
    found = lock.find_all(working_folder(), resolve)
    session.registry.pull()
    for name in [name for name in session.registry.names if name not in {entry.name for entry, _ in found}]:
        session.registry.unload(name)
        say(f"Unloaded {name}, which is not in the lock.")
    for entry, skill in found:
        session.registry.load(skill, pinned=entry.pinned, run=entry.run)
        place = f"; its code runs in '{entry.run}'" if entry.run else ""
        say(f"Loaded {skill.name}, as it was locked ({entry.digest[:19]}…{place}).")
    if not found:
        say("The lock names no skill.")


_NAME = argument("name", metavar="NAME", help="a loaded or available skill, or a path", completes="available")

VERBS = {
    "validate": Verb(
        validate_,
        [
            argument("path", metavar="PATH", help="a skill's folder, SKILL.md or archive", completes="path"),
            argument("--json", action="store_true", help="as JSON"),
        ],
    ),
    "trust": Verb(
        trust,
        [_NAME, argument("--yes", action="store_true", help="trust it in spite of what the scan finds")],
    ),
    "untrust": Verb(untrust, [_NAME]),
    "new": Verb(
        new,
        [
            argument("name", metavar="NAME", help="letters, digits and hyphens"),
            argument("--from-cells", metavar="CELLS", help="take the code of these executed cells, such as 3-9"),
            argument("--description", metavar="TEXT", help="what it does, and when to use it"),
            argument(
                "--folder",
                metavar="FOLDER",
                default=_PLACE,
                help="where to make its folder (default: %(default)s)",
                completes="path",
            ),
        ],
    ),
    "pack": Verb(
        pack,
        [
            argument("name", metavar="NAME|PATH", help="a skill, or its folder", completes="available"),
            argument("-o", "--output", metavar="FILE", help="where to (default: NAME.zip)", completes="path"),
        ],
    ),
    "freeze": Verb(freeze),
    "sync": Verb(sync),
}
