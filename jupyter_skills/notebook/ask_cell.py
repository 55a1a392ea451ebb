"""One ``%%ask``: from what was typed to what is shown and bound."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from functools import partial
from keyword import iskeyword
from typing import TYPE_CHECKING

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.ask import ask
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import CallFinished, Ended, Event, Notice
from jupyter_skills.agent.router import Router
from jupyter_skills.context.described import describe
from jupyter_skills.context.interpolation import interpolated
from jupyter_skills.context.parts import Part
from jupyter_skills.context.secrets import Redactor
from jupyter_skills.errors import UsageProblem
from jupyter_skills.notebook import crossing
from jupyter_skills.notebook.interrupt import blocking
from jupyter_skills.notebook.places import Places
from jupyter_skills.notebook.render import renderer_for
from jupyter_skills.rendering.saving import save

if TYPE_CHECKING:
    from jupyter_skills.notebook.session import Session

# IPython's own; without them no cell runs any more.
_TAKEN = ("get_ipython", "exit", "quit")


class AskCell:
    """What one ``%%ask`` asks for.

    Args:
        session: The notebook it stands in.
        options: What stood on its first line.
        text: The prompt as it was typed.
    """

    def __init__(self, session: Session, options: argparse.Namespace, text: str) -> None:
        self._session = session
        self._options = options
        self._text = text
        self._renderer = renderer_for(session.shell)
        self._redactor = Redactor.of(os.environ, session.shell.user_ns)
        self._began = time.monotonic()
        self._ended = False

    async def run(self) -> None:
        """Asks, shows what comes, and binds it.

        Raises:
            SkillsError: Something went wrong, or was stopped; what there is until then is shown, kept and bound.
        """
        if self._options.output:
            _check_name(self._options.output)
        try:
            await self._run()
        finally:
            if self._options.output and not self._ended:  # that of an earlier cell would pass for this one's
                self._bind(Answer("", self._options.model or "", "failed"))

    async def _run(self) -> None:
        session, options = self._session, self._options
        skills, broken = session.skills_for(options.skill, load=not options.dry_run)
        router = Places(session, consent_given=options.yes).router(options.run, skills)
        self._check_place(router)
        with session.shown_by(self._renderer):
            for notice in (session.news(), *map(str, broken)):
                if notice:
                    self._emit(Notice(notice))
            prompt = [*self._news(), *self._prompt()]
            old = session.conversation
            conversation = Conversation() if options.new or old is None else old
            try:
                await ask(
                    prompt,
                    skills=skills,
                    model=options.model,
                    run=options.run,
                    system="\n\n".join(filter(None, (await self._sent(), options.system))),
                    attach=options.attach,
                    max_steps=options.max_steps,
                    max_cost=options.max_cost,
                    timeout=options.timeout,
                    stream=not options.no_stream,
                    dry_run=options.dry_run,
                    conversation=conversation,
                    router=router,
                    redactor=self._redactor,
                    emit=self._emit,
                    keep=partial(save, base=session.folder),
                    settings=session.settings,
                )
            finally:
                if len(conversation):  # a prompt that got no answer leaves the old conversation in place
                    session.conversation = conversation
        if options.get and not options.dry_run:
            await self._fetch(options.get)

    def _check_place(self, router: Router) -> None:
        options = self._options
        place = router.default.place if router.default else "off"
        if place != "docker" and (options.send or options.get):
            raise UsageProblem(f"--send and --get need the sandbox, and code runs in '{place}' here", "Say '-r docker'")
        if place == "docker" and not options.dry_run:
            self._session.sandbox.prepare()

    def _prompt(self) -> Sequence[Part]:
        shell = self._session.shell

        with blocking():  # the user's own code: an interrupt stops it as anywhere else
            parts, notices = interpolated(self._text, shell.ev, partial(describe, redact=self._redactor.redact))
        for notice in notices:
            self._emit(Notice(notice))
        return parts

    def _news(self) -> list[Part]:
        """What the user has done with the model's code since the last prompt; it stands before this one."""
        news = "\n".join(filter(None, (self._session.edits.news(), *self._session.untold)))
        return [f"[{self._redactor.redact(news)}]\n\n"] if news else []

    async def _sent(self) -> str:
        """What ``--send`` has put into the container, for the model."""
        options, session = self._options, self._session
        if not options.send or options.dry_run:
            return ""
        sent = await crossing.send(session.sandbox, session.shell.user_ns, options.send)
        return f"The user has put into the container: {', '.join(sent)}."

    async def _fetch(self, names: Sequence[str]) -> None:
        variables, saved = await crossing.fetch(self._session.sandbox, names)
        self._session.shell.push(variables)
        for path in saved:
            print(f"Saved {path}.")  # noqa: T201 -- the answer to --get

    def _emit(self, event: Event) -> None:
        if isinstance(event, Ended):
            self._end(event.answer)
            return
        if isinstance(event, CallFinished) and event.execution is not None:
            self._redactor.learn(os.environ, self._session.shell.user_ns)  # code may have read keys from a file
        self._renderer.show(event)

    def _end(self, answer: Answer) -> None:
        self._ended = True
        if answer.messages and answer.finish_reason != "dry_run":
            self._session.edits.told()
            self._session.untold.clear()
        self._session.note(answer)
        if self._options.output:
            self._bind(answer)
        if answer.finish_reason == "failed":
            self._renderer.settle()  # the error itself comes after it
        else:
            self._renderer.finish(answer, time.monotonic() - self._began)

    def _bind(self, answer: Answer) -> None:
        self._session.shell.push({self._options.output: answer})


def _check_name(name: str) -> None:
    if not name.isidentifier() or iskeyword(name) or name.startswith("__") or name in _TAKEN:
        raise UsageProblem(f"'{name}' can't be the name of a variable", "Give another with -o")
