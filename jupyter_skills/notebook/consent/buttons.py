"""Buttons that a cell awaits.

A click reaches a cell that awaits on ipykernel 7.4 and later, and on those before it where the frontend sends comms to
subshells. Whether it does here is not known from any version: it is tried. Beside the buttons there is a widget that
nobody sees and that counts its views, so a page that has shown it reports that by itself, on the way that a click would
take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.approval.request import GRANTING, ApprovalRequest, Choice, Decision, reason_of
from jupyter_skills.notebook.consent import card
from jupyter_skills.notebook.consent.facts import Facts
from jupyter_skills.notebook.render.place import Bundle

# A page that has never shown a widget loads the code for them first: that took JupyterLab up to 1.5 s on a slow
# machine. Nobody has read a question in much less than that, so little is lost where the report never comes.
REPORT_WITHIN = 3.0
# JupyterLab sends the first report while it is still making the subshell for what follows, so that on ipykernel before
# 7.4 it arrives with the end of the cell only. Each widget reports once; another one is asked after this time.
_REPORT_AGAIN = 0.4
# What was typed into the field comes when it loses the focus, or with Enter; it may be on its way for that long.
_SETTLING = 0.15
_VALUE_WITHIN = 1.0


class Buttons:
    """The buttons of one question.

    Args:
        request: What is asked for.
        facts: What is shown above them.

    Raises:
        ImportError: There are no ipywidgets.
    """

    def __init__(self, request: ApprovalRequest, facts: Facts) -> None:
        self._request = request
        self._facts = facts
        self._loop = asyncio.get_running_loop()
        self._shown: asyncio.Future[None] = self._loop.create_future()
        self._chosen: asyncio.Future[Choice] = self._loop.create_future()
        self._widgets: list[Any] = []
        self._entered_until = 0.0
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        import ipywidgets  # type: ignore[import-untyped]

        request, facts = self._request, self._facts
        self._reason = self._made(
            ipywidgets.Text,
            placeholder="a word of why, for the model",
            continuous_update=False,  # else most of what is typed fast is held back until the page hears from us
            layout={"width": "22em", "margin": "2px"},
        )
        self._reason.on_msg(self._entered)
        self._reason.observe(lambda _: self._decline_if_entered(), "value")
        first = [self._button("Run", "run", "Run it once, now", "primary")]
        first.append(
            self._button(
                "Run, and don't ask again for exactly this code", "code", "Until this kernel ends, or one byte changes"
            )
        )
        if request.skill:
            first.append(
                self._button(
                    f"Allow {request.skill} in this session", "skill", "All tools of the skill as its files are now"
                )
            )
        first.append(self._button("Edit in a cell below", "edit", "Nothing runs; the code is yours to change and run"))
        last = [self._button("Decline", "decline", "Nothing runs; the model is told, with your reason"), self._reason]
        wrap = {"flex_flow": "row wrap", "margin": "4px 0 0 -2px"}
        self._box = self._made(
            ipywidgets.VBox,
            [
                self._made(ipywidgets.HTML, card.html(facts, framed=False), layout={"margin": "0"}),
                self._made(ipywidgets.HBox, first, layout=wrap),
                self._made(ipywidgets.HBox, last, layout=wrap),
            ],
            layout={"border_left": card.edge(facts), "padding": "4px 12px", "margin": "2px 0"},
        )
        self._add_witness()

    def bundle(self, shell: InteractiveShell) -> Bundle:
        """The output that shows them, and all they are about as text for frontends without widgets."""
        assert shell.display_formatter is not None
        bundle, _ = shell.display_formatter.format(self._box)
        return {**bundle, "text/plain": self._facts.text}

    async def reported(self) -> bool:
        """Whether a page has shown them, and said so in time."""
        give_up = self._loop.time() + REPORT_WITHIN
        while not (self._shown.done() or self._chosen.done()):
            left = give_up - self._loop.time()
            if left <= 0:
                return False
            await asyncio.wait(
                (self._shown, self._chosen), timeout=min(left, _REPORT_AGAIN), return_when=asyncio.FIRST_COMPLETED
            )
            if not (self._shown.done() or self._chosen.done()):
                self._add_witness()
        return True

    async def decision(self) -> Decision:
        """What is chosen, however long that takes."""
        choice = await self._chosen
        reason = ""
        if choice == "decline":
            await asyncio.sleep(_SETTLING)
            reason = reason_of(str(self._reason.value))
        skill = self._request.skill if choice == "skill" else ""
        return Decision(choice in GRANTING, "user", self._request.digest, choice, reason, "by button", skill)

    def close(self) -> None:
        """Ends them: what a page may still send of them finds nobody."""
        for future in (self._shown, self._chosen):
            future.cancel()
        for widget in reversed(self._widgets):
            widget.close()

    def _made(self, kind: Callable[..., Any], *values: Any, **named: Any) -> Any:
        widget = kind(*values, **named)
        self._widgets.append(widget)
        # Each has models of its own for these, which stay open otherwise.
        self._widgets += [part for name in ("layout", "style") if (part := getattr(widget, name, None)) is not None]
        return widget

    def _add_witness(self) -> None:
        """Adds a widget that reports when it is shown."""
        import ipywidgets

        witness = self._made(ipywidgets.Box, (), layout={"display": "none"}, _view_count=0)
        witness.observe(lambda change: self._tell(self._shown, None) if change["new"] else None, "_view_count")
        self._box.children = (*self._box.children, witness)

    def _button(self, words: str, choice: Choice, tooltip: str, style: str = "") -> Any:
        import ipywidgets

        layout = {"width": "auto", "margin": "2px"}
        button = self._made(ipywidgets.Button, description=words, tooltip=tooltip, button_style=style, layout=layout)
        button.on_click(lambda _: self._tell(self._chosen, choice))
        return button

    def _entered(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Enter in the field declines, if there is a reason in it. A page sends what stands there after the key."""
        if isinstance(content, dict) and content.get("event") == "submit":
            self._entered_until = self._loop.time() + _VALUE_WITHIN
            self._decline_if_entered()

    def _decline_if_entered(self) -> None:
        if self._loop.time() < self._entered_until and str(self._reason.value).strip():
            self._tell(self._chosen, "decline")

    def _tell(self, future: asyncio.Future[Any], value: object) -> None:
        """Called on whatever thread the kernel hears the page on."""

        def set_result() -> None:
            if not future.done():
                future.set_result(value)

        self._loop.call_soon_threadsafe(set_result)
