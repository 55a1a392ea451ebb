"""Making a model's Markdown harmless to the page that shows it.

JupyterLab trusts the output of cells that its user ran, and so runs what HTML in Markdown asks for. What a
model writes may be what a web page or a file told it to write; so HTML in it is shown as text, and links
lead nowhere but to addresses. Code blocks stay as they are: nothing in them is HTML.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Invisible, and enough that a browser sees no tag in "<" and no scheme in "javascript".
_JOINER = "\u2060"
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]+>)")
_SCRIPT_SCHEME = re.compile(r"(?i)\b(java|vb)(?=\s*script\s*[:&])|\b(dat)(?=a\s*:\s*\w+/)")
_LINK_TARGET = re.compile(r"\][(:][^)\n]*")
_NOT_IN_LANGUAGE = re.compile(r"[^\w+#.\- ]")


def harmless(text: str) -> str:
    """Markdown that looks the same and does nothing but look."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    code: set[int] = set()
    for token in _parser().parse("\n".join(lines)):
        # Only fences at the very start of a line: in a list or a quotation one may end sooner than it seems.
        if token.type == "fence" and token.level == 0 and token.map and lines[token.map[0]].startswith(token.markup):
            first, end = token.map
            code |= set(range(first, end))
            lines[first] = token.markup + _NOT_IN_LANGUAGE.sub("", token.info)
    return "\n".join(line if number in code else _harmless_line(line) for number, line in enumerate(lines))


def _harmless_line(line: str) -> str:
    line = _LINK_TARGET.sub(lambda match: re.sub(r"&(?!amp;)", "&amp;", match[0]), line)
    line = _SCRIPT_SCHEME.sub(lambda match: match[0] + _JOINER, line)
    return _TAG.sub("<" + _JOINER, line)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
