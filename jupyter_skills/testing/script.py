"""What a scripted model says, apart from how it is put on the wire."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from jupyter_skills.errors import UsageProblem


@dataclass(frozen=True)
class Call:
    """A tool call in a turn.

    Args:
        tool: The tool's name.
        arguments: Its arguments; a string is sent as it is, to try out what is not JSON.
    """

    tool: str
    arguments: Mapping[str, Any] | str

    @property
    def json(self) -> str:
        """The arguments on the wire."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Turn:
    """One answer of the model.

    Args:
        text: What it says.
        calls: What it calls for, after the text.
        usage: Prompt and completion tokens to report; None reports none.
        finish: The finish reason in OpenAI's words; found from the calls if not given.
        delay: Seconds to wait before the answer.
        piece: How many characters of text or arguments go into one chunk of a stream.
        hold_after: After so many chunks of a stream, wait until ``ScriptedModel.release``.
        status: An HTTP status other than 200, to fail with.
        message: What to say when failing.
        break_off: Stop in the middle of a stream: ``abort`` drops the connection, ``quiet`` ends the
            stream as if that were all.
        reasoning: What it thinks before it speaks. Where providers sign that, it is signed, and a history that
            comes back without it is refused.
        retry_after: Seconds to ask for when failing; a text is sent as it is.
        error_type: The kind of failure, as the provider names it.
        error_code: Its code, where the provider has one beside the kind.
        fails_after: When failing, begin a stream with status 200 all the same, and fail after so many of its events.
        refusal: Why it will not answer, in the words of its provider; Anthropic's has none.
        container: Where the provider runs code, as it tells in Anthropic's messages.
        headers: Further headers of a response that is no stream.
        raw: The body of a response that is no stream, in place of what the rest comes to; a text is sent as HTML.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    usage: tuple[int, int] | None = (100, 20)
    finish: str = ""
    delay: float = 0.0
    piece: int = 12
    hold_after: int | None = None
    status: int = 200
    message: str = "the script says to fail"
    break_off: Literal["", "abort", "quiet"] = ""
    reasoning: str = ""
    retry_after: float | str | None = None
    error_type: str = "scripted_error"
    error_code: str | int | None = None
    fails_after: int | None = None
    refusal: str = ""
    container: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: Any = None

    @property
    def finish_reason(self) -> str:
        """The finish reason in OpenAI's words."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    @property
    def asked_wait(self) -> str | None:
        """How long it asks to wait when failing, as it stands on the wire."""
        wait = self.retry_after
        return f"{wait:g}" if isinstance(wait, float | int) else wait

    @property
    def signature(self) -> str:
        """The provider's signature under the reasoning."""
        return signature(self.reasoning)


def signature(reasoning: str) -> str:
    """What a provider signs reasoning with; found from the text, so that a server without memory can check it."""
    return base64.b64encode(hashlib.sha256(reasoning.encode()).digest()).decode()


@dataclass(frozen=True)
class Exchange:
    """The turns that answer one prompt, however often it is asked.

    Args:
        prompt: Words that the user's last message must contain.
        turns: The first answers it, the next follows the first's tool results, and so on.
    """

    prompt: str
    turns: Sequence[Turn]


def exchanges_from_file(path: str | Path) -> list[Exchange]:
    """Reads a script: a YAML list of ``prompt`` and ``turns``; see ``notebooks/01-quickstart.yaml``.

    Raises:
        UsageProblem: The file is missing, or no script.
    """
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return [Exchange(entry["prompt"], [_turn(turn) for turn in entry["turns"]]) for entry in entries]
    except OSError as error:
        raise UsageProblem(f"The script '{path}' can't be read: {error.strerror}", "Check the path") from None
    except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise UsageProblem(
            f"'{path}' is not a script of prompts and turns: {type(error).__name__} {error}", "See 01-quickstart.yaml"
        ) from None


def _turn(fields: dict[str, Any]) -> Turn:
    calls = [Call(tool, arguments) for call in fields.get("calls", ()) for tool, arguments in call.items()]
    rest = {key: value for key, value in fields.items() if key not in ("calls", "usage")}
    usage = fields.get("usage", (100, 20))
    return Turn(calls=calls, usage=usage and tuple(usage), **rest)
