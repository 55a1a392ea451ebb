"""What a turn tells while it goes on. A cell, a terminal or a log shows it as it likes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jupyter_skills.agent.answer import Answer
from jupyter_skills.execution.result import Execution, Language
from jupyter_skills.models.client import ModelRequest, ReasoningDelta, TextDelta


@dataclass(frozen=True)
class Waiting:
    """Something takes time.

    Args:
        reason: What is being waited for; empty when the wait is over.
    """

    reason: str


@dataclass(frozen=True)
class Notice:
    """Something that the user should know, in one sentence."""

    text: str


@dataclass(frozen=True)
class TextDone:
    """A part of the answer is complete.

    Args:
        text: All of it; the ``TextDelta`` events before it were its pieces.
    """

    text: str


@dataclass(frozen=True)
class CallStarted:
    """A tool call begins.

    Args:
        tool: The tool's name.
        about: What it is about, in a few words: a skill's name, a path; empty for code.
        place: Where it runs: ``docker``, ``live``, or empty if no code runs.
        language: What the code is written in, if there is code.
        code: The code, or an empty text.
    """

    tool: str
    about: str = ""
    place: str = ""
    language: Language = "python"
    code: str = ""


@dataclass(frozen=True)
class CallOutput:
    """The code of the call that began last has printed something."""

    text: str


@dataclass(frozen=True)
class CallFinished:
    """The call that began last has ended.

    Args:
        ok: Whether it did what it should.
        result: What the model is told.
        execution: What came of the code, if code ran.
    """

    ok: bool
    result: str
    execution: Execution | None = None


@dataclass(frozen=True)
class Drafted:
    """A request that would be sent, and is not."""

    request: ModelRequest


@dataclass(frozen=True)
class Ended:
    """The turn is over, in whatever way: the last event.

    Args:
        answer: All that came of it; of one that failed or was stopped, what there was until then.
    """

    answer: Answer


Event = (
    Waiting | Notice | ReasoningDelta | TextDelta | TextDone | CallStarted | CallOutput | CallFinished | Drafted | Ended
)
Emit = Callable[[Event], None]


def discard(_: Event) -> None:
    """An ``Emit`` for those who only want the answer."""
