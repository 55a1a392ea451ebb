"""How a script gets its arguments: so that no value can become an option."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Style = Literal["positional", "named", "json"]

_MOST_READ = 256 * 1024
_OPTION = re.compile(rb"(?<![\w-])--?[A-Za-z][\w-]*")
_OPTION_LIKE = re.compile(r"-(?![\d.]*$)(?!\s)")
_COMMENT = re.compile(rb"^[ \t]*(?:#(?!!)|//).*$", re.MULTILINE)
# Libraries that take whatever follows a '--' for values.
_PARSERS = re.compile(
    rb"\b(?:argparse|optparse|docopt|yargs|minimist|parseArgs|GetOptions)\b|\bgetopts?\s+[\"':$\w-]"
    # These are words that scripts have for other things as well: a browser is told to click.
    rb"|\b(?:import|from|use|require)\b[^\n]{0,120}?\b(?:click|typer|getopt|Getopt|clap|cobra|commander)\b"
)
# Its first positional word names a command, so '--' can't stand before it.
_COMMANDS = (b"add_subparsers", b"click.group", b".command(")


@dataclass(frozen=True)
class Convention:
    """What the words after a script's name are.

    Args:
        style: ``positional``: the values in the order of the arguments; ``named``: ``--name=value``; ``json``:
            none, an object on standard input has them all.
        names: The arguments, in order.
        options: For ``named``: the option of each argument.
        separator: For ``positional``: whether ``--`` must stand before the values. Otherwise none may look like an
            option: what a script does with its words, and to whom it hands them, can't be seen.
        spaced: For ``named``: whether a value is a word of its own, as simple loops over the words want it.
        negatable: For ``named``: the flags that have to be said even if they are off, as ``--no-name``.
    """

    style: Style = "positional"
    names: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    separator: bool = False
    spaced: bool = False
    negatable: frozenset[str] = frozenset()

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """The words for checked arguments.

        Raises:
            ValueError: The script would take a value for an option; the message says which.
        """
        if self.style == "json":
            return []
        for name, value in values.items():
            self._check(name, _word(value))
        if self.style == "named":
            given = [(name, values[name]) for name in self.names if name in values]
            return [word for name, value in given for word in self._option(name, value)]
        last = max((i for i, name in enumerate(self.names) if name in values), default=-1)
        words = [_word(values.get(name, "")) for name in self.names[: last + 1]]
        return ["--", *words] if self.separator and words else words

    def _check(self, name: str, word: str) -> None:
        if "\0" in word:
            raise ValueError(f"{name}: a script can't be given a NUL")
        alone = self.spaced or (self.style == "positional" and not self.separator)
        if alone and _OPTION_LIKE.match(word):
            raise ValueError(f"{name}: the script could take '{word[:80]}' for an option")

    def _option(self, name: str, value: Any) -> Iterator[str]:
        option = self.options[name]
        if value is True:
            yield option
        elif value is False and name in self.negatable:
            yield f"--no-{option[2:]}"
        elif value is not False and value is not None:
            for part in value if isinstance(value, list) else [value]:
                yield from (option, _word(part)) if self.spaced else (f"{option}={_word(part)}",)


def convention_of(wanted: object, names: Sequence[str], script: bytes) -> Convention:
    """How a script wants its arguments.

    Args:
        wanted: What its author says, if anything.
        names: The arguments, in order.
        script: The script. Without its author's word: if it has options for all arguments it gets these,
            otherwise the values in order.

    Raises:
        ValueError: There is no style of the name that the author gives.
    """
    text = _COMMENT.sub(b"", script[:_MOST_READ])
    taken = frozenset(match.decode() for match in _OPTION.findall(text))
    options = {name: next((o for o in _spellings(name) if o in taken), f"--{name}") for name in names}
    has_options = bool(names) and taken.issuperset(options.values())
    if wanted is None:
        wanted = "named" if has_options else "positional"
    style = next((style for style in get_args(Style) if style == wanted), None)
    if style is None:
        raise ValueError(f"'pass: {str(wanted)[:80]}' is unknown")
    whole = b"\0" not in text and len(script) <= _MOST_READ
    parses = whole and bool(_PARSERS.search(text))
    takes_equals = b"--*=" in text or any(f"{option}=".encode() in text for option in options.values())
    return Convention(
        style,
        tuple(names),
        options,
        separator=parses and not any(mark in text for mark in _COMMANDS),
        spaced=style == "named" and whole and has_options and not parses and not takes_equals,
        negatable=frozenset(name for name, option in options.items() if _is_negatable(option, text)),
    )


def _is_negatable(option: str, text: bytes) -> bool:
    if re.search(rb"(?<![\w-])--no-" + option[2:].encode() + rb"(?![\w-])", text):
        return True
    own = rb"[\"']" + option.encode() + rb"[\"'][^)]{0,300}BooleanOptionalAction"
    return re.search(own, text) is not None


def _spellings(name: str) -> tuple[str, str]:
    return f"--{name}", f"--{name.replace('_', '-')}"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
