"""Making a model's Markdown harmless to the page that shows it.

JupyterLab trusts the output of cells that its user ran, and so runs what HTML in Markdown asks for. What a
model writes may be what a web page or a file told it to write; so HTML in it is shown as text, and links
lead nowhere but to addresses. Code blocks stay as they are: nothing in them is HTML.
"""

from __future__ import annotations

import re

# Invisible, and enough that a browser sees no tag in "<" and no scheme in "javascript".
_JOINER = "\u2060"
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]+>)")
_SCRIPT_SCHEME = re.compile(r"(?i)\b(java|vb)(?=\s*script\s*[:&])|\b(dat)(?=a\s*:\s*\w+/)")
_LINK_TARGET = re.compile(r"\][(:][^)\n]*")
# Only at the very start of a line: anywhere else, what looks like a fence may end sooner than it seems.
_OPENING = re.compile(r"(`{3,})[^`]*$|(~{3,})")


def harmless(text: str) -> str:
    """Markdown that looks the same and does nothing but look."""
    lines = []
    fence = ""
    for line in text.split("\n"):
        if fence:
            if re.match(rf" {{0,3}}{re.escape(fence)}[`~]*\s*$", line):
                fence = ""
            lines.append(line)
        elif opening := _OPENING.match(line):
            fence = opening[1] or opening[2]
            # What follows the fence is the code's language; nothing else belongs there.
            lines.append(fence + re.sub(r"[^\w+#.\- ]", "", line[len(fence) :]))
        else:
            lines.append(_harmless_line(line))
    return "\n".join(lines)


def _harmless_line(line: str) -> str:
    line = _LINK_TARGET.sub(lambda match: re.sub(r"&(?!amp;)", "&amp;", match[0]), line)
    line = _SCRIPT_SCHEME.sub(lambda match: match[0] + _JOINER, line)
    return _TAG.sub("<" + _JOINER, line)
