"""The HTML of tool calls and files. Everything from models and code is escaped; nothing needs a script or a widget."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from jupyter_skills.agent.events import CallFinished, CallStarted
from jupyter_skills.execution.result import GeneratedFile
from jupyter_skills.rendering.words import call_output, call_state, call_title, file_size
from jupyter_skills.skills.words import plain

# JupyterLab's own colours where there are any, so that cards are at home in light and dark themes.
_DIM = "color:var(--jp-ui-font-color2,#666);font-size:90%"
_FRAME = "border-left:3px solid var(--jp-border-color1,#bbb);padding:2px 10px;margin:2px 0"
_PRE = (
    "margin:4px 0;padding:6px 8px;overflow:auto;max-height:30em;white-space:pre-wrap;font-size:90%;"
    "background:var(--jp-layout-color2,#f5f5f5);color:var(--jp-content-font-color1,#222)"
)
# Of longer output only the end is shown; code is shown whole, for it may be what is consented to.
_LONGEST_SHOWN = 20_000


def call_card(call: CallStarted, doing: str, output: str, done: CallFinished | None, *, opened: bool = False) -> str:
    """A tool call, folded: its title and state, then its code and its output.

    Args:
        call: The call.
        doing: What is being done for it now, if not simply running it.
        output: What it printed so far; once it is done, ``done`` has all of it.
        done: How it ended; None while it runs.
        opened: Whether to show it unfolded.
    """
    bad = done is not None and not done.ok
    text = call_output(done) if done is not None else output
    mark = "✗" if bad else "✓" if done is not None else "▸"
    title = f"{mark} {escape(call_title(call))} · {escape(call_state(done, doing))}"
    inside = ""
    if call.code:
        inside += f'<pre style="{_PRE}">{_coloured(plain(call.code), call.language)}</pre>'
    if text:
        inside += f'<pre style="{_PRE}">{escape(text[-_LONGEST_SHOWN:])}</pre>'
    if not inside:
        return f'<div style="{_FRAME};{_DIM}">{title}</div>'
    unfolded = " open" if opened or bad else ""
    return (
        f'<details style="{_FRAME}"{unfolded}><summary style="{_DIM};cursor:pointer">{title}</summary>'
        f"{inside}</details>"
    )


def plain_card(call: CallStarted, doing: str, done: CallFinished | None) -> str:
    """The same as text, for frontends without HTML."""
    head = f"[{call_title(call)} · {call_state(done, doing)}]"
    output = call_output(done) if done is not None else ""
    return "\n".join(filter(None, (head, plain(call.code).rstrip(), f"→ {output}" if output else "")))


def file_link(file: GeneratedFile) -> str:
    """A link that downloads a file beside the notebook."""
    link = f'<a href="{quote(file.saved_as)}" download="{escape(file.name)}">{escape(file.saved_as)}</a>'
    return f'<div style="{_DIM}">{link} · {file_size(file)}</div>'


def dim(text: str) -> str:
    """A line that is no part of the answer."""
    return f'<div style="{_DIM}">{escape(text)}</div>'


def _coloured(code: str, language: str) -> str:
    # Styles in the elements: a page may hold many cards, and a saved notebook no style sheet of ours.
    formatter = HtmlFormatter(nowrap=True, noclasses=True, nobackground=True)
    lexer = get_lexer_by_name("bash" if language == "shell" else language)
    return str(highlight(code, lexer, formatter))
