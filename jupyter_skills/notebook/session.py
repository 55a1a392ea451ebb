"""What one notebook has: its skills, its conversation, its sandbox. The magics only parse and call this."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.agent.sync import run_now
from jupyter_skills.approval.memory import Consents
from jupyter_skills.errors import SkillProblem, SkillsError, UsageProblem
from jupyter_skills.notebook.arguments import ask_parser, parse_ask
from jupyter_skills.notebook.consent.edits import Edits
from jupyter_skills.notebook.copies import SkillCopies
from jupyter_skills.notebook.log import Logged
from jupyter_skills.sandbox.settings import DockerSandbox, RemoteSandbox
from jupyter_skills.settings import MEGABYTE, JupyterSkills
from jupyter_skills.skills.trust import TrustLedger
from jupyter_skills.store.loaded import Kernel, LoadedSkill
from jupyter_skills.store.location import current_user
from jupyter_skills.store.registry import Registry

if TYPE_CHECKING:
    from jupyter_skills.agent.answer import Answer
    from jupyter_skills.agent.conversation import Conversation
    from jupyter_skills.namespace.history import History
    from jupyter_skills.notebook.consent.person import Person
    from jupyter_skills.rendering import Renderer
    from jupyter_skills.sandbox.kernel import IsolatedKernel


class Session:
    """One notebook's state, as ``get_ipython().jupyter_skills``.

    Args:
        shell: The notebook's shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.settings = JupyterSkills(parent=shell)
        self.limits = DockerSandbox(parent=shell)
        self.remote = RemoteSandbox(parent=shell)
        self.registry = Registry(kernel_of(shell), tell=_warn)
        self.trust = TrustLedger()
        self.copies = SkillCopies()
        self.folder = Path.cwd()  # of the notebook, wherever its code goes later
        self.conversation: Conversation | None = None
        self.last_answer: Answer | None = None
        self.executions: list[Logged] = []
        self.consents = Consents()
        self.edits = Edits(shell)
        self.untold: list[str] = []
        """What the model does not know yet of what the user has done, one sentence each."""
        self._history: History | None = None
        self._sandbox: IsolatedKernel | None = None
        self._renderer: Renderer | None = None
        self._tell: Callable[[str], None] = _keep_quiet
        self._told = ""
        self._busy = False

    async def ask_cell(self, line: str, cell: str) -> None:
        """Runs a ``%%ask`` cell.

        Args:
            line: What stands after ``%%ask``: options, and perhaps the prompt's first words.
            cell: The lines below, which reach the model as they are.

        Raises:
            SkillsError: Something went wrong, and ``--soft`` was not given.
        """
        await self._ask(*parse_ask(line), cell.removesuffix("\n").removesuffix("\r"), "%%ask")

    async def ask_line(self, line: str) -> None:
        """Runs an ``%ask`` line; see ``ask_cell``."""
        await self._ask(*parse_ask(line, "%ask"), "", "%ask")

    def reset(self) -> None:
        """Forgets the conversation."""
        self.conversation = None

    @cached_property
    def person(self) -> Person:
        """Who is asked whether code may run in this kernel."""
        from jupyter_skills.notebook.consent.person import Person

        return Person(self.shell, self._show_waiting)

    @property
    def history(self) -> History:
        """What ``%skill undo`` takes back."""
        from jupyter_skills.namespace.history import History

        memory = self.settings.undo_memory * MEGABYTE
        if self._history is None:
            self._history = History(memory)
        self._history.memory = memory
        return self._history

    @property
    def busy(self) -> bool:
        """Whether a turn is at work."""
        return self._busy

    @property
    def sandbox(self) -> IsolatedKernel:
        """The notebook's isolated kernel; made, but not started, at the first use."""
        if self._sandbox is None:
            from jupyter_skills.models.litellm_sandbox import LitellmSandboxes
            from jupyter_skills.sandbox.kernel import IsolatedKernel
            from jupyter_skills.sandbox.launcher import launcher_for

            self._sandbox = IsolatedKernel(
                self.limits, launcher_for(self.limits, self._sandbox_status, self.remote, LitellmSandboxes)
            )
        return self._sandbox

    async def stop_sandbox(self) -> None:
        """Ends the isolated kernel, if there is one."""
        if self._sandbox is not None:
            await self._sandbox.stop()

    @property
    def sandbox_running(self) -> bool:
        """Whether there is a container now."""
        return self._sandbox is not None and self._sandbox.running

    @property
    def installed(self) -> tuple[str, ...]:
        """What the sandbox has beyond its image, in PEP 508's notation."""
        return self._sandbox.requirements if self._sandbox is not None else ()

    async def _ask(self, options: argparse.Namespace, words: str, cell: str, magic: str) -> None:
        if options.help:
            print(ask_parser(magic).format_help())  # noqa: T201 -- help is what was asked for
            return
        from jupyter_skills.notebook.interrupt import interruptible

        if self._busy:
            raise UsageProblem("Another %%ask is still at work in this notebook", "Wait for it, or interrupt it")
        self._busy = True
        try:
            with interruptible():
                # On a thread, for the first import takes long, and this one must hear an interrupt.
                ask_cell = await asyncio.to_thread(import_module, "jupyter_skills.notebook.ask_cell")
                await ask_cell.AskCell(self, options, "\n".join(filter(None, (words, cell)))).run()
        except SkillsError as error:
            if not options.soft:
                raise
            print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 -- that is what --soft means
        finally:
            self._busy = False

    @contextmanager
    def shown_by(self, renderer: Renderer) -> Iterator[None]:
        """While a turn is shown: a question, or news of the sandbox, concerns its renderer too."""
        self._renderer = renderer
        try:
            yield
        finally:
            renderer.settle()
            self._renderer = None

    def note(self, answer: Answer) -> None:
        """Remembers how a turn ended, for ``%skill why`` and ``%skill log``."""
        number = len(self.shell.user_ns.get("In", ())) - 1  # IPython's own count may be that of the next cell
        self.executions += [Logged(number, time.time(), run) for run in answer.code]
        if answer.shares:
            self.last_answer = answer

    def skills_for(self, names: list[str] | None, *, load: bool = True) -> tuple[list[LoadedSkill], list[SkillProblem]]:
        """The skills for one turn, and what is wrong with loaded ones that have to be left out.

        Args:
            names: Just these, loading them if need be; None for all that are loaded.
            load: Whether those that had to be loaded stay so.

        Raises:
            SkillProblem: One that was named can't be had.
        """
        from jupyter_skills.store.finding import resolve

        if names is None:
            return self.registry.refreshed()
        found = {name: None if name in self.registry else resolve(name) for name in names}  # all or none
        if not load:
            there, broken = self.registry.refreshed([name for name, skill in found.items() if skill is None])
            if broken:
                raise broken[0]  # it was asked for by name
            loaded = {entry.skill.name: entry for entry in there}
            return [LoadedSkill(skill) if skill else loaded[name] for name, skill in found.items()], []
        for skill in filter(None, found.values()):
            self.registry.load(skill)
        wanted = dict.fromkeys(skill.name if skill else name for name, skill in found.items())
        fresh, broken = self.registry.refreshed(wanted)
        if broken:
            raise broken[0]  # it was asked for by name
        return fresh, []

    def news(self) -> str:
        """One line about skills that are in force though nobody loaded them in this process; told once, else empty."""
        names = self.registry.restored()
        return f"In force in this kernel from before: {', '.join(names)}." if names else ""

    def settle(self) -> None:
        """Completes what was shown so far, because a question to the user comes next."""
        if self._renderer is not None:
            self._renderer.settle()

    def _show_waiting(self, reason: str) -> None:
        from jupyter_skills.agent.events import Waiting

        if self._renderer is not None:
            self._renderer.show(Waiting(reason))

    def _sandbox_status(self, reason: str) -> None:
        self._show_waiting(reason)
        if self._renderer is None and reason and reason != self._told:
            self._tell(reason)
        self._told = reason or self._told

    @contextmanager
    def telling(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Has the sandbox's progress told line by line, where no answer is being rendered."""
        self._tell, self._told = tell, ""
        try:
            yield
        finally:
            self._tell = _keep_quiet


def kernel_of(shell: InteractiveShell) -> Kernel | None:
    """Which kernel a shell is that of; None in a terminal, and where no Jupyter server gave it an id."""
    if getattr(shell, "kernel", None) is None:
        return None
    from ipykernel.kernelapp import IPKernelApp

    if not IPKernelApp.initialized():  # a kernel in another program
        return None
    return Kernel.of(str(IPKernelApp.instance().abs_connection_file), current_user())


def _warn(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 -- a cell's output is where the user looks


def _keep_quiet(_: str) -> None:
    """For those who start the sandbox by the way."""


def close(session: Session) -> None:
    """Ends what a session holds. Called when the extension is unloaded."""
    session.copies.clear()
    session.edits.close()
    if session._sandbox is not None:  # also one that is stopped may have kernels ready
        run_now(session.stop_sandbox)
