"""The verbs that say what was sent, what it cost, and what ran."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs.verb import Verb, argument, say
from jupyter_skills.words import aligned

if TYPE_CHECKING:
    from jupyter_skills.agent.prompt.breakdown import Share


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


def _row(share: Share) -> tuple[str, ...]:
    cost = "" if share.cost is None else f"${share.cost:.6f}"
    return share.part, share.skill, f"{share.size:,}", f"{share.tokens:,}", cost


def _total(shares: Sequence[Share]) -> tuple[str, ...]:
    costs = [share.cost for share in shares if share.cost is not None]
    cost = f"${sum(costs):.6f}" if len(costs) == len(shares) else ""
    tokens, size = sum(share.tokens for share in shares), sum(share.size for share in shares)
    return "in all", "", f"{size:,}", f"{tokens:,}", cost


VERBS = {"why": Verb(why, [argument("--json", action="store_true", help="the same for programs")])}
