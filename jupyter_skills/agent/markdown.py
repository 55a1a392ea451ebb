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


def to_html(text: str) -> str:
    """Renders Markdown: CommonMark with tables, and formulas between dollars for the page to typeset."""
    return str(_parser().render(text))


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
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True, noclasses=True, nobackground=True)))
