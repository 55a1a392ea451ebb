"""The verbs that say what was sent, what it cost, and what ran."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.log import Logged
from jupyter_skills.notebook.render import watched
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.words import aligned

if TYPE_CHECKING:
    from jupyter_skills.agent.prompt.breakdown import Share

_LONGEST_FIRST_LINE = 60


def why(session: Session, options: argparse.Namespace) -> None:
    """Show what went into the last request, and what each part came to."""
    answer = session.last_answer
    if answer is None:
        raise UsageProblem("Nothing has been asked yet", "Ask something with %%ask first")
    shares = answer.shares
    if options.json:
        say(json.dumps([asdict(share) for share in shares], indent=2))
        return
    say(f"The last request to {answer.model}, and its answer:")
    say("\n".join(aligned([("part", "skill", "bytes", "tokens", "cost"), *map(_row, shares), _total(shares)])))
    spent = "" if answer.cost is None else f", ${answer.cost:.4f}"
    say(f"All requests of that cell: {answer.usage.total_tokens:,} tokens{spent}.")


def log(session: Session, options: argparse.Namespace) -> None:
    """Show every piece of code that ran, where, and by whose consent."""
    executions = session.executions
    if options.json:
        say(json.dumps([_as_json(entry) for entry in executions], indent=2, ensure_ascii=False))
    elif options.number is not None:
        if not 1 <= options.number <= len(executions):
            raise UsageProblem(f"%skill log: there is no number {options.number}", f"There are {len(executions)}")
        entry = executions[options.number - 1]
        say(f"{_facts(entry)}\n\n{entry.run.code.rstrip()}")
    elif not executions:
        say("No code has run yet.")
    else:
        timed = watched(session.shell)  # else the notebook would differ each time it is executed
        heads = ("", "cell", *(("time", "seconds") if timed else ()), "tool", "where", "consent", "outcome", "code")
        rows = [_entry(number, entry, timed=timed) for number, entry in enumerate(executions, 1)]
        say("\n".join(aligned([heads, *rows])))
        say("'%skill log 1' shows the first in full.")


def _row(share: Share) -> tuple[str, ...]:
    cost = "" if share.cost is None else f"${share.cost:.6f}"
    return share.part, share.skill, f"{share.size:,}", f"{share.tokens:,}", cost


def _total(shares: Sequence[Share]) -> tuple[str, ...]:
    costs = [share.cost for share in shares if share.cost is not None]
    cost = f"${sum(costs):.6f}" if len(costs) == len(shares) else ""
    tokens, size = sum(share.tokens for share in shares), sum(share.size for share in shares)
    return "in all", "", f"{size:,}", f"{tokens:,}", cost


def _entry(number: int, entry: Logged, *, timed: bool) -> tuple[str, ...]:
    run = entry.run
    lines = [line for line in run.code.splitlines() if line.strip()] or [""]
    first = lines[0].strip()
    cut = len(lines) > 1 or len(first) > _LONGEST_FIRST_LINE
    return (
        str(number),
        f"[{entry.cell}]",
        *((time.strftime("%H:%M:%S", time.localtime(entry.moment)), f"{run.seconds:.1f}") if timed else ()),
        run.tool,
        run.place,
        run.consent,
        run.outcome,
        first[:_LONGEST_FIRST_LINE] + (" …" if cut else ""),
    )


def _facts(entry: Logged) -> str:
    run = entry.run
    return f"cell [{entry.cell}], {run.tool}, {run.place}, consent: {run.consent}, {run.outcome}, {run.digest}"


def _as_json(entry: Logged) -> dict[str, Any]:
    return {"cell": entry.cell, "time": entry.moment, **asdict(entry.run)}


_JSON = argument("--json", action="store_true", help="the same for programs")

VERBS = {
    "why": Verb(why, [_JSON]),
    "log": Verb(log, [argument("number", nargs="?", type=int, metavar="N", help="show this one in full"), _JSON]),
}
