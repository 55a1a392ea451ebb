"""What an answer carries beyond what its provider's has: the files that code made, and how it came about."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jupyter_skills.agent.answer import Answer
from jupyter_skills.execution.result import GeneratedFile
from jupyter_skills.models.client import Message

FILES = "_litellm_generated_files"
"""LiteLLM's name for the files: ``name``, ``path``, ``mime_type``, ``size`` in bytes, ``content_base64`` each."""

MORE = "_jupyter_skills"
"""``stopped_by``: the limit that was reached, ``max_steps`` or ``max_cost``, or nothing; ``messages``: what to add to
the conversation so that the model knows what it has done; ``code``: every piece that ran."""

_LIMITS = ("max_steps", "max_cost")


def stopped_by(answer: Answer) -> str:
    """The limit that ended a turn; empty if none did."""
    return answer.finish_reason if answer.finish_reason in _LIMITS else ""


def marks(answer: Answer, added: Sequence[Message]) -> dict[str, Any]:
    """Both, as JSON knows them."""
    return {
        FILES: files(answer.files),
        MORE: {
            "stopped_by": stopped_by(answer),
            "messages": list(added),
            "code": [
                {
                    "tool": run.tool,
                    "skill": run.skill,
                    "language": run.language,
                    "code": run.code,
                    "digest": run.digest,
                    "place": run.place,
                    "outcome": run.outcome,
                    "seconds": round(run.seconds, 3),
                }
                for run in answer.code
            ],
        },
    }


def files(made: Iterable[GeneratedFile]) -> list[dict[str, Any]]:
    """Files in LiteLLM's form, their bytes in base64."""
    return [
        {
            "name": file.name,
            "path": file.path,
            "mime_type": file.mime_type,
            "size": file.size,
            "content_base64": base64.b64encode(file.data).decode(),
        }
        for file in made
    ]


def put_on(response: Any, given: Mapping[str, Any]) -> None:
    """Puts them on one of litellm's objects, as attributes and into its JSON."""
    for name, value in given.items():
        setattr(response, name, value)
        with suppress(TypeError):  # an object that takes no more fields
            response.model_extra[name] = value
