"""The HTML of tool calls and files. Everything from models and code is escaped; nothing needs a script or a widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from urllib.parse import quote

from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.execution.result import Change, GeneratedFile
from jupyter_skills.markup.highlight import coloured
from jupyter_skills.rendering.words import (
    MOST_CHANGES,
    call_output,
    call_state,
    call_title,
    change_lines,
    file_size,
)
from jupyter_skills.words import plain

# The page's own colours where there are any, so that cards are at home in light and dark themes. Code stands on the
# ground that the colours in markup/highlight.py were chosen for: that of the page's editor.
_DIM = "color:var(--jp-ui-font-color2,#7a7a7a);font-size:90%"
_FRAME = "border-left:3px solid var(--jp-border-color1,#bbb);padding:2px 10px;margin:2px 0"
_PRE = (
    "margin:4px 0;padding:6px 8px;overflow:auto;max-height:30em;white-space:pre-wrap;font-size:90%;"
    "background:var(--jp-cell-editor-background,var(--vscode-textCodeBlock-background,rgba(127,127,127,.1)));"
    "color:var(--jp-content-font-color1,inherit)"
)
_TABLE = f"{_DIM};margin:4px 0;border-collapse:collapse;border:none"
_CELL = "text-align:left;padding:1px 14px 1px 0;border:none;white-space:normal;vertical-align:top"
LONGEST_OUTPUT = 20_000
"""Of longer output only the end is shown; code is shown whole, for it may be what is consented to."""


@dataclass(frozen=True)
class CallCard:
    """A tool call, folded: its title and state, then its code and its output.

    Args:
        call: The call.
        timed: Whether to say how long its code took.
        error_apart: Whether an error that can be shown as IPython shows it is shown below the card, not in it.
    """

    call: CallStarted
    timed: bool = False
    error_apart: bool = False

    def html(self, doing: str, output: str, done: CallFinished | None, *, opened: bool = False) -> str:
        """The card as it looks now.

        Args:
            doing: What is waited for now, if not simply for its end.
            output: What it printed so far; once it is done, ``done`` has all of it.
            done: How it ended; None while it runs.
            opened: Whether to show it unfolded.
        """
        edited = done is not None and done.execution is not None and done.execution.outcome == "edited"
        bad = done is not None and not done.ok and not edited
        text = self._output(done) if done is not None else output
        mark = "✗" if bad else "✓" if done is not None and not edited else "▸"
        title = f"{mark} {escape(self._title(doing, done))}"
        inside = self._code_html
        if text:
            inside += f'<pre style="{_PRE}">{escape(text[-LONGEST_OUTPUT:])}</pre>'
        if done is not None and done.execution is not None:
            inside += _changes(done.execution.changes)
        if not inside:
            return f'<div style="{_FRAME};{_DIM}">{title}</div>'
        unfolded = " open" if opened or bad else ""
        return (
            f'<details style="{_FRAME}"{unfolded}><summary style="{_DIM};cursor:pointer">{title}</summary>'
            f"{inside}</details>"
        )

    def plain(self, doing: str, done: CallFinished | None) -> str:
        """The same as text, for frontends without HTML."""
        output = self._output(done) if done is not None else ""
        changes = change_lines(done.execution.changes) if done is not None and done.execution is not None else []
        shown = (f"[{self._title(doing, done)}]", self._code.rstrip(), f"→ {output}" if output else "", *changes)
        return "\n".join(filter(None, shown))

    def _output(self, done: CallFinished) -> str:
        apart = self.error_apart and done.execution is not None and done.execution.traceback
        return call_output(done, error=not apart)

    def _title(self, doing: str, done: CallFinished | None) -> str:
        return f"{plain(call_title(self.call))} · {call_state(done, doing, timed=self.timed)}"

    @cached_property
    def _code(self) -> str:
        return plain(self.call.code)

    @cached_property
    def _code_html(self) -> str:
        return listing(self._code, self.call.language) if self._code else ""


def _changes(changes: Sequence[Change]) -> str:
    """A small table of what code did to variables."""
    if not changes:
        return ""
    rows = "".join(
        f'<tr><td style="{_CELL}"><code>{escape(plain(change.name))}</code></td>'
        f'<td style="{_CELL}">{change.happened}</td><td style="{_CELL}">{escape(plain(change.from_to))}</td></tr>'
        for change in changes[:MOST_CHANGES]
    )
    more = len(changes) - MOST_CHANGES
    rest = f'<tr><td style="{_CELL}" colspan="3">… and {more} more</td></tr>' if more > 0 else ""
    return f'<table style="{_TABLE}"><tbody>{rows}{rest}</tbody></table>'


def file_link(file: GeneratedFile) -> str:
    """A link that downloads a file beside the notebook."""
    link = f'<a href="{quote(file.saved_as)}" download="{escape(file.name)}">{escape(file.saved_as)}</a>'
    return f'<div style="{_DIM}">{link} · {file_size(file)}</div>'


def listing(text: str, language: str) -> str:
    """A text in a language, coloured and scrolling."""
    return f'<pre style="{_PRE}">{coloured(plain(text), language)}</pre>'


def dim(text: str) -> str:
    """A line that is no part of the answer."""
    return f'<div style="{_DIM}">{escape(text)}</div>'
