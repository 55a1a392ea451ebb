"""Markdown that grows, cut into pages so that what each update costs does not grow with it.

A page is filled with what nothing can change any more: blocks, and of a list or table that goes on, items and rows.
It is closed when it is long enough. Only what stands after that is parsed again, when more of the text has come.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jupyter_skills.markup.blocks import Block, Links, Opening, Parsed, Series, Unit, more_html, parsed
from jupyter_skills.markup.markdown import to_html

PAGE = 4_000
"""Characters of a page, about."""

# A lone $$ would else hold back all that follows it.
_LONGEST_OPEN_FORMULA = 20_000
_LINE_ENDS = re.compile(r"\r\n?")


@dataclass
class Page:
    """A stretch of the text that is shown in one place.

    Args:
        opening: The block that it begins in the middle of, if it does.
    """

    opening: Opening | None = None
    size: int = 0
    series: Series | None = None
    _sources: list[str] = field(default_factory=list)
    _blocks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.opening and self.opening.tag:
            self.series = Series(self.opening)

    def add(self, source: str, html: str = "") -> None:
        """Puts a block at its end."""
        self.size += len(source)
        self._sources.append(source)
        self._blocks.append(html)

    def add_unit(self, source: str, unit: Unit) -> None:
        """Puts an item or row at the end of the list or table that it ends in."""
        assert self.series is not None, "the list or table was begun"
        self.size += len(source)
        self._sources.append(source)
        self.series.add(unit)

    def end_series(self) -> None:
        """Ends the list or table that it ends in; another block follows."""
        self._blocks.append(self.html_of_series())
        self.series = None

    def html_of_series(self, more: Sequence[Unit] = ()) -> str:
        """The list or table that it ends in, if it does."""
        return self.series.html(more) if self.series else ""

    @property
    def text(self) -> str:
        """Its Markdown."""
        return "".join(self._sources)

    @property
    def settled(self) -> str:
        """Its blocks as they were rendered when they were put here, without the list or table that may go on."""
        return "".join(self._blocks)

    @property
    def html(self) -> str:
        """All of it as it was rendered when it was put here."""
        return self.settled + self.html_of_series()

    @property
    def may_have_links(self) -> bool:
        """Whether it could look otherwise if it were known where links lead."""
        return "[" in self.text or (self.opening is not None and "[" in self.opening.source)

    def rendered(self, links: Links) -> str:
        """The whole of it rendered anew."""
        return more_html(self.text, links, self.opening) if self.opening else to_html(self.text, links)


class GrowingMarkdown:
    """The pages of a text that comes in pieces.

    Joined, they are the same as the whole text rendered at once, however it was cut into pieces, with these
    exceptions. Code between fences that goes over several pages is a code block on each, coloured for itself. A list
    is a list on each, whose items are numbered on, and tight or loose as the part of it there is by itself; a table is
    one with the same head on each. A formula between ``$$`` that is longer than 20,000 characters may stay text.

    One item of a list, one paragraph or quotation, and a table of more than 32 columns are never divided, and are
    parsed again with each update while they grow.

    Args:
        page: Characters after which a page is closed, at the end of the block, item or row that goes beyond them.
    """

    def __init__(self, page: int = PAGE) -> None:
        self.pages = [Page()]
        self._page = page
        self._pieces: list[str] = []
        self._rest = ""
        self._opening: Opening | None = None
        self._half_line_end = False
        self._links: Links = {}

    def add(self, piece: str) -> None:
        """Takes the next piece; costs nothing until ``advance``."""
        self._pieces.append(piece)

    def advance(self) -> None:
        """Moves what has become certain into pages."""
        come = self._come()
        self._rest += come
        if "\n" in come:
            self._settle()

    def shown(self, number: int) -> tuple[str, str]:
        """A page as it stands: its Markdown and its HTML; the last page with what may still change."""
        page = self.pages[number]
        if page is not self.pages[-1]:
            return page.text, page.html
        if not self._rest:
            return page.text, page.html
        blocks = parsed(self._rest, self._links, self._opening).blocks
        html = page.settled
        if page.series:
            html += page.html_of_series(blocks[0].units)
            blocks = blocks[1:]
        return page.text + self._rest, html + "".join(block.html for block in blocks)

    def finish(self) -> list[tuple[str, str]]:
        """The pages when nothing more comes: Markdown and HTML of each that has any."""
        self.advance()
        if self._half_line_end:
            self._rest += "\n"
            self._half_line_end = False
        links = parsed(self._rest, self._links, self._opening).links
        last = self.pages[-1]
        last.add(self._rest)
        self._rest = ""
        # A link may be defined after the page that uses it.
        anew = [page is last or (links and page.may_have_links) for page in self.pages]
        return [
            (page.text, page.rendered(links) if again else page.html)
            for page, again in zip(self.pages, anew, strict=True)
            if page.size
        ]

    def _come(self) -> str:
        come = "".join(self._pieces)
        self._pieces.clear()
        if self._half_line_end:
            come = f"\r{come}"
        self._half_line_end = come.endswith("\r")  # the other half may come with the next piece
        return _LINE_ENDS.sub("\n", come.removesuffix("\r"))

    def _settle(self) -> None:
        # A line that is not complete may become anything, and so change what the lines before it are.
        end = self._rest.rfind("\n") + 1
        opening = self._opening
        lines = _lines((opening.source if opening else "") + self._rest[:end])
        text = parsed(self._rest[:end], self._links, opening)
        if not text.blocks:
            return
        border = _border(text, lines)
        settled = [block for block in text.blocks if block.end <= border]
        held = text.blocks[len(settled) :]
        border = min(border, held[0].first)
        begin = opening.height if opening else 0
        for block, following in zip(settled, [*(block.first for block in settled[1:]), border], strict=False):
            if self.pages[-1].series or len(block.units) > 1:
                self._fill_units(block, block.units, lines, (begin, following))
                self.pages[-1].end_series()
                self._turn_page()
            else:
                self._fill("".join(lines[begin:following]), block.html)
            begin = following
            self._opening = None
        first = held[0]
        if first.first == border and first.is_open_code and len(held) == 1:
            begin = self._cut_code(lines, border, begin)
        elif first.first == border and (self.pages[-1].series or len(first.units) > 1):
            begin = self._cut_series(first, lines, begin)
            border = max(border, begin)
        defined = {name for _, last, name in text.definitions if last <= border}
        self._links = {name: link for name, link in text.links.items() if name in self._links or name in defined}
        self._rest = "".join(lines[begin:]) + self._rest[end:]

    def _cut_code(self, lines: list[str], fence: int, begin: int) -> int:
        """Fills pages from a code block that is still open; returns the line that the rest begins with."""
        opening = Opening(lines[fence])
        size = 0
        # The last line stays, so that the block is never empty on the page that goes on with it.
        for number in range(fence + 1, len(lines) - 1):
            size += len(lines[number])
            if size > self._page:
                source = "".join(lines[begin : number + 1])
                html = more_html(source, self._links, self._opening) if self._opening else to_html(source)
                self._fill(source, html, opening)
                self._opening = opening
                begin, size = number + 1, 0
        return begin

    def _cut_series(self, block: Block, lines: list[str], begin: int) -> int:
        """Fills pages from a list or table that is still open; returns the line that the rest begins with."""
        # The last item or row may still change, and so may all that a formula would swallow.
        formula = _open_formula(block, lines)
        certain = [unit for unit, after in pairwise(block.units) if formula is None or after.first <= formula]
        if not certain:
            return begin
        following = block.units[len(certain)].first
        self._fill_units(block, certain, lines, (begin, following))
        series = self.pages[-1].series
        self._opening = series.going_on if series else None
        return following

    def _fill_units(self, block: Block, units: Sequence[Unit], lines: list[str], place: tuple[int, int]) -> None:
        begin, end = place
        if self.pages[-1].series is None:
            self.pages[-1].add("".join(lines[begin : units[0].first]))
            self.pages[-1].series = Series(block.opening(lines))
            begin = units[0].first
        if not units:  # what began as one became a formula
            self.pages[-1].add("".join(lines[begin:end]))
        for unit, following in zip(units, [*(unit.first for unit in units[1:]), end], strict=True):
            self.pages[-1].add_unit("".join(lines[begin:following]), unit)
            begin = following
            if unit is not block.units[-1]:
                self._turn_page()

    def _fill(self, source: str, html: str, opening: Opening | None = None) -> None:
        self.pages[-1].add(source, html)
        self._turn_page(opening)

    def _turn_page(self, opening: Opening | None = None) -> None:
        page = self.pages[-1]
        if page.size > self._page:
            self.pages.append(Page(page.series.going_on if page.series else opening))


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]]


def _border(text: Parsed, lines: list[str]) -> int:
    """The line before which nothing can change any more, whatever follows.

    That is where the last block begins, or the first one that a ``$$`` still to come would swallow.
    """
    last = next((block for block in text.blocks[:-1] if _open_formula(block, lines) is not None), text.blocks[-1])
    border = last.first
    if not last.ends_what_is_before:  # it may also be the title of the definition right before it
        ends = {end: first for first, end, _ in text.definitions}
        while border in ends:
            border = ends[border]
    return border


def _open_formula(block: Block, lines: list[str]) -> int | None:
    """The first line of the block where a formula may begin that is still open, and not too long to be one."""
    return next((line for line in block.formulas if sum(map(len, lines[line:])) <= _LONGEST_OPEN_FORMULA), None)
