"""The verbs of ``jupyter skills`` about skills themselves."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jupyter_skills.cli.shell import BAD, GOOD, UNUSABLE, for_a_shell, say
from jupyter_skills.errors import SkillNotFound, SkillsError

if TYPE_CHECKING:
    from jupyter_skills.store.records import StoredSkill


def add_verbs(verbs: Any) -> None:
    """Adds the verbs of this file to a command line's subparsers."""
    found = _verb(verbs, "list", _list, "list the skills that can be loaded by name from here", json_too=True)
    which = found.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="the shadowed and the broken ones too")
    which.add_argument("--stored", action="store_true", help="those of the store, with id, owner and version")
    which.add_argument("--deleted", action="store_true", help="your own ones that 'restore' can bring back")
    which.add_argument("--kernel", metavar="ID", help="those in force in this kernel; the id's beginning is enough")
    which.add_argument("--kernels", action="store_true", help="the kernels that skills are in force in")
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
    parser.add_argument("name", metavar="REF", help="a skill's name, its folder, an archive or store:ID[@VERSION]")


def _list(options: argparse.Namespace) -> int:
    if options.kernels or options.kernel is not None:
        return _in_force(options)
    if options.stored or options.deleted:
        return _list_stored(options)
    from jupyter_skills.store.finding import available

    found = available()
    rows = [entry.as_json() for entry in found if options.all or entry.usable]
    for entry in found if not options.all else ():
        if entry.skill is None and entry.source.kind == "store":
            print(for_a_shell(SkillsError(entry.problem, entry.remedy)), file=sys.stderr)
    if options.json:
        _print_json(rows)
    for row in rows if not options.json else ():
        marks = ", ".join(filter(None, (row["source"], row["problem"])))
        say(f"{row['name']} ({marks}): {row['description'] or row['folder']}")
    return GOOD


def _list_stored(options: argparse.Namespace) -> int:
    rows = [skill.as_json(full=False) for skill in asyncio.run(_stored(deleted=options.deleted))]
    if options.json:
        _print_json(rows)
        return GOOD
    lines = (
        f"{row['id']}  {row['name']} ({row['owner']}'s, {row['visibility']}, version {row['default_version']}"
        f"{', deleted' * bool(row['deleted_at'])}): {row['description']}"
        for row in rows
    )
    return _tell(list(lines) or ["No skill was deleted." if options.deleted else "The store has no skill yet."])


async def _stored(*, deleted: bool) -> list[StoredSkill]:
    from jupyter_skills.store.location import has_store
    from jupyter_skills.store.store import SkillStore

    return [skill async for skill in SkillStore().every(deleted=deleted)] if has_store() else []


def _in_force(options: argparse.Namespace) -> int:
    from jupyter_skills.store.location import has_store

    if not has_store() and options.kernels:
        rows: list[dict[str, Any]] = []
    elif not has_store():
        raise SkillNotFound(
            f"No skill is in force in a kernel '{options.kernel}'", "See 'jupyter skills list --kernels' for others"
        )
    else:
        from jupyter_skills.store.kernels import in_kernel, kernels
        from jupyter_skills.store.store import SkillStore

        store = SkillStore()
        if options.kernels:
            rows = [{"kernel_id": kernel.id, "skills": list(kernel.skills)} for kernel in kernels(store)]
        else:
            rows = in_kernel(options.kernel, store)
    if options.json:
        _print_json(rows)
        return GOOD
    said = _in_one_line if not options.kernels else lambda row: f"{row['kernel_id']}: {', '.join(row['skills'])}"
    return _tell([said(row) for row in rows] or ["No skill is in force in any kernel."])


def _in_one_line(row: Mapping[str, Any]) -> str:
    marks = [row["place"], row["run"], "pinned" if row["pinned"] else "", row["problem"]]
    return f"{row['name']} ({', '.join(filter(None, marks))}): {row['description']}".removesuffix(": ")


def _search(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.verbs import find
    from jupyter_skills.store.finding import candidates

    skills, problem = candidates(" ".join(options.words))
    if problem is not None:
        print(for_a_shell(problem), file=sys.stderr)
    lines = list(find(options.words, skills, as_json=options.json))
    say("\n".join(lines or ["No skill fits these words. See 'jupyter skills list' for all."]))
    return GOOD


def _show(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.facts import facts_of, table
    from jupyter_skills.skills.trust import TrustLedger
    from jupyter_skills.store.finding import resolve

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
    from jupyter_skills.skills.verbs import pack
    from jupyter_skills.store.finding import resolve

    return _tell(pack(resolve(options.name), options.output))


def _trust(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.trust import TrustLedger
    from jupyter_skills.skills.verbs import trust
    from jupyter_skills.store.finding import resolve

    return _tell(trust(resolve(options.name), TrustLedger(), looked_at=options.yes))


def _untrust(options: argparse.Namespace) -> int:
    from jupyter_skills.skills.trust import TrustLedger
    from jupyter_skills.skills.verbs import untrust
    from jupyter_skills.store.finding import resolve

    return _tell(untrust(resolve(options.name), TrustLedger()))


def _lock(options: argparse.Namespace) -> int:
    from jupyter_skills.errors import UsageProblem
    from jupyter_skills.skills import lock
    from jupyter_skills.skills.places import working_folder
    from jupyter_skills.store.finding import resolve
    from jupyter_skills.words import count

    folder = working_folder()
    if options.check and options.name:
        raise UsageProblem("lock: both names and --check", "Give one of the two")
    if options.check:
        say(f"As it was locked: {count(len(lock.find_all(folder, resolve)), 'skill')}.")
        return GOOD
    if options.name:
        entries = [lock.LockEntry.of(resolve(name), folder) for name in options.name]
    else:
        entries = []
        for before in lock.read(folder):
            entries.append(before.renewed(folder, resolve))
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
