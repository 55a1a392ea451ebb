"""The question as HTML, and the one line that stands in its place afterwards."""

from __future__ import annotations

from html import escape

from jupyter_skills.approval.request import Decision
from jupyter_skills.notebook.consent.facts import Facts
from jupyter_skills.notebook.render.card import dim
from jupyter_skills.notebook.render.place import Bundle

# The page's own colours where there are any, so that the card is at home in light and dark themes.
_INK = "color:var(--jp-content-font-color1,var(--vscode-foreground,inherit))"
_DIM = "color:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#7a7a7a))"
_FONT = "font-family:var(--jp-ui-font-family,sans-serif);font-size:var(--jp-ui-font-size1,13px);line-height:1.5"
_CODE = "font-family:var(--jp-code-font-family,monospace);font-size:95%"
_CALM = "var(--jp-brand-color1,#1976d2)"
_ALERT = "var(--jp-warn-color1,#e65100)"
_KINDS = ("reads", "changes", "binds", "deletes", "arguments")  # whose items are code

WITHDRAWN = "This page does not say that it shows buttons, so please type your answer."


def edge(facts: Facts) -> str:
    """The line at the left of the card, as CSS has borders."""
    return f"3px solid {_ALERT if facts.risks else _CALM}"


def html(facts: Facts, note: str = "", *, framed: bool = True) -> str:
    """What a person is told, without anything that acts.

    Args:
        facts: What it is.
        note: A last line.
        framed: Whether it has an edge of its own.
    """
    parts = [f'<div style="font-weight:600">{escape(facts.question)}</div>']
    parts += [f'<div style="margin-top:4px">{_mark()}{escape(risk)}</div>' for risk in facts.risks]
    rows = "".join(_row(kind, items) for kind, items in facts.rows)
    parts.append(f'<div style="margin-top:6px">{rows}</div>')
    if note:
        parts.append(f'<div style="{_DIM};margin-top:6px">{escape(note)}</div>')
    frame = f"border-left:{edge(facts)};padding:4px 12px;margin:2px 0" if framed else ""
    return f'<div style="{_FONT};{_INK};overflow-wrap:anywhere;{frame}">{"".join(parts)}</div>'


def line(decision: Decision | None, *, skill: str = "") -> str:
    """What became of the question, in a line.

    Args:
        decision: The answer; None if there was none.
        skill: The skill whose tool it was about.
    """
    if decision is None:
        return "No answer: it did not run."
    match decision.choice:
        case "code":
            return "Run, by your consent; exactly this code will not be asked about again in this session."
        case "skill":
            return f"Run, by your consent; the skill {skill} will not be asked about again in this session."
        case "edit":
            return "Not run: taken into a cell of your own."
        case "decline":
            return f"Declined: {decision.reason}" if decision.reason else "Declined."
        case _:
            return "Run, by your consent."


def line_bundle(text: str) -> Bundle:
    """A line as an output."""
    return {"text/html": dim(text), "text/plain": text}


def _mark() -> str:
    return f'<span style="color:{_ALERT};font-weight:600" role="img" aria-label="Risk">⚠</span> '


def _row(kind: str, items: tuple[str, ...]) -> str:
    style = f' style="{_CODE}"' if kind in _KINDS else ""
    cells = "".join(f"<div{style}>{escape(item)}</div>" for item in items)
    return (
        f'<div style="display:flex;gap:10px"><div style="{_DIM};flex:0 0 6em">{escape(kind)}</div>'
        f'<div style="flex:1;min-width:0">{cells}</div></div>'
    )
