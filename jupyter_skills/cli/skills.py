"""The verbs of ``jupyter skills`` about skills themselves."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from jupyter_skills.cli.shell import BAD, GOOD, UNUSABLE, for_a_shell, say


def add_verbs(verbs: Any) -> None:
    """Adds the verbs of this file to a command line's subparsers."""
    found = _verb(verbs, "list", _list, "list the skills that can be loaded by name from here", json_too=True)
    found.add_argument("--all", action="store_true", help="the shadowed and the broken ones too")
    search = _verb(verbs, "search", _search, "find skills for a task by words, best first", json_too=True)
    search.add_argument("words", nargs="+", metavar="WORDS", help="what it should be good for")
    show = _verb(verbs, "show", _show, "say all there is to know about a skill", json_too=True)
    _add_reference(show)
    validate = _verb(verbs, "validate", _validate, "hold skills against the specification, strictly", json_too=True)
    validate.add_argument("path", nargs="+", metavar="PATH", help="a skill's folder, SKILL.md or archive")
    new = _verb(verbs, "new", _new, "begin a new skill")
    new.add_argument("name", metavar="NAME", help="letters, digits and hyphens")
    new.add_argument("--description", metavar="TEXT", default="", help="what it does, and when to use it")
    new.add_argument("--folder", metavar="FOLDER", default=".agents/skills", help="(default: %(default)s)")
    pack = _verb(verbs, "pack", _pack, "make an archive of a skill: the same bytes for the same files")
    _add_reference(pack)
    pack.add_argument("-o", "--output", metavar="FILE", help="where to (default: NAME.zip)")
    trust = _verb(verbs, "trust", _trust, "let a skill's code run outside of the sandbox while no byte of it changes")
    _add_reference(trust)
    trust.add_argument("--yes", action="store_true", help="trust it in spite of what the scan finds")
    untrust = _verb(verbs, "untrust", _untrust, "take trust back")
    _add_reference(untrust)
    lock = _verb(verbs, "lock", _lock, "write, renew or check the lock of the skills that notebooks here use")
    lock.add_argument(
        "name",
        nargs="*",
        metavar="REF",
        help="just these; else those that are locked already, as they are now",
    )
    lock.add_argument("--check", action="store_true", help="only say whether all are as they were locked")


def _verb(verbs: Any, name: str, run: Any, text: str, *, json_too: bool = False) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    if json_too:
        parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)
    return parser


def _add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="REF", help="a skill's name, its folder or an archive of it")


def _list(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.discovery import discover

    rows = [found.as_json() for found in discover() if options.all or found.usable]
    if options.json:
        _print_json(rows)
    for row in rows if not options.json else ():
        mark = f" ({row['problem']})" if row["problem"] else ""
        say(f"{row['name']}{mark}: {row['description'] or row['folder']}")
    return GOOD


def _search(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.discovery import discover
    from jupyter_skills.skills.verbs import find

    skills = [found.skill for found in discover() if found.skill and found.usable]
    lines = list(find(options.words, skills, as_json=options.json))
    say("\n".join(lines or ["No skill fits these words. See 'jupyter skills list' for all."]))
    return GOOD


def _show(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.discovery import resolve
    from jupyter_skills.skills.facts import facts_of, table
    from jupyter_skills.skills.trust import TrustLedger

    facts = facts_of(resolve(options.name), TrustLedger())
    if options.json:
        _print_json(facts)
    else:
        say(table(facts))
    return GOOD


def _validate(options: argparse.Namespace) -> int:
    from jupyter_skills.errors import SkillNotFound
    from jupyter_skills.skills.validation import validate

    reports = []
    missing: list[SkillNotFound] = []
    for path in options.path:
        try:
            reports.append(validate(path))
        except SkillNotFound as error:
            missing.append(error)
    if options.json:
        _print_json([report.as_json() for report in reports])
    elif reports:
        say("\n".join(map(str, reports)))
    for problem in missing:
        print(for_a_shell(problem), file=sys.stderr)
    return UNUSABLE if missing else GOOD if all(report.valid for report in reports) else BAD


def _new(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.places import expanded
    from jupyter_skills.skills.scaffold import scaffold

    folder = scaffold(options.name, expanded(options.folder), options.description)
    say(f"Made {folder}. Edit its SKILL.md, then 'jupyter skills validate {folder}'.")
    return GOOD


def _pack(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.discovery import resolve
    from jupyter_skills.skills.verbs import pack

    return _tell(pack(resolve(options.name), options.output))


def _trust(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.discovery import resolve
    from jupyter_skills.skills.trust import TrustLedger
    from jupyter_skills.skills.verbs import trust

    return _tell(trust(resolve(options.name), TrustLedger(), looked_at=options.yes))


def _untrust(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.discovery import resolve
    from jupyter_skills.skills.trust import TrustLedger
    from jupyter_skills.skills.verbs import untrust

    return _tell(untrust(resolve(options.name), TrustLedger()))


def _lock(options: argparse.Namespace) -> int:
    from jupyter_skills.errors import UsageProblem
    from jupyter_skills.skills import lock
    from jupyter_skills.skills.discovery import resolve
    from jupyter_skills.skills.places import working_folder
    from jupyter_skills.skills.words import count

    folder = working_folder()
    if options.check and options.name:
        raise UsageProblem("lock: both names and --check", "Give one of the two")
    if options.check:
        say(f"As it was locked: {count(len(lock.find_all(folder)), 'skill')}.")
        return GOOD
    if options.name:
        entries = [lock.LockEntry.of(resolve(name), folder) for name in options.name]
    else:
        entries = []
        for before in lock.read(folder):
            entries.append(before.renewed(folder))
            if entries[-1].digest != before.digest:
                say(f"{before.name}: {before.changes_to(entries[-1])}")
    lock.write(entries, folder)
    say(f"Locked {count(len(entries), 'skill')} in {lock.LOCK_FILE}.")
    return GOOD


def _tell(lines: Iterable[str]) -> int:
    for line in lines:
        say(line)
    return GOOD


def _print_json(value: Any) -> None:
    say(json.dumps(value, ensure_ascii=False, indent=2))
