"""A model's Markdown as HTML that does nothing but look.

JupyterLab trusts the output of cells that its user ran, and so runs what HTML in their Markdown asks for.
What a model writes may be what a web page or a file told it to write. So it is rendered here, where HTML in
it is text, links lead nowhere but to addresses, and pictures, which a page would fetch at once, are links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Links = Mapping[str, Any]
"""Where the links of a text lead that are defined elsewhere in it, as the parser keeps them."""


@dataclass(frozen=True)
class Block:
    """One of the blocks that a text consists of: a paragraph, a whole list, a table.

    Args:
        first: Its first line, counted from 0.
        end: The line after its last one.
        tokens: What the parser made of it.
    """

    first: int
    end: int
    tokens: Sequence[Token]

    @property
    def html(self) -> str:
        """The block alone."""
        parser = _parser()
        return str(parser.renderer.render(self.tokens, parser.options, {}))

    @property
    def is_open_code(self) -> bool:
        """Whether it is code between fences whose closing fence is missing so far."""
        token = self.tokens[0]
        return token.type == "fence" and token.content.count("\n") == self.end - self.first - 1

    @property
    def may_become_formula(self) -> bool:
        """Whether it begins, or something within it begins, a formula whose closing ``$$`` is missing so far."""
        return any(
            token.type == "inline"
            and token.content.startswith("$$")
            and (before.type == "paragraph_open" or before.markup in ("=", "-"))
            and "$$" not in token.content.partition("\n")[0][2:]
            for before, token in pairwise(self.tokens)
        )


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


def to_html(text: str, links: Links | None = None) -> str:
    """Renders Markdown: CommonMark with tables, and formulas between dollars for the page to typeset.

    Args:
        text: The Markdown.
        links: Definitions of links that stand elsewhere.
    """
    return str(_parser().render(text, {"references": dict(links or {})}))


def parsed(text: str, links: Links) -> Parsed:
    """Takes Markdown apart.

    Args:
        text: The Markdown.
        links: Definitions of links that stand before it.
    """
    env: dict[str, Any] = {"references": dict(links)}
    tokens = _parser().parse(text, env)
    blocks = []
    begin = 0
    for number, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            lines = tokens[begin].map
            assert lines is not None, "every block knows its lines"
            blocks.append(Block(lines[0], lines[1], tokens[begin : number + 1]))
            begin = number + 1
    new = [(name, link) for name, link in env["references"].items() if name not in links]
    new += [(link["label"], link) for link in env.get("duplicate_refs", ())]
    return Parsed(blocks, env["references"], [(*link["map"], name) for name, link in new])


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    parser = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, renderer=_formula, double_inline=True)
    parser.add_render_rule("image", _link_to_picture)
    return parser


def _formula(content: str, options: Mapping[str, Any]) -> str:
    mark = "$$" if options["display_mode"] else "$"
    return escape(f"{mark}{content}{mark}")


def _link_to_picture(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    name = renderer.renderInlineAsText(token.children, options, env) or token.attrs["src"]
    return f'<a href="{escape(token.attrs["src"])}">{escape(name)}</a>'


def _coloured(code: str, language: str, _: Any) -> str:
    from jupyter_skills.agent.highlight import coloured

    return coloured(code, language)
