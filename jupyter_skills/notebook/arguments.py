"""The words after a magic: options first, then prose that stays as it was typed."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Sequence
from typing import NoReturn, get_args

from jupyter_skills.errors import UsageProblem
from jupyter_skills.settings import RunPlace

_OPTION = re.compile(r"--?[A-Za-z]")  # "- a list item" and "-5 degrees" are prose
_WORD = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[^\s"'])+)""")


class MagicParser(argparse.ArgumentParser):
    """An argument parser that raises instead of ending the process; ``--help`` is the caller's to answer."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, add_help=False, exit_on_error=False, allow_abbrev=False)
        self.add_argument("-h", "--help", action="store_true", help="show this")

    def error(self, message: str) -> NoReturn:
        """Called by argparse for words it can't take."""
        raise UsageProblem(f"{self.prog}: {message}", f"See '{self.prog} --help'")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parses words.

        Raises:
            UsageProblem: They make no sense.
        """
        if "-h" in words or "--help" in words:
            return argparse.Namespace(help=True)
        try:
            return self.parse_args(words)
        except argparse.ArgumentError as error:
            self.error(str(error))


def split_words(line: str) -> list[str]:
    """Splits a line as a shell would, with quotes.

    Raises:
        UsageProblem: A quote has no end.
    """
    try:
        return shlex.split(line)
    except ValueError:
        raise UsageProblem("A quotation mark is not closed", "Close it") from None


def ask_parser(prog: str = "%%ask") -> MagicParser:
    """The options of ``%%ask`` and ``%ask``."""
    parser = MagicParser(prog, "Ask a model in plain words, with the loaded skills at hand.")
    add = parser.add_argument
    add("-m", "--model", metavar="MODEL", help="any model that litellm knows (default: JupyterSkills.model)")
    add(
        "-s", "--skill", metavar="SKILL", action="append", help="use just this skill, loading it if need be; repeatable"
    )
    add("-r", "--run", choices=get_args(RunPlace), help="where code runs (default: JupyterSkills.run)")
    add(
        "-y", "--yes", action="store_true", help="consent beforehand to all code that this cell runs in the live kernel"
    )
    add("-n", "--new", action="store_true", help="begin a new conversation")
    add("-o", "--output", metavar="VAR", help="bind the Answer to this variable")
    add(
        "-a",
        "--attach",
        metavar="PATH",
        action="append",
        default=[],
        help="put this file before the model: text, a picture, a PDF document, a notebook; patterns too; repeatable",
    )
    add(
        "--send",
        metavar="VAR",
        action="append",
        default=[],
        help="copy this variable, or the file of this path, into the sandbox before; repeatable",
    )
    add(
        "--get",
        metavar="NAME",
        action="append",
        default=[],
        help="copy this variable, or the file of this path, out of the sandbox when the model has answered; repeatable",
    )
    add("--system", metavar="TEXT", help="more text for the system message")
    add("--max-steps", metavar="N", type=_positive(int), help="how many requests may be sent to the model")
    add("--max-cost", metavar="USD", type=_positive(float), help="stop before a request that could cost more in all")
    add("--timeout", metavar="S", type=_positive(float), help="stop after so many seconds, code included")
    add("--no-stream", action="store_true", help="show the answer when it is complete")
    add("--dry-run", action="store_true", help="show the exact request and send nothing")
    add("--soft", action="store_true", help="report an error without failing the cell")
    return parser


def parse_ask(line: str, prog: str = "%%ask") -> tuple[argparse.Namespace, str]:
    """Takes apart the line of ``%%ask`` or ``%ask``.

    Returns:
        The options; and the words after them, untouched: they are the prompt, or its first line.

    Raises:
        UsageProblem: An option makes no sense.
    """
    parser = ask_parser(prog)
    takes_value = {
        name: action.nargs != 0 for action in parser._actions for name in action.option_strings
    }  # argparse offers no public way to ask
    words: list[str] = []
    at = 0
    while (match := _WORD.match(line, at)) and _OPTION.match(match[1]):
        word, at = match[1], _closed(line, match.end())
        name, equals, _ = word.partition("=")
        if name not in takes_value and not any(name.startswith(short) for short in takes_value if len(short) == 2):
            parser.error(f"there is no option {name}")
        words += split_words(word)
        if takes_value.get(name) and not equals:
            value = _WORD.match(line, at)
            if value:
                words += split_words(value[1])
                at = _closed(line, value.end())
    return parser.parse(words), line[at:].strip()


def _closed(line: str, end: int) -> int:
    """Where a word ends; it has no end if a quotation mark in it was left open."""
    if line[end : end + 1] in ("'", '"'):
        raise UsageProblem("A quotation mark is not closed", "Close it")
    return end


def _positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a positive number")
        return value

    number.__name__ = "number"
    return number
