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
_COMMENT = re.compile(rb"^[ \t]*(?:#(?!!)|//).*$", re.MULTILINE)
# Libraries that take whatever follows a '--' for values.
_PARSERS = re.compile(
    rb"\b(?:argparse|optparse|docopt|yargs|minimist|parseArgs|GetOptions)\b|\bgetopts?\s+[\"':$\w-]"
    # These are words that scripts have for other things as well: a browser is told to click.
    rb"|\b(?:import|from|use|require)\b[^\n]{0,120}?\b(?:click|typer|getopt|Getopt|clap|cobra|commander)\b"
)
# A script that reads its arguments one by one, and hands them on to nobody, can be looked at for its options.
_READS = re.compile(rb"\b(?:argv|ARGV)\[\d+\]|\$\{?[1-9]\b")
_HANDS_ON = re.compile(rb"\$\{?[@*]|\b(?:argv|ARGV)\b(?!\[\d+\])")


@dataclass(frozen=True)
class Convention:
    """What the words after a script's name are.

    Args:
        style: ``positional``: the values in the order of the arguments; ``named``: ``--name=value``; ``json``:
            none, an object on standard input has them all.
        names: The arguments, in order.
        options: For ``named``: the option of each argument.
        separator: For ``positional``: whether ``--`` must stand before the values.
        taken: For ``positional``: what the script takes for options itself; None where that can't be seen, so that
            no word may look like one.
        negatable: For ``named``: whether a flag that is off has to be said, as ``--no-name``.
    """

    style: Style = "positional"
    names: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    separator: bool = False
    taken: frozenset[str] | None = frozenset()
    negatable: frozenset[str] = frozenset()

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """The words for checked arguments.

        Raises:
            ValueError: The script would take a value for an option; the message says which.
        """
        if self.style == "json":
            return []
        if self.style == "named":
            given = [(name, values[name]) for name in self.names if name in values]
            return [word for name, value in given for word in self._option(name, value)]
        last = max((i for i, name in enumerate(self.names) if name in values), default=-1)
        words = [_word(values.get(name, "")) for name in self.names[: last + 1]]
        if self.separator:
            return ["--", *words] if words else []
        for name, word in zip(self.names, words, strict=False):
            if "\0" in word:
                raise ValueError(f"{name}: a script can't be given a NUL")
            if self._may_be_option(word):
                raise ValueError(f"{name}: the script would take '{word[:80]}' for an option")
        return words

    def _option(self, name: str, value: Any) -> Iterator[str]:
        option = self.options[name]
        if value is True:
            yield option
        elif value is False and name in self.negatable:
            yield f"--no-{option[2:]}"
        elif isinstance(value, list):
            for part in value:
                yield f"{option}={_word(part)}"
        elif value is not False and value is not None:
            yield f"{option}={_word(value)}"

    def _may_be_option(self, word: str) -> bool:
        if not re.match(r"--?[^\W\d]", word):
            return False
        return self.taken is None or word.partition("=")[0] in self.taken or word[:2] in self.taken


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
    if wanted is None:
        wanted = "named" if names and all(option in taken for option in options.values()) else "positional"
    for style in get_args(Style):
        if wanted == style:
            whole = b"\0" not in text and len(script) <= _MOST_READ
            separator = whole and bool(_PARSERS.search(text))
            seen = whole and bool(_READS.search(text)) and not _HANDS_ON.search(text)
            negatable = [n for n in names if f"--no-{options[n][2:]}" in taken or b"BooleanOptionalAction" in text]
            return Convention(style, tuple(names), options, separator, taken if seen else None, frozenset(negatable))
    raise ValueError(f"'pass: {str(wanted)[:80]}' is unknown")


def _spellings(name: str) -> tuple[str, str]:
    return f"--{name}", f"--{name.replace('_', '-')}"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
