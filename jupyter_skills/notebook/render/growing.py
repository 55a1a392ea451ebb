"""Markdown that grows, cut into pages so that what each update costs does not grow with it.

A page is filled with blocks that nothing can change any more, and is closed when it is long enough. Only what
stands after the last such block is parsed again, when more of the text has come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from jupyter_skills.agent.markdown import Links, Parsed, parsed, to_html

PAGE = 4_000
"""Characters of a page, about."""

# A lone $$ would else hold back all that follows it.
_LONGEST_OPEN_FORMULA = 20_000
_LINE_ENDS = re.compile(r"\r\n?")


@dataclass
class Page:
    """A stretch of the text that is shown in one place.

    Args:
        opener: The line that opened the code block which this page goes on with; empty if it begins with a block.
    """

    opener: str = ""
    size: int = 0
    _sources: list[str] = field(default_factory=list)
    _blocks: list[str] = field(default_factory=list)

    def add(self, source: str, html: str) -> None:
        """Puts a block at its end."""
        self.size += len(source)
        self._sources.append(source)
        self._blocks.append(html)

    @property
    def text(self) -> str:
        """Its Markdown."""
        return "".join(self._sources)

    @property
    def html(self) -> str:
        """Its blocks as they were rendered when they were put here."""
        return "".join(self._blocks)

    def rendered(self, links: Links) -> str:
        """The whole of it rendered anew."""
        return to_html(self.opener + self.text, links)


class GrowingMarkdown:
    """The pages of a text that comes in pieces.

    Joined, they are the same as the whole text rendered at once, however it was cut into pieces, with two
    exceptions: code between fences that goes over several pages is a code block on each, coloured for itself;
    and a formula between ``$$`` that is longer than 20,000 characters may stay text.

    Args:
        page: Characters after which a page is closed, at the end of the block that goes beyond them.
    """

    def __init__(self, page: int = PAGE) -> None:
        self.pages = [Page()]
        self._page = page
        self._pieces: list[str] = []
        self._rest = ""
        self._opener = ""
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
        html = to_html(self._opener + self._rest, self._links) if self._rest else ""
        return page.text + self._rest, page.html + html

    def finish(self) -> list[tuple[str, str]]:
        """The pages when nothing more comes: Markdown and HTML of each that has any."""
        self.advance()
        if self._half_line_end:
            self._rest += "\n"
            self._half_line_end = False
        links = parsed(self._opener + self._rest, self._links).links
        last = self.pages[-1]
        last.add(self._rest, "")
        self._rest = ""
        # A link may be defined after the page that uses it.
        anew = [page is last or (links and "[" in page.text) for page in self.pages]
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
        lines = _lines(self._opener + self._rest[:end])
        text = parsed("".join(lines), self._links)
        if not text.blocks:
            return
        border = _border(text, lines)
        settled = [block for block in text.blocks if block.end <= border]
        held = text.blocks[len(settled) :]
        border = min(border, held[0].first)
        defined = {name for _, last, name in text.definitions if last <= border}
        self._links = {name: link for name, link in text.links.items() if name in self._links or name in defined}
        begin = 1 if self._opener else 0
        for block, following in zip(settled, [*(block.first for block in settled[1:]), border], strict=False):
            self._fill("".join(lines[begin:following]), block.html)
            begin = following
            self._opener = ""
        if len(held) == 1 and held[0].is_open_code and held[0].first == border:
            begin = self._cut_code(lines, border, begin)
        self._rest = "".join(lines[begin:]) + self._rest[end:]

    def _cut_code(self, lines: list[str], fence: int, begin: int) -> int:
        """Fills pages from a code block that is still open; returns the line that the rest begins with."""
        opener = lines[fence]
        size = 0
        # The last line stays, so that the block is never empty on the page that goes on with it.
        for number in range(fence + 1, len(lines) - 1):
            size += len(lines[number])
            if size > self._page:
                source = "".join(lines[begin : number + 1])
                self._fill(source, to_html(self._opener + source), opener)
                self._opener = opener
                begin, size = number + 1, 0
        return begin

    def _fill(self, source: str, html: str, opener: str = "") -> None:
        page = self.pages[-1]
        page.add(source, html)
        if page.size > self._page:
            self.pages.append(Page(opener))


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]]


def _border(text: Parsed, lines: list[str]) -> int:
    """The line before which nothing can change any more, whatever follows.

    That is where the last block begins, or the first one that a ``$$`` still to come would swallow.
    """
    blocks = text.blocks
    last = blocks[-1]
    for block in blocks[:-1]:
        if block.may_become_formula and sum(map(len, lines[block.first :])) <= _LONGEST_OPEN_FORMULA:
            last = block
            break
    border = last.first
    if not last.is_open_code:  # it may also be the title of the definition right before it
        ends = {end: first for first, end, _ in text.definitions}
        while border in ends:
            border = ends[border]
    return border
