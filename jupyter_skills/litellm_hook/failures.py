"""Our errors as litellm's: whoever calls litellm catches its classes, and a proxy answers with their status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_skills import errors
from jupyter_skills.errors import SkillsError
from jupyter_skills.models.litellm_import import import_now

# A router leaves a deployment out for a while after most errors, for everybody; not after this one.
_NOT_THE_PROVIDERS = "APIConnectionError"
_UNAVAILABLE = 503

_GIVE_PRICES = "Give input_cost_per_token= and output_cost_per_token=, or leave max_cost out"

# Our class, litellm's, and what to do about it where ours speaks of cells. The first that fits counts; what the
# provider itself has raised is raised as it was.
_CLASSES: tuple[tuple[type[SkillsError], str, str], ...] = (
    (errors.ModelNotChosen, "BadRequestError", "Give one with model="),
    (errors.ModelKeyMissing, "AuthenticationError", ""),
    (errors.ModelBusy, "RateLimitError", "Wait a little, and ask again"),
    (errors.ModelUnknown, "NotFoundError", "Check the name of the model"),
    (errors.ModelOverlong, "ContextWindowExceededError", "Send less, or ask a model with more room"),
    (errors.ContentRefused, "ContentPolicyViolationError", ""),
    (errors.ToolsUnsupported, "BadRequestError", "Ask a model that can call functions"),
    (errors.ModelRefused, "BadRequestError", "Correct what it names"),
    (errors.ModelSilent, "Timeout", "Ask again, or give it more time with timeout="),
    (errors.ModelUnreachable, "ServiceUnavailableError", "Check the network and api_base"),
    (
        errors.PriceUnknown,
        "BadRequestError",
        _GIVE_PRICES,
    ),
    (errors.ModelProblem, "InternalServerError", "Ask again"),
    (errors.UsageProblem, "BadRequestError", ""),
    (errors.SkillProblem, "BadRequestError", ""),
    (errors.StoreConflict, "BadRequestError", ""),
    (errors.NotYours, "BadRequestError", ""),
    (errors.StoreProblem, _NOT_THE_PROVIDERS, ""),
    (errors.EngineMissing, _NOT_THE_PROVIDERS, "See what 'jupyter skills sandbox status' says"),
    (errors.SandboxFailed, _NOT_THE_PROVIDERS, "Ask again"),
    (errors.SandboxProblem, _NOT_THE_PROVIDERS, ""),
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
    name, step = next(
        ((name, step) for ours, name, step in _CLASSES if isinstance(error, ours)), ("InternalServerError", "")
    )
    words = SkillsError(error.message, step or error.next_step)
    made: Any = getattr(litellm, name)(message=str(words), model=model, llm_provider=provider)
    if name == _NOT_THE_PROVIDERS:
        made.status_code = _UNAVAILABLE
    made.__cause__ = error
    return made  # type: ignore[no-any-return]
