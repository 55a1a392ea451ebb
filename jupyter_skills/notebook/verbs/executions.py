"""The verbs about code that ran: where, by whose consent, what it changed; and taking that back."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from jupyter_skills.agent.executor import Code, with_source
from jupyter_skills.errors import UsageProblem
from jupyter_skills.execution.result import Change
from jupyter_skills.namespace.delta import Delta
from jupyter_skills.notebook.audience import watched
from jupyter_skills.notebook.log import Logged
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.settings import MEGABYTE
from jupyter_skills.words import aligned, count, first_rows, plain, shortened

_LONGEST_FIRST_LINE = 60
_LONGEST_CONSENT = 50
_MOST_ROWS = 20


def log(session: Session, options: argparse.Namespace) -> None:
    """Show every piece of code that ran, where, and by whose consent."""
    executions = session.executions
    if options.json:
        say(json.dumps([_as_json(session, entry) for entry in executions], indent=2, ensure_ascii=False))
    elif options.number is not None:
        if not 1 <= options.number <= len(executions):
            raise UsageProblem(f"%skill log: there is no number {options.number}", f"There are {len(executions)}")
        say(_in_full(session, executions[options.number - 1]))
    elif not executions:
        say("No code has run yet.")
    else:
        timed = watched(session.shell)  # else the notebook would differ each time it is executed
        times = ("time", "seconds") if timed else ()
        heads = ("", "cell", *times, "tool", "skill", "where", "consent", "outcome", "changed", "code")
        rows = [_entry(number, entry, timed=timed) for number, entry in enumerate(executions, 1)]
        filled = [index for index in range(len(heads)) if any(row[index] for row in rows)]
        say("\n".join(aligned([[row[index] for index in filled] for row in (heads, *rows)])))
        say("'%skill log 1' shows the first in full.")


def undo(session: Session, options: argparse.Namespace) -> None:
    """Give back the variables that the last live execution changed; once more, those of the one before."""
    undone = session.history.undo(session.shell.user_ns, force=options.force)
    step = session.history.undone
    if undone is None or step is None:
        dropped = session.history.dropped
        older = f" For {count(dropped, 'older execution')} no copies were kept." if dropped else ""
        say(f"No code in this kernel has changed a variable that could be given back.{older}")
        return
    names = [change.name for change in undone.given_back]
    again = {*undone.again}
    rows = [_given_back(change, changed_again=change.name in again) for change in undone.given_back]
    say("\n".join(aligned(rows)) if rows else "Nothing was given back.")
    if undone.left:
        say("Not given back, or not wholly:")
        say("\n".join(f"  {left.name}: {left.reason}" for left in undone.left))
    if session.history.is_unfinished:
        say("'%skill undo --force' gives back what can be, over what you have done since.")
    _say_what_was_not_watched(step.delta, {*names, *(left.name for left in undone.left)})
    if risks := _risks(session, _run_of(session, step.label)):
        say("Outside of the variables, and not taken back:")
        say("\n".join(f"  {risk}" for risk in risks))
    if watched(session.shell):
        spent, kept = step.delta.seconds * 1000, step.delta.size / MEGABYTE
        say(f"Copies of variables for this had taken {spent:.0f} ms and {kept:.1f} MB.")
    if names:
        session.untold.append(f"The user has taken back what your code did to these variables: {', '.join(names)}.")


def _say_what_was_not_watched(delta: Delta, told: Collection[str]) -> None:
    rows = [plain(f"  {gap.name}: {gap.what}, {gap.reason}") for gap in delta.uncovered if gap.name not in told]
    if rows:
        say("Not copied before it ran, so whatever it may have changed in these stays:")
        say("\n".join(first_rows(rows, _MOST_ROWS)))


def _given_back(change: Change, *, changed_again: bool) -> tuple[str, ...]:
    done = {"added": "gone again", "deleted": "back", "rebound": "what it was", "mutated": "its contents are back"}
    lost = "what was changed in it since is lost" if changed_again else ""
    return change.name, done[change.kind], change.before, lost


def _run_of(session: Session, code: str) -> Code:
    """The code of a step, with the skill whose tool it was."""
    runs = (entry.run for entry in reversed(session.executions))
    run = next((run for run in runs if run.place == "live" and run.code == code), None)
    return Code(run.tool, run.language, code, run.skill) if run else Code("", "python", code)


def _entry(number: int, entry: Logged, *, timed: bool) -> tuple[str, ...]:
    run = entry.run
    lines = [line for line in run.code.splitlines() if line.strip()] or [""]
    first = lines[0].strip()
    cut = len(lines) > 1 or len(first) > _LONGEST_FIRST_LINE
    return (
        str(number),
        f"[{entry.cell}]",
        *((time.strftime("%H:%M:%S", time.localtime(entry.moment)), f"{run.seconds:.1f}") if timed else ()),
        run.tool.removeprefix(f"{run.skill}__") if run.skill else run.tool,
        run.skill,
        run.place,
        shortened(run.consent, _LONGEST_CONSENT),
        run.outcome,
        str(len(run.changes) or ""),
        first[:_LONGEST_FIRST_LINE] + (" …" if cut else ""),
    )


def _in_full(session: Session, entry: Logged) -> str:
    run = entry.run
    rows = [
        ("cell", f"[{entry.cell}]"),
        ("tool", run.tool),
        ("skill", run.skill),
        ("where", run.place),
        ("consent", run.consent),
        ("outcome", run.outcome),
        ("digest", run.digest),
        *(("risk", risk) for risk in _risks_of(session, entry)),
        *(("changed", f"{change.name} {change.happened}: {change.from_to}") for change in run.changes),
    ]
    return "\n".join([*aligned([row for row in rows if row[1]]), "", run.code.rstrip()])


def _risks(session: Session, code: Code) -> tuple[str, ...]:
    """Why code in the live kernel is risky, as far as can be judged now."""
    from jupyter_skills.notebook.consent.facts import facts_of

    skills = [loaded.skill for loaded in session.registry.refreshed()[0]] if code.skill else []
    digest = next((skill.digest for skill in skills if skill.name == code.skill and skill.digest in code.text), "")
    return facts_of(session.shell, with_source(replace(code, skill_digest=digest).request, skills)).risks


def _risks_of(session: Session, entry: Logged) -> tuple[str, ...]:
    """Those of an execution; what runs in isolation can't touch what a person is warned of."""
    run = entry.run
    return _risks(session, Code(run.tool, run.language, run.code, run.skill)) if run.place == "live" else ()


def _as_json(session: Session, entry: Logged) -> dict[str, Any]:
    return {"cell": entry.cell, "time": entry.moment, **asdict(entry.run), "risks": _risks_of(session, entry)}


VERBS = {
    "log": Verb(
        log,
        [
            argument("number", nargs="?", type=int, metavar="N", help="show this one in full"),
            argument("--json", action="store_true", help="the same for programs"),
        ],
    ),
    "undo": Verb(
        undo, [argument("--force", action="store_true", help="also over what was assigned anew or changed since")]
    ),
}
