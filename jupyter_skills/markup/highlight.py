"""Code in the colours of the page that shows it, whether that is light or dark.

The colours are the page's own variables: those of JupyterLab's editor, else those of VS Code. Where a page has
neither, each falls back on one of middling brightness, which can be read on white and on black.
"""

from __future__ import annotations

from functools import cache
from html import escape
from itertools import groupby

from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

_LEXERS = {"shell": "bash"}  # what events call it


def _style(lab: str, vs_code: str, otherwise: str, more: str = "") -> str:
    return f"color:var(--jp-{lab},var(--vscode-{vs_code},{otherwise})){more}"


_KEYWORD = _style("mirror-editor-keyword-color", "debugTokenExpression-name", "#2a8a2a", ";font-weight:bold")
_BUILTIN = _style("mirror-editor-builtin-color", "debugTokenExpression-boolean", "#17868c")
_STRING = _style("mirror-editor-string-color", "debugTokenExpression-string", "#d0433a")
_NUMBER = _style("mirror-editor-number-color", "debugTokenExpression-number", "#0f8a5f")
_COMMENT = _style("mirror-editor-comment-color", "descriptionForeground", "#7a7a7a", ";font-style:italic")
_DEFINED = _style("mirror-editor-def-color", "symbolIcon-functionForeground", "#2f7bd9")
_META = _style("mirror-editor-meta-color", "symbolIcon-eventForeground", "#a34fd0")

# What is not here is shown as the text around it: each span costs a hundred characters, in every update.
STYLES: dict[_TokenType, str] = {
    Comment: _COMMENT,
    Comment.Preproc: _META,
    Keyword: _KEYWORD,
    Keyword.Constant: _BUILTIN,
    Keyword.Type: _BUILTIN,
    Operator.Word: _KEYWORD,
    Literal: _STRING,
    String: _STRING,
    Number: _NUMBER,
    Name.Builtin: _BUILTIN,
    Name.Exception: _BUILTIN,
    Name.Class: _DEFINED,
    Name.Function: _DEFINED,
    Name.Decorator: _META,
    Name.Tag: _KEYWORD,
    Name.Attribute: _DEFINED,
    Generic.Deleted: _STRING,
    Generic.Inserted: _NUMBER,
    Generic.Heading: _DEFINED,
    Generic.Subheading: _DEFINED,
}


def coloured(code: str, language: str) -> str:
    """Code as HTML for a ``<pre>``, with nothing in it but text and spans.

    Args:
        code: The code.
        language: Any of Pygments' names for its language; of an unknown one nothing is coloured.
    """
    lexer = _lexer(_LEXERS.get(language, language))
    if lexer is None:
        return escape(code, quote=False)
    parts = []
    for style, tokens in groupby(lexer.get_tokens(code), key=lambda token: _style_of(token[0])):
        text = escape("".join(value for _, value in tokens), quote=False)
        parts.append(f'<span style="{style}">{text}</span>' if style else text)
    return "".join(parts)


def coloured_for_terminal(code: str, language: str) -> str:
    """Code with the colours of a terminal; each line ends in the colour that it began with.

    Args:
        code: The code, without control characters.
        language: As for ``coloured``.
    """
    lexer = _lexer(_LEXERS.get(language, language))
    return code if lexer is None else str(highlight(code, lexer, TerminalFormatter()))


@cache
def _style_of(kind: _TokenType) -> str:
    """The style of a kind of token, or of the nearest kind above it that has one."""
    while kind not in STYLES and kind.parent is not None:
        kind = kind.parent
    return STYLES.get(kind, "")


@cache
def _known_lexer(language: str) -> Lexer:
    # Blank lines at either end belong to the code.
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


def _lexer(language: str) -> Lexer | None:
    try:
        return _known_lexer(language)
    except ClassNotFound:
        return None
