"""Tool calls as fenced code blocks in a model's text, read while it comes.

Source: CommonMark 0.31, "Fenced code blocks". A block whose info string is ``tool NAME`` is a call; any other is prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_OPENING = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)", re.DOTALL)
_CALL = re.compile(r"tool[ \t]+(?P<name>\S+)(?:[ \t]+(?P<body>\{.*))?", re.DOTALL)

# A line so far that may yet become the opening of a call; whether its info string is one is seen below.
_PERHAPS_CALL = re.compile(r" {0,3}(?:`{0,2}|~{0,2}|(?:`{3,}|~{3,})[ \t]*(?P<info>[^ \t].*)?)", re.DOTALL)
_PERHAPS_FENCE = re.compile(r" {0,3}(?:`{0,2}|~{0,2}|`{3,}[^`]*|~{3,}.*)", re.DOTALL)

_FEWEST = 3

# No fence has a line as long as that; without it, looking at one again with each piece would take quadratic time.
_LONGEST = 1000


@dataclass
class Block:
    """A call, as it stands in the text.

    Args:
        name: The tool.
        fence: What it opened with: the character, and how many of it.
        indent: How many blanks stood before it; as many are taken from each line.
        lines: What is in it.
        closed: Whether its end has come.
    """

    name: str
    fence: tuple[str, int]
    indent: int
    lines: list[str] = field(default_factory=list)
    closed: bool = False

    @property
    def body(self) -> str:
        """What is in it."""
        return "\n".join(self.lines)


class CallReader:
    """Takes a text apart piece by piece, in time that is linear in its length.

    A line that may yet open a call is held back, and nothing else. After the first call, prose is dropped: what a
    model writes there are results that it made up.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._fence: tuple[str, int] | None = None
        self._line: list[str] = []  # what may still matter of the line that has begun
        self._shown = 0  # how many characters of it are out
        self._plain = False  # whether the rest of the line is prose, whatever comes

    def feed(self, piece: str) -> str:
        """Takes the next piece; returns the prose that is certain now."""
        prose: list[str] = []
        *whole, rest = piece.split("\n")
        for part in whole:
            self._add(part, prose)
            self._end_line(prose, "\n")
        self._add(rest, prose)
        return "".join(prose)

    def end(self) -> str:
        """Ends the text; returns the prose that was held back."""
        prose: list[str] = []
        self._end_line(prose, "")
        return "".join(prose)

    @property
    def _open(self) -> Block | None:
        return self.blocks[-1] if self.blocks and not self.blocks[-1].closed else None

    def _add(self, part: str, prose: list[str]) -> None:
        if self._open is not None:
            self._line.append(part)
        elif self._plain:
            self._out(part, prose)
        elif part:
            line = "".join([*self._line, part])
            self._line = [line]
            fence = len(line) <= _LONGEST and _PERHAPS_FENCE.fullmatch(line)
            if self._fence is not None or not fence or not _may_call(line):
                self._out(line[self._shown :], prose)
                self._shown = len(line)
                self._plain = not fence

    def _end_line(self, prose: list[str], newline: str) -> None:
        line = "".join(self._line)
        plain, shown = self._plain, self._shown
        self._line, self._shown, self._plain = [], 0, False
        if (block := self._open) is not None:
            if _closes(line, block.fence):
                block.closed = True
            elif line or newline:
                block.lines.append(_unindented(line, block.indent))
            return
        if not plain and self._fence is None and (opening := _OPENING.fullmatch(line)) is not None:
            fence = (opening["fence"][0], len(opening["fence"]))
            if (call := _CALL.match(opening["info"].lstrip(" \t"))) is not None:
                # Some models begin a JSON object behind the name.
                lines = [call["body"].rstrip()] if call["body"] else []
                self.blocks.append(Block(call["name"], fence, len(opening["indent"]), lines))
                return
            self._fence = fence
        elif not plain and self._fence is not None and _closes(line, self._fence):
            self._fence = None
        self._out(line[shown:] if not plain else "", prose)
        self._out(newline, prose)

    def _out(self, text: str, prose: list[str]) -> None:
        if not self.blocks:
            prose.append(text)


def fenced(name: str, body: str) -> str:
    """A call as text, in a fence that nothing in its body closes."""
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(_FEWEST, longest + 1)
    return f"{fence}tool {name}\n{body}\n{fence}"


def _may_call(line: str) -> bool:
    match = _PERHAPS_CALL.fullmatch(line)
    if match is None:
        return False
    info = match["info"] or ""
    if line.lstrip(" ").startswith("`") and "`" in info:
        return False
    word, blank, _ = info.replace("\t", " ").partition(" ")
    return word == "tool" if blank else "tool".startswith(word)


def _closes(line: str, fence: tuple[str, int]) -> bool:
    character, count = fence
    return re.fullmatch(rf" {{0,3}}{re.escape(character)}{{{count},}}[ \t\r]*", line) is not None


def _unindented(line: str, indent: int) -> str:
    blanks = len(line) - len(line.lstrip(" "))
    return line[min(blanks, indent) :].removesuffix("\r")
