"""The one file that touches litellm: it is imported here, at the first request, and its errors end here."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from jupyter_skills.errors import (
    ModelBrokeOff,
    ModelBusy,
    ModelFailed,
    ModelKeyMissing,
    ModelProblem,
    ModelRefused,
    ModelUnknown,
    ModelUnreachable,
)
from jupyter_skills.models.client import Message, ModelReply, ModelRequest, TextDelta, ToolCall, Usage
from jupyter_skills.models.litellm_import import imported

# What a provider may want to get back in the next request, beside the text and the calls.
_KEPT_FIELDS = ("reasoning_content", "thinking_blocks", "provider_specific_fields")

# Servers of one's own often check no key, but litellm sends nothing without one.
_NO_KEY = "no-key"

# What a request itself says; given twice it would be an error of Python's.
_OURS = {"model", "messages", "tools", "stream", "stream_options", "timeout"}

# litellm's own time limit ends in errors of many kinds; it only has to come after the one kept here.
_LATER = 5.0
_CLOSED_WITHIN = 1.0

_JSON_MESSAGE = re.compile(r'"message": *("(?:[^"\\]|\\.)*")')


class LitellmClient:
    """Reaches every provider that litellm does. Implements ``ModelClient``."""

    async def context(self, model: str) -> int | None:
        """See ``ModelClient``."""
        litellm = await imported()
        # The table itself: the function that looks things up in it asks some providers over the network.
        facts = litellm.model_cost.get(model) or litellm.model_cost.get(model.partition("/")[2]) or {}
        tokens = facts.get("max_input_tokens") or facts.get("max_tokens")
        return int(tokens) if isinstance(tokens, int | float) else None

    async def answer(self, request: ModelRequest) -> AsyncGenerator[TextDelta | ModelReply, None]:
        """Yields the text as it comes, then the whole reply; see ``ModelClient``."""
        litellm = await imported()
        arguments = _with_key(litellm, request)
        if request.stream:
            arguments["stream_options"] = {"include_usage": True}
        with _translated(litellm, request, arguments):
            call = litellm.acompletion(
                model=request.model,
                messages=[dict(message) for message in request.messages],
                stream=request.stream,
                timeout=request.timeout + _LATER,
                **({"tools": [dict(tool) for tool in request.tools]} if request.tools else {}),
                **arguments,
            )
            response = await _within(request.timeout, call)
            if request.stream:
                chunks: list[Any] = []
                async for chunk in _each(response, request.timeout):
                    chunks.append(chunk)
                    if text := _delta_text(chunk):
                        yield TextDelta(text)
                _refuse_torn(response, request)
                response = litellm.stream_chunk_builder(chunks, messages=[dict(m) for m in request.messages])
                if response is None:
                    raise _broke_off(request)
        reply = _reply(litellm, response)
        if not request.stream and reply.text:
            yield TextDelta(reply.text)
        yield reply


def _with_key(litellm: Any, request: ModelRequest) -> dict[str, Any]:
    arguments = dict(request.arguments)
    if taken := sorted(_OURS & arguments.keys()):
        raise ModelRefused(
            f"JupyterSkills.completion_kwargs may not set {', '.join(taken)}",
            "Use the option or the setting of its own that there is for that",
        )
    own_server = arguments.get("api_base") or arguments.get("base_url")
    if own_server and not arguments.get("api_key") and _missing_keys(litellm, request.model):
        arguments["api_key"] = _NO_KEY
    return arguments


def _missing_keys(litellm: Any, model: str) -> list[str]:
    try:
        missing = litellm.validate_environment(model)["missing_keys"]
    except Exception:  # noqa: BLE001 -- only a hint for a message; litellm raises all sorts for unknown models
        return []
    return [name for name in missing if "KEY" in name or "TOKEN" in name]


async def _each(response: Any, patience: float) -> AsyncIterator[Any]:
    """The chunks of a stream, each awaited for ``patience`` seconds at most; the stream is closed whatever happens."""
    try:
        while True:
            try:
                yield await _within(patience, anext(response))
            except StopAsyncIteration:
                return
    finally:
        close = getattr(response, "aclose", None)
        if close is not None:
            with suppress(Exception):  # it may be in the middle of the chunk that was given up
                await _within(_CLOSED_WITHIN, close())


async def _within(seconds: float, awaitable: Awaitable[Any]) -> Any:
    """Awaits for so long at most; given up or cancelled, it returns at once whatever litellm makes of that.

    litellm may take a cancellation for a failure of the connection, and try again.
    """

    async def work() -> Any:
        return await awaitable

    task = asyncio.ensure_future(work())
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be there to look at it
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()


def _delta_text(chunk: Any) -> str:
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def _refuse_torn(response: Any, request: ModelRequest) -> None:
    """Litellm ends a stream that stopped short with a made-up ``stop``; it keeps the provider's own word here."""
    if getattr(response, "received_finish_reason", "unknown") is None:
        raise _broke_off(request)


def _broke_off(request: ModelRequest) -> ModelBrokeOff:
    return ModelBrokeOff(f"The answer of '{request.model}' broke off in the middle", "Run the cell again")


def _reply(litellm: Any, response: Any) -> ModelReply:
    choice = response.choices[0]
    calls: list[ToolCall] = []
    for call in choice.message.tool_calls or ():
        fresh = call.id and call.id not in [other.id for other in calls]
        number = call.id if fresh else f"call_{uuid4().hex[:12]}"
        calls.append(ToolCall(number, call.function.name or "", call.function.arguments or ""))
    message: Message = {"role": "assistant", "content": choice.message.content or ("" if not calls else None)}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": _name(call), "arguments": _object(call)}}
            for call in calls
        ]
    for name in _KEPT_FIELDS:
        if value := getattr(choice.message, name, None):
            message[name] = value
    usage = getattr(response, "usage", None)
    return ModelReply(
        message=message,
        tool_calls=tuple(calls),
        finish_reason=choice.finish_reason or "stop",
        usage=Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else Usage(),
        cost=_cost(litellm, response),
    )


def _name(call: ToolCall) -> str:
    """A name that every provider takes back; the tool's result says what was wrong with another."""
    return call.name if re.fullmatch(r"[\w-]{1,64}", call.name, re.ASCII) else "unknown"


def _object(call: ToolCall) -> str:
    """Arguments that every provider takes back: a call cut off in the middle would end the conversation for good."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _cost(litellm: Any, response: Any) -> float | None:
    try:
        return float(litellm.completion_cost(completion_response=response))
    except Exception:  # noqa: BLE001 -- an unknown price is normal, and litellm has a new error class for it each year
        return None


@contextmanager
def _translated(litellm: Any, request: ModelRequest, arguments: dict[str, Any]) -> Iterator[None]:
    """Turns litellm's errors into ours. No other place knows them."""
    try:
        yield
    except ModelProblem:
        raise
    except TimeoutError:
        raise _unreachable(request, f"sent nothing for {request.timeout:g} s") from None
    except Exception as error:
        raise _translate(litellm, request, arguments, error) from error


def _translate(litellm: Any, request: ModelRequest, arguments: dict[str, Any], error: Exception) -> ModelProblem:
    errors = litellm.exceptions
    model, said = request.model, _said(error)
    if "LLM Provider NOT provided" in str(error):
        return ModelUnknown(
            f"No provider is known for the model '{model}'",
            "Put the provider before the name, as in 'openai/gpt-4o' or 'anthropic/claude-sonnet-4-5'",
        )
    if isinstance(error, errors.MidStreamFallbackError):
        return _broke_off(request)
    if _caused_by_connection(error):
        return _unreachable(request, "can't be reached")
    missing = [] if arguments.get("api_key") else _missing_keys(litellm, model)
    status = getattr(error, "status_code", 500)
    if status in (401, 403) or (missing and isinstance(error, errors.InternalServerError | errors.APIConnectionError)):
        if missing:
            return ModelKeyMissing(
                f"There is no key for '{model}'",
                f"Set {' or '.join(missing)} in the environment that Jupyter starts in",
            )
        return ModelKeyMissing(f"The provider of '{model}' refused the key: {said}", "Check the key and its rights")
    if isinstance(error, errors.Timeout):
        return _unreachable(request, f"sent nothing for {request.timeout:g} s")
    if status == 404:
        return ModelUnknown(f"The provider has no model '{model}': {said}", "Check the name given with -m")
    if status == 429:
        return ModelBusy(f"The provider of '{model}' asks to wait: {said}", "Wait a little and run the cell again")
    if 400 <= status < 500:
        return ModelRefused(
            f"The provider of '{model}' refused the request: {said}", "Correct what it names, then run the cell again"
        )
    return ModelFailed(f"The provider of '{model}' failed: {said}", "Run the cell again, or try another model")


def _unreachable(request: ModelRequest, what: str) -> ModelUnreachable:
    base = request.arguments.get("api_base") or request.arguments.get("base_url")
    server = f"The server at {base}" if base else f"The provider of '{request.model}'"
    return ModelUnreachable(f"{server} {what}", "Check the network and JupyterSkills.api_base, then run the cell again")


def _caused_by_connection(error: BaseException | None) -> bool:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        # openai's class covers its own and httpx's; litellm's covers far more than connections.
        if type(error).__module__.startswith("openai") and type(error).__name__ == "APIConnectionError":
            return True
        if isinstance(error, ConnectionError) or type(error).__name__ in ("ConnectError", "ClientConnectorError"):
            return True
        error = error.__cause__ or error.__context__
    return False


def _said(error: Exception) -> str:
    """What the provider said, without litellm's class names and the provider's JSON around it."""
    text = str(getattr(error, "message", "") or error)
    if quoted := _JSON_MESSAGE.search(text):
        try:
            text = json.loads(quoted[1], strict=False)
        except ValueError:  # litellm may quote the body a second time, in Python's way
            text = quoted[1][1:-1]
    text = next(iter(text.strip().splitlines()), "") or "no reason given"
    return re.sub(r"^(?:[\w.]*(?:Error|Exception)(?:: | - ))+", "", text)[:300]
