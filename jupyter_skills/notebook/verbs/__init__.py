"""The verbs of ``%skill``: one parser and one function each."""

from __future__ import annotations

from difflib import get_close_matches

from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook.arguments import split_words
from jupyter_skills.notebook.session import Session
from jupyter_skills.notebook.verbs import authoring, executions, in_force, insight, notebook
from jupyter_skills.notebook.verbs.verb import Verb, say

VERBS: dict[str, Verb] = {**in_force.VERBS, **authoring.VERBS, **insight.VERBS, **executions.VERBS, **notebook.VERBS}


def run(session: Session, line: str) -> None:
    """Runs one ``%skill`` line.

    Raises:
        SkillsError: The verb or its words make no sense, or it could not be done.
    """
    words = split_words(line)
    if not words or words[0] in ("-h", "--help"):
        for name, verb in VERBS.items():
            say(f"%skill {name:<8} {verb.summary}")
        return
    if words[0] not in VERBS:
        close = get_close_matches(words[0], VERBS, n=1)
        raise UsageProblem(
            f"%skill: there is no verb '{words[0]}'",
            f"Did you mean '%skill {close[0]}'?" if close else f"The verbs are: {', '.join(VERBS)}",
        )
    parser = VERBS[words[0]].parser(words[0])
    options = parser.parse(words[1:])
    if options.help:
        say(parser.format_help())
        return
    VERBS[words[0]].deed(session, options)
