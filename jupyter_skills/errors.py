"""Every error this package raises on purpose.

::

    SkillsError
    ├── UsageProblem                 a magic or a function was called with words it can't take
    │   └── NoSuchVariable           the sandbox has no variable of that name
    ├── SkillProblem
    │   ├── SkillNotFound            nothing lies under that name or path
    │   ├── InvalidSkill             there is a SKILL.md, but no usable skill in it
    │   ├── InvalidArchive           a zip that is damaged, hostile or holds no skill
    │   ├── NotLookedAt              a skill is to be trusted in spite of what a scan found in it
    │   ├── LockBroken               a skill is not the one that the lock names, or there is no usable lock
    │   └── UploadTooLarge           more was sent than a skill may have
    ├── StoreProblem
    │   ├── StoreUnreachable         the database can't be opened, reached or written
    │   ├── StoreBroken              it is no database, or a damaged one
    │   ├── StoreTooNew              a newer release of this package has changed its tables
    │   ├── StoreBusy                other processes held it for too long
    │   ├── StoreConflict            what is asked for contradicts what is there
    │   └── NotYours                 it can be seen, but only its owner may change it
    ├── RemoteProblem
    │   ├── RemoteUnreachable        no connection, or none in time
    │   ├── RemoteRefused            the other side said no
    │   └── RemoteDamaged            what came is not what was promised
    ├── ModelProblem
    │   ├── ModelNotChosen           neither a flag nor a setting names a model
    │   ├── ModelUnknown             no provider knows the name
    │   ├── ModelKeyMissing          the provider wants a key and refused, or found, none
    │   ├── ModelUnreachable         no connection
    │   │   └── ModelSilent          there is one, and nothing came for too long
    │   ├── ModelBusy                rate limit, quota, or too much to do
    │   ├── ModelRefused             the provider says the request is wrong
    │   │   ├── ModelOverlong        the request is longer than the model takes in
    │   │   ├── ContentRefused       the provider will not have what it says
    │   │   └── ToolsUnsupported     the model, or its provider, knows no function calling
    │   ├── ModelFailed              the provider says the fault is its own
    │   ├── ModelBrokeOff            the answer ended in the middle
    │   └── PriceUnknown             a limit on the cost is to be kept, and nobody knows the price
    ├── SandboxProblem
    │   ├── EngineMissing            no Docker engine answers
    │   ├── ImageMissing             the engine has no such image
    │   ├── BuildFailed              the image build failed
    │   ├── ControlMissing           the engine can't hold a control that isolation needs
    │   └── SandboxFailed            the isolated kernel did not start, or could not do what was asked
    │       └── SandboxDied          the isolated kernel is gone
    ├── ConsentUnavailable           code waits for a consent that nobody can give here
    └── AskInterrupted               the user stopped the cell

Each renders as one line that ends in what to do next. Errors of other libraries are turned into these
where they are raised: litellm's in ``models/litellm_client.py`` and ``sandbox/remote/provider.py``, Docker's in
``sandbox/docker/engine.py``.
"""

from __future__ import annotations

from typing import Literal


class SkillsError(Exception):
    """Something went wrong that the user can do something about.

    Args:
        message: What happened, as one sentence without a full stop.
        next_step: What to do about it, as one sentence without a full stop.
    """

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message, next_step)
        self.message = _one_line(message)
        self.next_step = _one_line(next_step)

    def __str__(self) -> str:
        """The whole error in one line."""
        parts = (part.rstrip(".") for part in (self.message, self.next_step) if part)
        sentences = (part if part.endswith(("?", "!")) else f"{part}." for part in parts)
        return " ".join(sentences)

    def _render_traceback_(self) -> list[str]:
        """Called by IPython in place of printing a traceback."""
        return [f"{type(self).__name__}: {self}"]


def _one_line(text: str) -> str:
    """Text in one line; what would steer a terminal, for a stranger's words may be in it, stands as an escape."""
    joined = " ".join(text.split())
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in joined)


class UsageProblem(SkillsError):
    """A magic or a function was called with words it can't take."""


class NoSuchVariable(UsageProblem):
    """The sandbox has no variable of that name."""


class SkillProblem(SkillsError):
    """A skill can't be had."""


class SkillNotFound(SkillProblem):
    """Nothing lies under that name or path."""


class InvalidSkill(SkillProblem):
    """There is a SKILL.md, but no usable skill in it.

    Args:
        message: See ``SkillsError``.
        next_step: See ``SkillsError``.
        line: The line of the SKILL.md where it went wrong, from 1, if it is known.
        rule: The rule that is broken, as the strict report names it.
    """

    def __init__(self, message: str, next_step: str = "", line: int | None = None, rule: str = "unusable") -> None:
        super().__init__(message, next_step)
        self.line = line
        self.rule = rule

    def about(self, what: str) -> InvalidSkill:
        """The same error, with what it is about in front."""
        return InvalidSkill(f"{what}: {self.message}", self.next_step, self.line, self.rule)


class InvalidArchive(SkillProblem):
    """A zip is damaged or hostile, or there is no skill in it."""


class NotLookedAt(SkillProblem):
    """A skill is to be trusted, and nobody has said to have looked at what a scan found in it."""


class LockBroken(SkillProblem):
    """A skill is not the one that the lock names, or there is no usable lock."""


class UploadTooLarge(SkillProblem):
    """More was sent than a skill may have."""


class StoreProblem(SkillsError):
    """The store can't do what was asked."""


class StoreUnreachable(StoreProblem):
    """The database can't be opened, reached or written."""


class StoreBroken(StoreProblem):
    """What should be the database is none, or a damaged one."""


class StoreTooNew(StoreProblem):
    """A newer release of this package has changed the database's tables."""


class StoreBusy(StoreProblem):
    """Other processes held the database for too long."""


class StoreConflict(StoreProblem):
    """What is asked for contradicts what is there."""


class NotYours(StoreProblem):
    """A skill that can be seen, but that only its owner may change."""


class RemoteProblem(SkillsError):
    """Skills can't be fetched from, or sent to, another place."""


class RemoteUnreachable(RemoteProblem):
    """No connection to the other place, or none in time."""


class RemoteRefused(RemoteProblem):
    """The other side said no."""


class RemoteDamaged(RemoteProblem):
    """What came is not what was promised: another digest, or no skill at all."""


class ModelProblem(SkillsError):
    """The model did not answer."""


class ModelNotChosen(ModelProblem):
    """Neither a flag nor a setting names a model."""


class ModelUnknown(ModelProblem):
    """No provider knows a model of that name."""


class ModelKeyMissing(ModelProblem):
    """The provider wants a key, and found none or refused the one it got."""


class ModelUnreachable(ModelProblem):
    """No connection to the provider."""


class ModelSilent(ModelUnreachable):
    """There is a connection, and nothing has come for too long."""


class ModelBusy(ModelProblem):
    """The provider turned the request away for now: a rate limit, a quota, or too much to do.

    Args:
        message: See ``SkillsError``.
        next_step: See ``SkillsError``.
        wait: How many seconds the provider asks to wait, if it does.
    """

    def __init__(self, message: str, next_step: str = "", wait: float | None = None) -> None:
        super().__init__(message, next_step)
        self.wait = wait


class ModelRefused(ModelProblem):
    """The provider says the request is wrong."""


class ModelOverlong(ModelRefused):
    """The request is longer than the model takes in."""


class ContentRefused(ModelRefused):
    """The provider will not have what the request says."""


class ToolsUnsupported(ModelRefused):
    """The model, or its provider, knows no function calling."""


class ModelFailed(ModelProblem):
    """The provider says the fault is its own."""


class PriceUnknown(ModelProblem):
    """A limit on the cost is to be kept, and nobody knows what the model costs."""


class ModelBrokeOff(ModelProblem):
    """The answer ended in the middle."""


class SandboxProblem(SkillsError):
    """Code can't be run in isolation."""


class EngineMissing(SandboxProblem):
    """No Docker engine answers."""


class ImageMissing(SandboxProblem):
    """The engine has no such image."""


class BuildFailed(SandboxProblem):
    """The image could not be built."""


class ControlMissing(SandboxProblem):
    """The engine can't hold a control that isolation needs."""


class SandboxFailed(SandboxProblem):
    """The isolated kernel did not start, or could not do what was asked."""


class SandboxDied(SandboxFailed):
    """The isolated kernel is gone, and with it its variables and files.

    Args:
        cause: ``out_of_memory``, ``exited`` or ``lost``.
        message: See ``SkillsError``.
    """

    def __init__(self, cause: Literal["out_of_memory", "exited", "lost"], message: str) -> None:
        super().__init__(message, "Run the cell again: a fresh one will start")
        self.cause = cause


class ConsentUnavailable(SkillsError):
    """Code waits for a consent that nobody can give here."""


class AskInterrupted(SkillsError):
    """The user stopped the cell.

    Args:
        message: See ``SkillsError``.
        next_step: See ``SkillsError``.
    """

    def __init__(
        self,
        message: str = "The cell was interrupted",
        next_step: str = "The conversation and the sandbox stay usable",
    ) -> None:
        super().__init__(message, next_step)
