"""The verbs for those who write, share and judge skills."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from jupyter_skills.errors import InvalidSkill, UsageProblem
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.in_force import loaded_or_found
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.skills import lock
from jupyter_skills.skills.scaffold import scaffold
from jupyter_skills.skills.scan import alerts_in
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.validation import validate

_PLACE = ".agents/skills"
_MOST_ALERTS = 20


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
    """Let a skill's code run outside of the sandbox, as long as no byte of it changes."""
    skill = loaded_or_found(session, options.name).snapshot()
    alerts = alerts_in(skill.content)
    if alerts:
        say(f"Look at this before you rely on {skill.name}:")
    for finding in alerts[:_MOST_ALERTS]:
        say(f"  {finding}")
    if len(alerts) > _MOST_ALERTS:
        say(f"  … and {len(alerts) - _MOST_ALERTS} more")
    if alerts and not options.yes:
        raise UsageProblem(
            f"'{skill.name}' is not trusted: a scan found {len(alerts)} things to look at first",
            "If you have looked, say '%skill trust NAME --yes'",
        )
    say(f"Trusted {skill.name}, {session.trust.trust(skill)}.")


def untrust(session: Session, options: argparse.Namespace) -> None:
    """Take trust back."""
    skill = loaded_or_found(session, options.name)
    gone = session.trust.untrust(skill)
    say(f"{skill.name} is no longer trusted." if gone else f"{skill.name} was not among those you trusted.")
    if skill.source.installed:
        say(f"It still counts as trusted, because it was installed ({skill.source}): uninstall or unload it.")


def new(session: Session, options: argparse.Namespace) -> None:
    """Begin a new skill, perhaps from executed cells."""
    code = _cells(session, options.from_cells) if options.from_cells else ""
    folder = scaffold(options.name, Path(options.folder), options.description or "", code)
    say(f"Made {folder}. Edit its SKILL.md, then '%skill load {options.name}'.")
    if code:
        say("Read its scripts/cells.py before you share it: cells may hold paths, names and keys.")
        for finding in alerts_in(Skill.from_path(folder).content):
            say(f"  {finding}")


def pack(session: Session, options: argparse.Namespace) -> None:
    """Make an archive of a skill: the same bytes for the same files."""
    skill = loaded_or_found(session, options.name)
    content = skill.snapshot().to_zip()
    target = Path(options.output or f"{skill.name}.zip").expanduser()
    try:
        target.write_bytes(content)
    except OSError as error:
        raise UsageProblem(f"'{target}' can't be written: {error.strerror}", "Name another file with -o") from None
    files = len(skill.files())
    say(f"Packed {skill.name} into {target} ({len(content):,} bytes, {files} file{'' if files == 1 else 's'}).")


def freeze(session: Session, _: argparse.Namespace) -> None:
    """Write the lock of the loaded skills into the notebook's folder."""
    folder = Path.cwd()
    session.registry.refresh()
    entries = [lock.LockEntry.of(entry.skill, folder, pinned=entry.pinned, run=entry.run) for entry in session.registry]
    lock.write(entries, folder)
    say(f"Locked {len(entries)} skill{'' if len(entries) == 1 else 's'} in {lock.LOCK_FILE}.")


def sync(session: Session, _: argparse.Namespace) -> None:
    """Put the skills of the lock in force, if none of them has changed."""
    for entry, skill in lock.find_all(Path.cwd()):
        session.registry.load(skill, pinned=entry.pinned, run=entry.run)
        say(f"Loaded {skill.name}, as it was locked ({entry.digest[:19]}…).")


def _cells(session: Session, ranges: str) -> str:
    """The source of executed cells; lines that are magics become comments, for a script can't run them."""
    history = session.shell.history_manager
    try:
        rows = list(history.get_range_by_str(ranges.replace(",", " "), raw=True)) if history else []
    except ValueError:
        rows = []
    cells = [(number, source) for _, number, source in rows if isinstance(source, str) and source.strip()]
    if not cells:
        raise UsageProblem(f"There are no executed cells '{ranges}'", "Give the numbers in their brackets, such as 3-9")
    parts = []
    for number, source in cells:
        whole = source.startswith("%%")
        lines = [f"# {line}" if whole or line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
        parts.append("\n".join([f"# In [{number}]", *lines]))
    return "\n\n".join(parts) + "\n"


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
