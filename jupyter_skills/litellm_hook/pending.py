"""What a call of litellm's asks of us, noted where its request is prepared and taken up where it is answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, finalize

from jupyter_skills.agent.assembly import Wishes
from jupyter_skills.agent.events import Emit, Event, Notice, discard
from jupyter_skills.agent.executor import Isolated
from jupyter_skills.context.secrets import Redactor
from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook.failures import as_litellms
from jupyter_skills.models.messages import function_name
from jupyter_skills.settings import JupyterSkills
from jupyter_skills.skills.skill import Skill

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PendingCall:
    """A call with skills of ours.

    Args:
        model: The model, as the caller named it.
        provider: Who has it, as litellm says.
        messages: The conversation, in the shape of the call.
        tools: The caller's own tools, likewise.
        stream: Whether the answer is wanted piece by piece.
        timeout: Seconds that the model may take for each request.
        arguments: Everything else that the caller gave.
        skills: The skills of ours.
        steps: How many requests may be sent; as it is set if None.
        cost: US dollars they may cost; likewise.
        isolated: Called for the sandbox of the call, if code may run.
    """

    model: str
    provider: str
    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]]
    stream: bool
    timeout: float
    arguments: Mapping[str, Any]
    skills: tuple[Skill, ...]
    steps: int | None = None
    cost: float | None = None
    isolated: Callable[[], Isolated] | None = None

    @property
    def names(self) -> frozenset[str]:
        """Those of the caller's own tools."""
        return frozenset(map(function_name, self.tools))

    def wishes(self, emit: Emit = discard, **more: Any) -> Wishes:
        """What is wanted of the turn; code runs in a sandbox of its own, or nowhere if that is set.

        Args:
            emit: Told of everything that happens, besides the log.
            more: What depends on the shape of the call; see ``Wishes``.
        """
        settings = JupyterSkills(request_timeout=self.timeout, tries=1)  # who calls litellm says how often to try again
        return Wishes(
            model=self.model,
            skills=self.skills,
            run="off" if settings.place == "off" else "docker",
            isolated=self.isolated,
            opening="",
            steps=self.steps,
            cost=self.cost,
            stream=self.stream,
            compacts=False,
            settings=settings,
            emit=partial(_log, emit),
            redactor=Redactor(),  # the sandbox has no secret of this process, and who asks may not learn their names
            **more,
        )


def _log(emit: Emit, event: Event) -> None:
    """What a user would be told; whoever calls litellm looks into its log."""
    if isinstance(event, Notice):
        _logger.info(event.text)
    emit(event)


PROVIDER = "jupyter_skills"
"""The name under which litellm finds what answers in a provider's place."""


class PendingCalls:
    """The calls that are not answered yet, each under litellm's own object for the call.

    No part of a request is a safe place for them: a client of a proxy writes those.
    """

    def __init__(self) -> None:
        self._noted: WeakKeyDictionary[Any, PendingCall] = WeakKeyDictionary()
        self._afterwards: Callable[[], None] | None = None

    def note(self, call: Any, pending: PendingCall) -> None:
        """Called by the hook."""
        self._noted[call] = pending
        finalize(call, self._go_on).atexit = False  # it may never come to an answer

    def taken_up(self, call: Any) -> PendingCall:
        """Called by what answers in a provider's place.

        litellm logs the call, and prices it, as one of the provider that really answers.

        Raises:
            litellm.BadRequestError: Nothing was noted: somebody has named our provider.
        """
        pending = self._noted.get(call)
        if pending is None:
            problem = UsageProblem(f"This call asks nothing of '{PROVIDER}'", "Leave that provider out")
            raise as_litellms(problem, provider=PROVIDER)
        call.custom_llm_provider = call.model_call_details["custom_llm_provider"] = pending.provider
        return pending

    @contextmanager
    def at_work(self, call: Any) -> Iterator[None]:
        """While the call is being answered."""
        try:
            yield
        finally:
            self._noted.pop(call, None)
            self._go_on()

    def afterwards(self, step: Callable[[], None] | None) -> None:
        """Has something done once no call is left, which may be now; None takes that back."""
        self._afterwards = step
        self._go_on()

    def _go_on(self) -> None:
        if self._afterwards is not None and not self._noted:
            step, self._afterwards = self._afterwards, None
            step()


PENDING = PendingCalls()
"""Those of this process."""
