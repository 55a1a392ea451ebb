"""A model's Markdown as HTML that does nothing but look.

JupyterLab trusts the output of cells that its user ran, and so runs what HTML in their Markdown asks for.
What a model writes may be what a web page or a file told it to write. So it is rendered here, where HTML in
it is text, links lead nowhere but to addresses, and pictures, which a page would fetch at once, are links.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

LOOSE = "loose"
"""Under this name an item of a list says whether blank lines stand between its own blocks."""


def to_html(text: str, links: Mapping[str, Any] | None = None) -> str:
    """Renders Markdown: CommonMark with tables, and formulas between dollars for the page to typeset.

    Args:
        text: The Markdown.
        links: Definitions of links that stand elsewhere.
    """
    return str(parser().render(text, {"references": dict(links or {})}))


@cache
def parser() -> MarkdownIt:
    """What takes Markdown apart, and renders it."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    made = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).enable(["table", "strikethrough"])
    made.use(dollarmath_plugin, renderer=_formula, double_inline=True)
    made.add_render_rule("image", _link_to_picture)
    _tell_loose_items(made)
    return made


def _tell_loose_items(made: MarkdownIt) -> None:
    # The parser finds it out for each item, and keeps it only for all of a list.
    tokenize = made.block.tokenize

    def tokenize_and_tell(state: StateBlock, first: int, end: int) -> None:
        within = state.tokens[-1] if state.tokens else None
        tokenize(state, first, end)
        if within is not None and within.type == "list_item_open":
            within.meta[LOOSE] = not state.tight

    setattr(made.block, "tokenize", tokenize_and_tell)  # noqa: B010 -- a method is no variable to the type checker


def _formula(content: str, options: Mapping[str, Any]) -> str:
    mark = "$$" if options["display_mode"] else "$"
    return escape(f"{mark}{content}{mark}")


def _link_to_picture(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    name = renderer.renderInlineAsText(token.children, options, env) or token.attrs["src"]
    return f'<a href="{escape(token.attrs["src"])}">{escape(name)}</a>'


def _coloured(code: str, language: str, _: Any) -> str:
    from jupyter_skills.markup.highlight import coloured

    return coloured(code, language)
