"""litellm's errors, turned into ours. No other place knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_skills.errors import (
    ContentRefused,
    ModelBrokeOff,
    ModelBusy,
    ModelFailed,
    ModelKeyMissing,
    ModelOverlong,
    ModelProblem,
    ModelRefused,
    ModelSilent,
    ModelUnknown,
    ModelUnreachable,
    ToolsUnsupported,
)
from jupyter_skills.models.client import ModelRequest
from jupyter_skills.models.litellm_said import chain, headers, masked, said, statuses, wait_asked, words

# Too many requests, a bad or tired gateway, and Anthropic's "overloaded".
_BUSY = {429, 502, 503, 504, 529}

_BUSY_WORDS = re.compile(r"\boverloaded\b|rate[ _]limit|too many requests", re.IGNORECASE)
_KEYLESS = re.compile(r"missing credentials|api_key client option must be set", re.IGNORECASE)
_CHECK = "Check the network and JupyterSkills.api_base, then run the cell again"
_REPEATS = "repeating the same chunk"

# The package of a module that litellm only needs for some providers, where the names differ.
_PACKAGES = {"google": "google-auth", "vertexai": "google-cloud-aiplatform"}

_OVERLONG = re.compile(
    r"context_length_exceeded|(?:maximum|max) context|context (?:length|window|limit|size)|(?:prompt|input) is too long"
    r"|too many (?:input )?tokens|maximum number of (?:input )?tokens|reduce the length"
    r"|request_too_large|request too large|request payload size exceeds",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"content[ _](?:filter|policy|management)|safety system|responsibleaipolicy|usage polic(?:y|ies)"
    r"|prohibited[ _]content",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"(?:not|n't)(?: \w+)? support (?:\w+ )?(?:tool|function)"
    r"|(?:tools?|tool[ _](?:use|calls?|calling|choice)|functions?|function[ _]call(?:s|ing)?)\W*"
    r" (?:is|are)(?: not|n't)(?: \w+)? (?:support|enabled|available|allowed|implemented)"
    r"|tool choice requires|enable-auto-tool-choice|support tool use"
    r"|unsupported \w+\W+(?:tools|tool_choice|functions)\b|\btools\W+extra inputs",
    re.IGNORECASE,
)
_UNPAID = re.compile(r"insufficient_quota|credit balance|payment required", re.IGNORECASE)
_UNPAID_PERHAPS = re.compile(r"exceeded your current quota|billing", re.IGNORECASE)


@contextmanager
def translated(litellm: Any, request: ModelRequest, arguments: dict[str, Any]) -> Iterator[None]:
    """Turns litellm's errors into ours."""
    try:
        yield
    except ModelProblem:
        raise
    except TimeoutError:
        raise _silent(request) from None
    except Exception as error:  # noqa: BLE001 -- litellm lets everything through; it all becomes one of ours
        problem = _translate(litellm, request, arguments, error)
        # What litellm quotes would stand in the traceback of whoever doesn't catch this.
        secret = masked(str(error), arguments) != str(error)
        raise problem from (None if secret else error)


def broke_off(request: ModelRequest) -> ModelBrokeOff:
    """The error for an answer that stopped in the middle."""
    return ModelBrokeOff(f"The answer of '{request.model}' broke off in the middle", "Run the cell again")


def refused(request: ModelRequest, arguments: dict[str, Any], reason: str) -> ContentRefused:
    """The error for a provider that answers, but with nothing else than that it will not."""
    return ContentRefused(
        f"The provider of '{request.model}' will not answer this: {masked(reason, arguments)}",
        "Put it in other words, or try another model",
    )


def missing_keys(litellm: Any, model: str) -> list[str]:
    """The environment variables that would hold the provider's key, where none does."""
    try:
        missing = litellm.validate_environment(model)["missing_keys"]
    except Exception:  # noqa: BLE001 -- only a hint for a message; litellm raises all sorts for unknown models
        return []
    return [name for name in missing if "KEY" in name or "TOKEN" in name]


def _translate(litellm: Any, request: ModelRequest, arguments: dict[str, Any], error: Exception) -> ModelProblem:
    errors = litellm.exceptions
    in_stream = isinstance(error, errors.MidStreamFallbackError)
    if _REPEATS in str(error):
        return ModelBrokeOff(
            f"The answer of '{request.model}' said the same again and again, and was stopped",
            "Put the request in other words, or try another model",
        )
    if isinstance(error, errors.MidStreamFallbackError):
        first, text_came = error.is_pre_first_chunk, bool(error.generated_content)
        error = error.original_exception or error
        if not first:
            # Nobody has seen anything yet, so that what the provider says of it can be heeded.
            problem = None if text_came else _told(litellm, request, arguments, error, in_stream=True)
            return problem if isinstance(problem, ModelBusy | ModelRefused) else broke_off(request)
    return _told(litellm, request, arguments, error, in_stream=in_stream)


def _told(
    litellm: Any, request: ModelRequest, arguments: dict[str, Any], error: Exception, *, in_stream: bool
) -> ModelProblem:
    errors, seen = litellm.exceptions, statuses(error)
    model, quoted = request.model, masked(said(error), arguments)
    if "LLM Provider NOT provided" in str(error):
        return ModelUnknown(
            f"No provider is known for the model '{model}'",
            "Put the provider before the name, as in 'openai/gpt-4o' or 'anthropic/claude-sonnet-4-5'",
        )
    if (ours := _before_sending(request, error)) is not None:
        return ours
    status = seen[0] if seen else 500
    unconnected = _caused_by_connection(error)
    missing = [] if arguments.get("api_key") else missing_keys(litellm, model)
    keyless = _KEYLESS.search(str(error)) is not None
    if keyless or (
        missing
        and (
            unconnected
            or status in (401, 403)
            or isinstance(error, errors.InternalServerError | errors.APIConnectionError)
        )
    ):
        return _keyless(model, missing)
    if unconnected:
        return _unreachable(request)
    if status in (401, 403):
        return ModelKeyMissing(f"The provider of '{model}' refused the key: {quoted}", "Check the key and its rights")
    if (refusal := _refused_for(errors, request, error, seen, quoted, in_stream=in_stream)) is not None:
        return refusal
    if _BUSY & set(seen) or (status >= 500 and _BUSY_WORDS.search(words(error))):
        return ModelBusy(
            f"The provider of '{model}' asks to wait: {quoted}",
            "Wait a little and run the cell again",
            wait_asked(headers(error), str(error)),
        )
    if isinstance(error, errors.Timeout):
        return _silent(request)
    if status == 404:
        return ModelUnknown(f"The provider has no model '{model}': {quoted}", "Check the name given with -m")
    if 400 <= status < 500:
        return ModelRefused(
            f"The provider of '{model}' refused the request: {quoted}", "Correct what it names, then run the cell again"
        )
    if isinstance(chain(error)[-1], LookupError | AttributeError):
        quoted = "its answer can't be read"  # Python's own words for that help nobody
    return ModelFailed(f"The provider of '{model}' failed: {quoted}", "Run the cell again, or try another model")


def _before_sending(request: ModelRequest, error: Exception) -> ModelProblem | None:
    """What litellm met on this side of the network, and no provider is to blame for."""
    for link in chain(error):
        if isinstance(link, UnicodeEncodeError):
            return ModelRefused(
                f"The request to '{request.model}' holds {link.object[link.start : link.end]!a}, half a character that"
                " is no text",
                "Leave it out, as with text.encode(errors='ignore').decode()",
            )
        if isinstance(link, ModuleNotFoundError) and link.name:
            module = link.name.partition(".")[0]
            package = _PACKAGES.get(module, module)
            return ModelFailed(
                f"'{request.model}' can't be reached without the Python package {package}",
                f"Install it with '%pip install {package}', then run the cell again",
            )
    return None


def _keyless(model: str, missing: list[str]) -> ModelKeyMissing:
    # Several keys are other names of the same one; what else a provider wants belongs together.
    either = " or " if all(name.endswith("_API_KEY") for name in missing) else " and "
    step = f"Set {either.join(missing)} in the environment that Jupyter starts in" if missing else "Check the key"
    return ModelKeyMissing(f"There is no key for '{model}'", step)


def _refused_for(
    errors: Any, request: ModelRequest, error: Exception, seen: list[int], quoted: str, *, in_stream: bool
) -> ModelRefused | None:
    """The refusals that can be told from each other by their class or, as most providers have none, their words."""
    model, text = request.model, words(error)
    # In the middle of a stream there is often no status to tell by.
    refused = in_stream or any(400 <= status < 500 for status in seen)
    if isinstance(error, errors.ContextWindowExceededError) or (refused and _OVERLONG.search(text)):
        return ModelOverlong(
            f"The request is longer than '{model}' takes in: {quoted}",
            "Begin anew with '%skill reset', unload skills, or choose a model with more room",
        )
    if isinstance(error, errors.ContentPolicyViolationError) or (refused and _CONTENT.search(text)):
        return ContentRefused(
            f"The provider of '{model}' will not answer this: {quoted}", "Put it in other words, or try another model"
        )
    wordless = isinstance(error, errors.UnsupportedParamsError) and re.search(r"\b(?:tools|tool_choice)\b", text)
    if request.tools and (wordless or ("schema" not in text and _TOOLS.search(text))):
        return ToolsUnsupported(
            f"'{model}' knows no function calling: {quoted}",
            "Set JupyterSkills.tool_calls to 'text', or choose another model",
        )
    unpaid = _UNPAID.search(text) or (
        _UNPAID_PERHAPS.search(text) and 429 in seen and wait_asked(headers(error), text) is None
    )
    if 402 in seen or (refused and unpaid):
        return ModelRefused(
            f"The provider of '{model}' wants to be paid first: {quoted}", "Check your plan and billing with it"
        )
    return None


def _unreachable(request: ModelRequest) -> ModelUnreachable:
    return ModelUnreachable(f"{_server(request)} can't be reached", _CHECK)


def _silent(request: ModelRequest) -> ModelSilent:
    return ModelSilent(f"{_server(request)} sent nothing for {request.timeout:g} s", _CHECK)


def _server(request: ModelRequest) -> str:
    base = request.arguments.get("api_base") or request.arguments.get("base_url")
    return f"The server at {masked(str(base), {})}" if base else f"The provider of '{request.model}'"


def _caused_by_connection(error: Exception) -> bool:
    return any(
        # openai's class covers its own and httpx's; litellm's covers far more than connections.
        (type(link).__module__.startswith("openai") and type(link).__name__ == "APIConnectionError")
        or isinstance(link, ConnectionError)
        or type(link).__name__ in ("ConnectError", "ClientConnectorError")
        for link in chain(error)
    )
