"""Markdown taken apart: into blocks, and lists and tables into their items and rows, so that each is rendered once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from jupyter_skills.markup.markdown import LOOSE, parser

if TYPE_CHECKING:
    from markdown_it.token import Token

Links = Mapping[str, Any]
"""Where the links of a text lead that are defined elsewhere in it, as the parser keeps them."""

# A missing cell takes no character of the text, but some of the page: the parser bounds their number by the table.
_MOST_COLUMNS = 32

_UNITS = {"bullet_list_open": "list_item_open", "ordered_list_open": "list_item_open", "table_open": "tr_open"}
_LEVEL_OF_PARAGRAPHS = 2  # of those right within an item of a list that stands in nothing else


@dataclass(frozen=True)
class Opening:
    """The block that a text begins in the middle of.

    Args:
        source: Lines that, put before the text, let it be read as more of that block: the fence of code, the head
            of a table, an item of a list, which is no part of it.
        tag: ``ul``, ``ol`` or ``table``; empty for code.
        begin: HTML of the table's beginning.
        start: The number of the next item.
    """

    source: str
    tag: str = ""
    begin: str = ""
    start: int = 1

    @property
    def height(self) -> int:
        """How many lines it has."""
        return self.source.count("\n")

    @property
    def frame(self) -> tuple[str, str]:
        """HTML before and after its items or rows."""
        if self.tag == "table":
            return self.begin, "</tbody>\n</table>\n"
        number = f' start="{self.start}"' if self.start != 1 else ""
        return f"<{self.tag}{number}>\n", f"</{self.tag}>\n"

    def after(self, count: int) -> Opening:
        """The same as it is after some more items."""
        return replace(self, start=self.start + count)


@dataclass(frozen=True)
class Unit:
    """An item of a list, or a row of a table.

    Args:
        first: Its first line, counted from 0.
        tokens: What the parser made of it.
        loose: Whether blank lines stand between its own blocks.
        ends_blank: Whether a blank line follows it: the list is loose if another item does.
    """

    first: int
    tokens: Sequence[Token]
    loose: bool
    ends_blank: bool

    @property
    def forms(self) -> tuple[str, str]:
        """Its HTML in a tight and in a loose list."""
        paragraphs = [
            token
            for token in self.tokens
            if token.level == _LEVEL_OF_PARAGRAPHS and token.type in ("paragraph_open", "paragraph_close")
        ]
        for token in paragraphs:
            token.hidden = True
        tight = _rendered(self.tokens)
        if not paragraphs:
            return tight, tight
        for token in paragraphs:
            token.hidden = False
        return tight, _rendered(self.tokens)


class Series:
    """The items of a list or rows of a table, as far as they stand in one place: the list is tight or loose by them.

    Args:
        opening: The list or table.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._units: list[tuple[str, str]] = []
        self._loose = False
        self._ends_blank = False

    @property
    def going_on(self) -> Opening:
        """The list or table as it goes on after these."""
        return self._opening.after(len(self._units))

    def add(self, unit: Unit) -> None:
        """Puts an item or row at the end."""
        self._loose = self._loose or self._ends_blank or unit.loose
        self._ends_blank = unit.ends_blank
        self._units.append(unit.forms)

    def html(self, more: Sequence[Unit] = ()) -> str:
        """All of them, and some more, as a list or a table; empty if there are none."""
        if more:
            longer = copy(self)
            longer._units = list(self._units)
            for unit in more:
                longer.add(unit)
            return longer.html()
        if not self._units:
            return ""
        begin, end = self._opening.frame
        return begin + "".join(unit[self._loose] for unit in self._units) + end


@dataclass(frozen=True)
class Block:
    """One of the blocks that a text consists of: a paragraph, a whole list, a table.

    Args:
        first: Its first line, counted from 0.
        end: The line after its last one.
        tokens: What the parser made of it.
        units: Of a list its items, of a table its rows; of a very wide table none.
        formulas: Lines where a formula may begin whose closing ``$$`` is missing so far.
    """

    first: int
    end: int
    tokens: Sequence[Token]
    units: Sequence[Unit]
    formulas: Sequence[int]

    @property
    def html(self) -> str:
        """The block alone."""
        return _rendered(self.tokens)

    @property
    def is_open_code(self) -> bool:
        """Whether it is code between fences whose closing fence is missing so far."""
        token = self.tokens[0]
        return token.type == "fence" and token.content.count("\n") == self.end - self.first - 1

    @property
    def ends_what_is_before(self) -> bool:
        """Whether it could not be the title of a definition right before it, whatever follows."""
        return self.is_open_code or bool(self.units)

    def opening(self, lines: Sequence[str]) -> Opening:
        """What more of this list or table begins in the middle of.

        Args:
            lines: Those of the text.
        """
        head = self.tokens[0]
        if head.tag == "table":
            length = next(place for place, token in enumerate(self.tokens) if token.type == "tbody_open") + 1
            return Opening("".join(lines[self.first : self.first + 2]), "table", _rendered(self.tokens[:length]))
        # Its text stands so far to the right that whatever begins another item can't belong to it.
        number = "1" if head.tag == "ol" else ""
        return Opening(f"{number}{head.markup}    x\n", head.tag, start=int(head.attrs.get("start", 1)))


@dataclass(frozen=True)
class Parsed:
    """A text taken apart.

    Args:
        blocks: Its blocks, in order. Definitions of links are none.
        links: What was known before, and what the text itself defines.
        definitions: First line, end and name of each definition in it.
    """

    blocks: Sequence[Block]
    links: Links
    definitions: Sequence[tuple[int, int, str]]


def parsed(text: str, links: Links, opening: Opening | None = None) -> Parsed:
    """Takes Markdown apart.

    Args:
        text: The Markdown.
        links: Definitions of links that stand before it.
        opening: What it begins in the middle of. Its lines are counted, but no unit stands for them.
    """
    source = (opening.source if opening else "") + text
    lines = source.split("\n")
    env: dict[str, Any] = {"references": dict(links)}
    tokens = parser().parse(source, env)
    blocks: list[Block] = []
    for part in _apart(tokens, 0):
        first, end = _place(part[0])
        units = [_unit(unit, lines) for unit in _units(part)]
        if opening and opening.tag in ("ul", "ol") and not blocks:
            del units[0]
        blocks.append(Block(first, end, part, units, _formulas(part)))
    new = [(name, link) for name, link in env["references"].items() if name not in links]
    new += [(link["label"], link) for link in env.get("duplicate_refs", ())]
    return Parsed(blocks, env["references"], [(*link["map"], name) for name, link in new])


def more_html(text: str, links: Links, opening: Opening) -> str:
    """Renders Markdown that begins in the middle of a block.

    Args:
        text: The Markdown.
        links: Definitions of links that stand elsewhere.
        opening: What it begins in the middle of.
    """
    blocks = parsed(text, links, opening).blocks
    first = blocks[0]
    if first.units and opening.tag == "table":
        opening = first.opening(opening.source.splitlines(keepends=True))  # its head may have links
    begin = Series(opening).html(first.units) if opening.tag else first.html
    return begin + "".join(block.html for block in blocks[1:])


def _rendered(tokens: Sequence[Token]) -> str:
    return str(parser().renderer.render(tokens, parser().options, {}))


def _place(token: Token) -> tuple[int, int]:
    assert token.map is not None, "every block knows its lines"
    return token.map[0], token.map[1]


def _apart(tokens: Sequence[Token], level: int) -> Iterator[Sequence[Token]]:
    begin = 0
    for number, token in enumerate(tokens):
        if token.level == level and token.nesting <= 0:
            yield tokens[begin : number + 1]
            begin = number + 1


def _units(block: Sequence[Token]) -> Iterator[Sequence[Token]]:
    kind = _UNITS.get(block[0].type)
    if kind == "list_item_open":
        yield from _apart(block[1:-1], 1)
    elif kind is not None and sum(token.type == "th_open" for token in block) <= _MOST_COLUMNS:
        body = next((place for place, token in enumerate(block) if token.type == "tbody_open"), None)
        if body is not None:
            yield from _apart(block[body + 1 : -2], 2)


def _unit(tokens: Sequence[Token], lines: Sequence[str]) -> Unit:
    first, end = _place(tokens[0])
    ends_blank = end - first > 1 and not lines[end - 1].strip(" \t")
    return Unit(first, tokens, bool(tokens[0].meta.get(LOOSE)), ends_blank)


def _formulas(block: Sequence[Token]) -> list[int]:
    return [
        _place(token)[0]
        for before, token in pairwise(block)
        if token.type == "inline"
        and (before.type == "paragraph_open" or before.markup in ("=", "-"))
        and token.content.startswith("$$")
        and "$$" not in token.content.partition("\n")[0][2:]
    ]
