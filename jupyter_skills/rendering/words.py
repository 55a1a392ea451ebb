"""The words that all renderers share."""

from __future__ import annotations

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.execution.result import GeneratedFile

PLACES = {"docker": "isolated kernel", "live": "this kernel"}
_REASONS = {
    "max_steps": "stopped after the last of its steps (--max-steps)",
    "length": "cut off by the model's own length limit",
    "content_filter": "cut off by the provider's content filter",
}
_OUTCOMES = {"error": "failed", "timeout": "stopped", "died": "kernel died"}
_LIMITS = {"out_of_memory": "out of memory", "process_limit": "too many processes", "disk_full": "no room left"}


def call_title(call: CallStarted) -> str:
    """A tool call in a few words."""
    return " · ".join(filter(None, (call.tool, call.about, PLACES.get(call.place, call.place))))


def call_state(done: CallFinished | None, doing: str = "") -> str:
    """How a tool call stands.

    Args:
        done: How it ended; None while it runs.
        doing: What is being done for it now, if not simply running it.
    """
    if done is None:
        return f"{doing or 'running'} …"
    if done.execution is not None:
        run = done.execution
        return _LIMITS.get(run.cause) or _OUTCOMES.get(run.outcome, run.outcome)
    return "ok" if done.ok else "failed"


def call_output(done: CallFinished) -> str:
    """What code printed, and its error, for a person to read."""
    if done.execution is None:
        return "" if done.ok else done.result
    run = done.execution
    return "\n".join(filter(None, (run.text.rstrip(), run.error, *run.notes)))


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
                f"${answer.cost:.4f}" if answer.cost else "",
                f"{seconds:.1f} s" if seconds is not None else "",
                ending(answer),
            ),
        )
    )


def ending(answer: Answer) -> str:
    """Why an answer ended, if not because the model had finished."""
    if answer.finish_reason in ("stop", "tool_calls"):
        return "" if answer.text or answer.calls else "the model said nothing"
    return _REASONS.get(answer.finish_reason, answer.finish_reason)
