"""What the magics and the command line both do with skills, told line by line as it is done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from jupyter_skills.errors import NotLookedAt, UsageProblem
from jupyter_skills.skills.discovery.search import search
from jupyter_skills.skills.places import expanded
from jupyter_skills.skills.scan import Finding, scan
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.trust import TrustLedger
from jupyter_skills.words import count, first_names, first_rows

_MOST_ALERTS = 20
_MOST_PLACES = 4


def trust(skill: Skill, ledger: TrustLedger, *, looked_at: bool) -> Iterator[str]:
    """Trusts a skill's files as they are now, after a scan.

    Args:
        skill: The skill.
        ledger: Where it is noted.
        looked_at: Whether the user says to have looked at what the scan finds.

    Raises:
        NotLookedAt: The scan found something, and the user did not say so.
        SkillsError: It can't be noted.
    """
    now = skill.snapshot()
    findings = scan(now.content)
    alerts = [finding for finding in findings if finding.level == "alert"]
    if alerts:
        yield f"Look at this before you rely on {now.name}:"
    lines = [*first_rows([str(alert) for alert in alerts], _MOST_ALERTS), *plain_facts(findings)]
    yield from (f"  {line}" for line in lines)
    if alerts and not looked_at:
        raise NotLookedAt(
            f"'{now.name}' is not trusted: a scan found {count(len(alerts), 'thing')} to look at first",
            "Once you have looked, say so with --yes",
        )
    yield f"Trusted {now.name}, {ledger.trust(now)}."


def untrust(skill: Skill, ledger: TrustLedger) -> Iterator[str]:
    """Takes trust back from a skill.

    Raises:
        SkillsError: It can't be done.
    """
    gone = ledger.untrust(skill)
    yield f"{skill.name} is no longer trusted." if gone else f"{skill.name} was not among those you trusted."
    if skill.source.installed:
        yield f"It still counts as trusted, because it was installed ({skill.source}): uninstall or unload it."


def pack(skill: Skill, output: str | None) -> Iterator[str]:
    """Writes an archive of a skill.

    Args:
        skill: The skill.
        output: Where to; a zip of its name in the working folder if not given.

    Raises:
        SkillProblem: It can't be read, or not be unpacked everywhere.
        UsageProblem: It can't be written there.
    """
    now = skill.snapshot()
    content = now.to_zip()
    target = expanded(output or f"{now.name}.zip")
    try:
        target.write_bytes(content)
    except OSError as error:
        raise UsageProblem(f"'{target}' can't be written: {error.strerror}", "Name another file with -o") from None
    yield f"Packed {now.name} into {target} ({count(len(now.files()), 'file')}, {count(len(content), 'byte')})."


def find(words: Sequence[str], skills: Sequence[Skill], *, as_json: bool) -> Iterator[str]:
    """Tells which skills fit words, best first."""
    hits = [hit.skill for hit in search(" ".join(words), skills)]
    if as_json:
        rows = [{"name": skill.name, "description": skill.description} for skill in hits]
        yield json.dumps(rows, ensure_ascii=False, indent=2)
    else:
        yield from (f"{skill.name}: {skill.description}" for skill in hits)


def plain_facts(findings: Iterable[Finding]) -> list[str]:
    """The notes of a scan, one line for each kind: what it is, and where."""
    notes = sorted((note for note in findings if note.level == "note"), key=lambda note: note.kind)
    lines = []
    for kind, group in groupby(notes, key=lambda note: note.kind):
        places = [note.path if note.line is None else f"{note.path}:{note.line}" for note in group]
        lines.append(f"{kind}: {first_names(places, _MOST_PLACES)}")
    return lines
