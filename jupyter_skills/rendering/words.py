"""The words that all renderers share."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.execution.result import Change, GeneratedFile
from jupyter_skills.markup.cleaning import clean
from jupyter_skills.skills.tools.record import call_name
from jupyter_skills.words import first_rows, plain

PLACES = {"docker": "isolated kernel", "live": "this kernel"}
_REASONS = {
    "max_steps": "stopped after the last of its steps (--max-steps)",
    "max_cost": "stopped before it would cost more than --max-cost",
    "timeout": "stopped after --timeout",
    "interrupted": "interrupted",
    "dry_run": "nothing was sent",
    "length": "cut off by the model's own length limit",
    "content_filter": "cut off by the provider's content filter",
}
_OUTCOMES = {
    "error": "failed",
    "timeout": "stopped",
    "died": "kernel died",
    "edited": "taken into a cell of your own",
}
_LIMITS = {"out_of_memory": "out of memory", "process_limit": "too many processes", "disk_full": "no room left"}
MOST_CHANGES = 20
"""How many variables are named before the others are only counted."""

_SMALLEST = 0.0001  # dollars that are told
_SHORTEST = 0.1  # seconds that are told


def call_title(call: CallStarted) -> str:
    """A tool call in a few words; of a skill's own tool the skill and the tool."""
    return " · ".join(filter(None, (*_apart(call.tool), call.about, PLACES.get(call.place, call.place))))


def call_state(done: CallFinished | None, doing: str = "", *, timed: bool = False) -> str:
    """How a tool call stands.

    Args:
        done: How it ended; None while it runs.
        doing: What is waited for now, as ``waiting`` says it, if not simply for its end.
        timed: Whether to say how long its code took: not where the same notebook must look the same each time.
    """
    if done is None:
        return doing or waiting("running")
    if done.execution is None:
        return "ok" if done.ok else "failed"
    run = done.execution
    state = _LIMITS.get(run.cause) or _OUTCOMES.get(run.outcome, run.outcome)
    return f"{state} · {duration(run.seconds)}" if timed and run.seconds else state


def waiting(reason: str, seconds: int = 0) -> str:
    """A line that stands while something is waited for.

    Args:
        reason: What is waited for.
        seconds: How long so far; 0 to leave that out.
    """
    return f"{reason} … {seconds} s" if seconds else f"{reason} …"


def duration(seconds: float) -> str:
    """How long something took."""
    return f"{seconds:.1f} s" if seconds >= _SHORTEST else f"< {_SHORTEST} s"


def price(dollars: float | None) -> str:
    """What something cost; empty if nothing, or if nobody knows."""
    if not dollars:
        return ""
    return f"${dollars:.4f}" if dollars >= _SMALLEST else f"< ${_SMALLEST}"


def call_output(done: CallFinished, *, error: bool = True) -> str:
    """What code printed, and its error, for a person to read.

    Args:
        done: How the call ended.
        error: Whether to tell the error of code that ran, too; not where that is shown by itself.
    """
    if done.execution is None:
        return "" if done.ok else clean(done.result)
    run = done.execution
    return "\n".join(filter(None, (run.text.rstrip(), run.error if error else "", *run.notes)))


def change_lines(changes: Sequence[Change]) -> list[str]:
    """What happened to variables, a line each, the first ones of many."""
    rows = [f"{plain(change.name)}  {change.happened}  {plain(change.from_to)}".rstrip() for change in changes]
    return first_rows(rows, MOST_CHANGES)


def file_size(file: GeneratedFile) -> str:
    """A file's size, readable."""
    return f"{file.size:,} bytes" if file.size < 10_000 else f"{file.size / 1000:,.0f} kB"


def summary(answer: Answer, seconds: float | None) -> str:
    """The last line: the model, tokens, cost, time, and why it ended if not of itself.

    Args:
        answer: The answer.
        seconds: How long it took; None where the same notebook must look the same each time.
    """
    return " · ".join(
        filter(
            None,
            (
                answer.model,
                f"{answer.usage.total_tokens:,} tokens" if answer.usage.total_tokens else "",
                price(answer.cost),
                duration(seconds) if seconds is not None else "",
                ending(answer),
            ),
        )
    )


def ending(answer: Answer) -> str:
    """Why an answer ended, if not because the model had finished."""
    if answer.finish_reason in ("stop", "tool_calls"):
        return "" if answer.text or answer.calls else "the model said nothing"
    return _REASONS.get(answer.finish_reason, answer.finish_reason)


def _apart(name: str) -> tuple[str, ...]:
    """The name of a skill's own tool as skill and tool; any other as it is."""
    skill, _, tool = name.partition("__")
    if not tool:
        return (name,)
    return (skill, tool) if call_name(skill, tool) == name else (name,)
