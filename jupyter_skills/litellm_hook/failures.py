"""Our errors as litellm's: whoever calls litellm catches its classes, and a proxy answers with their status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_skills import errors
from jupyter_skills.errors import SkillsError
from jupyter_skills.models.litellm_import import import_now

# Our class, litellm's; the first that fits counts. What the provider itself has raised is raised as it was.
_CLASSES = (
    (errors.ModelKeyMissing, "AuthenticationError"),
    (errors.ModelBusy, "RateLimitError"),
    (errors.ModelUnknown, "NotFoundError"),
    (errors.ModelOverlong, "ContextWindowExceededError"),
    (errors.ContentRefused, "ContentPolicyViolationError"),
    (errors.ModelRefused, "BadRequestError"),
    (errors.ModelUnreachable, "ServiceUnavailableError"),
    (errors.UsageProblem, "BadRequestError"),
    (errors.SkillProblem, "BadRequestError"),
    (errors.PriceUnknown, "BadRequestError"),
    (errors.StoreConflict, "BadRequestError"),
    (errors.NotYours, "BadRequestError"),
    (errors.StoreProblem, "ServiceUnavailableError"),
    (errors.SandboxProblem, "ServiceUnavailableError"),
)


@contextmanager
def raised_as_litellms(model: str = "", provider: str = "") -> Iterator[None]:
    """Turns what we raise into what litellm would.

    Args:
        model: The model that was asked for, if any.
        provider: Its provider, if known.
    """
    try:
        yield
    except SkillsError as error:
        raise as_litellms(error, model, provider) from None


def as_litellms(error: SkillsError, model: str = "", provider: str = "") -> Exception:
    """One of litellm's errors that says the same; the provider's own where there is one."""
    litellm = import_now()
    theirs = tuple(litellm.LITELLM_EXCEPTION_TYPES)
    cause: BaseException | None = error
    while isinstance(cause, SkillsError):
        cause = cause.__cause__ if cause.__cause__ is not cause else None
    if isinstance(cause, Exception) and isinstance(cause, theirs):
        return cause
    name = next((name for ours, name in _CLASSES if isinstance(error, ours)), "InternalServerError")
    made: Any = getattr(litellm, name)(message=str(error), model=model, llm_provider=provider)
    made.__cause__ = error
    return made  # type: ignore[no-any-return]
