"""What comes of asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jupyter_skills.agent.prompt.breakdown import Share
from jupyter_skills.execution.result import Change, GeneratedFile, Image, Language, Outcome
from jupyter_skills.markup.cleaning import clean
from jupyter_skills.markup.markdown import to_html
from jupyter_skills.models.client import Message, ToolCall, Usage


@dataclass(frozen=True)
class CodeRun:
    """A piece of code that the model wanted run.

    Args:
        code: The code.
        language: What it is written in.
        place: ``docker`` or ``live``.
        consent: By whose consent it ran, or was declined, in words, such as ``user, by button``, ``-y``, ``setting``;
            ``not needed`` in isolation, ``not given`` where the question was interrupted or there was nobody to ask.
        digest: ``sha256:…`` of the code.
        outcome: What came of it.
        seconds: How long it took.
        tool: The tool that was called for it.
        skill: The skill whose tool that is; empty for the model's own code.
        changes: What it did to the user's variables.
    """

    code: str
    language: Language
    place: str
    consent: str
    digest: str
    outcome: Outcome
    seconds: float
    tool: str = ""
    skill: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The answer to one prompt.

    Args:
        text: All that the model said.
        model: The model's name.
        finish_reason: Why it ended: ``stop``; ``max_steps``, ``max_cost`` or ``timeout`` for the limit that was
            reached; ``interrupted``, ``failed``; ``dry_run``; or the provider's own reason, such as ``length``.
        files: What the code made, each once, in its last version.
        images: The pictures that the code displayed, then those among the files.
        code: Every piece of code that the model wanted run.
        calls: Every tool call.
        usage: Tokens of all requests together.
        cost: US dollars for all requests together; None where a price is unknown.
        messages: What this prompt added to the conversation; of a dry run, the request's.
        shares: What each part of the last request came to; ``%skill why`` shows it.
        raws: The responses as litellm has them.
    """

    text: str
    model: str
    finish_reason: str = "stop"
    files: tuple[GeneratedFile, ...] = ()
    images: tuple[Image, ...] = ()
    code: tuple[CodeRun, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    messages: tuple[Message, ...] = field(default=(), repr=False)
    shares: tuple[Share, ...] = field(default=(), repr=False)
    raws: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        made = f", {len(self.files)} files" if self.files else ""
        return f"<Answer of {self.model}: {len(self.text)} characters{made}, {self.finish_reason}>"

    def _repr_html_(self) -> str:
        return to_html(clean(self.text))
