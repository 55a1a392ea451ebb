"""``jupyter skills ask``: one question to a model, from a shell."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from jupyter_skills.cli.shell import GOOD, say

if TYPE_CHECKING:
    from jupyter_skills.agent.answer import Answer
    from jupyter_skills.execution.result import GeneratedFile

_STDIN = "-"
_OF_CODE = ("code", "language", "place", "outcome", "digest")


def add_verbs(verbs: Any) -> None:
    """Adds the verb of this file to a command line's subparsers."""
    text = "ask a model in plain words, with skills at hand; its code runs in a sandbox of its own"
    ask = verbs.add_parser("ask", help=text, description=f"{text[0].upper()}{text[1:]}.")
    ask.add_argument(
        "prompt", nargs="+", metavar="PROMPT", help=f"what to ask; '{_STDIN}' reads it from standard input"
    )
    ask.add_argument(
        "-m", "--model", metavar="MODEL", help="any model that litellm knows (default: JUPYTER_SKILLS_MODEL)"
    )
    ask.add_argument(
        "-s", "--skill", metavar="REF", action="append", default=[], help="put this skill before the model; repeatable"
    )
    ask.add_argument(
        "-r", "--run", dest="place", choices=("docker", "off"), help="where code runs (default: JUPYTER_SKILLS_RUN)"
    )
    ask.add_argument(
        "-a", "--attach", metavar="PATH", action="append", default=[], help="put this file before the model; repeatable"
    )
    ask.add_argument("--system", metavar="TEXT", default="", help="more text for the system message")
    ask.add_argument("--max-steps", metavar="N", type=_positive, help="how many requests may be sent to the model")
    ask.add_argument(
        "--max-cost", metavar="USD", type=_positive_number, help="stop before a request that could cost more in all"
    )
    ask.add_argument("--timeout", metavar="S", type=_positive_number, help="stop after so many seconds, code included")
    ask.add_argument("--no-stream", action="store_true", help="show the answer when it is complete")
    ask.add_argument("--dry-run", action="store_true", help="show the exact request and send nothing")
    ask.add_argument("--json", action="store_true", help="nothing but the answer, its files and its cost, as JSON")
    ask.set_defaults(run=_ask)


def _ask(options: argparse.Namespace) -> int:
    words = sys.stdin.read() if options.prompt == [_STDIN] else " ".join(options.prompt)
    asyncio.run(_answered(words, options))
    return GOOD


async def _answered(prompt: str, options: argparse.Namespace) -> None:
    from jupyter_skills.agent.ask import ask
    from jupyter_skills.agent.events import discard
    from jupyter_skills.rendering.saving import save
    from jupyter_skills.rendering.terminal import TerminalRenderer

    renderer = TerminalRenderer()
    began = time.monotonic()
    try:
        answer = await ask(
            prompt,
            skills=options.skill,
            model=options.model,
            run=options.place,
            system=options.system,
            attach=options.attach,
            max_steps=options.max_steps,
            max_cost=options.max_cost,
            timeout=options.timeout,
            stream=not (options.no_stream or options.json),
            dry_run=options.dry_run,
            emit=discard if options.json else renderer.show,
            keep=save,
        )
    finally:
        renderer.settle()
    if options.json:
        shown = list(answer.messages) if options.dry_run else _as_json(answer)
        say(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        renderer.finish(answer, time.monotonic() - began)


def _as_json(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "model": answer.model,
        "finish_reason": answer.finish_reason,
        "files": [_file(file) for file in answer.files],
        "code": [{field: getattr(run, field) for field in _OF_CODE} for run in answer.code],
        "tokens": answer.usage.total_tokens,
        "cost": answer.cost,
    }


def _file(file: GeneratedFile) -> dict[str, Any]:
    return {"path": file.saved_as or file.path, "mime_type": file.mime_type, "size": file.size}


def _positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)
