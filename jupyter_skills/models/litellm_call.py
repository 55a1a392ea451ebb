"""A call of litellm that can be given up at any moment, and what its stream says beside its chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import Any

# The functions of litellm that prepare a request in a thread.
_PREPARING = ("acompletion", "anthropic_messages")

# Where one of its streams keeps how the provider ended it.
_ENDINGS = ("received_finish_reason", "intermittent_finish_reason")

# What leads from one of its streams to the one within that keeps it.
_WITHIN = ("_anthropic_wrapper", "completion_stream", "_stream")


class Call:
    """Awaits a call of litellm, and leaves no coroutine behind that nobody awaits.

    litellm prepares the request in a thread, which gives it the coroutine to go on with. Cancelled in the meantime
    it would drop that, of which Python complains; so the cancellation comes a moment later, before anything is sent.

    Args:
        coroutine: What it gave.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        late: asyncio.CancelledError | None = None
        while True:
            try:
                waited = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration as end:
                return end.value
            error = None
            if isinstance(waited, asyncio.Future) and _prepares(self._coroutine):
                waited._asyncio_future_blocking = False  # it is awaited here instead
                while not waited.done():
                    try:
                        yield from asyncio.shield(waited)
                    except asyncio.CancelledError as cancelled:
                        late = cancelled
                    except Exception:  # noqa: BLE001, S110 -- litellm meets it itself, right after this
                        pass
            elif late is not None:
                if isinstance(waited, asyncio.Future):
                    waited._asyncio_future_blocking = False
                    waited.cancel()
                error, late = late, None
            else:
                try:
                    yield waited
                except BaseException as thrown:  # noqa: BLE001 -- whatever it is, it is litellm's to meet
                    error = thrown


def _prepares(coroutine: Any) -> bool:
    """Whether it waits for the thread: then the function itself waits, and nothing that it has called."""
    while hasattr(inner := coroutine.cr_await, "cr_await"):
        coroutine = inner
    return coroutine.cr_code.co_name in _PREPARING


def is_openais(stream: Any) -> bool:
    """Whether a stream is one of the ``openai`` package, whose chunks litellm takes as they are."""
    return type(stream).__module__.partition(".")[0] == "openai" and hasattr(stream, "__anext__")


def is_torn(stream: Any) -> bool:
    """Whether the provider never said that it was done: litellm makes up a ``stop`` then.

    It keeps the provider's own word in one of two places. For Gemini it makes one up for each chunk, so that only
    an end of the connection is noticed there, which is an error of its own.
    """
    if any(hasattr(stream, place) for place in _ENDINGS):
        return all(getattr(stream, place, "unknown") is None for place in _ENDINGS)
    return any(is_torn(getattr(stream, name)) for name in _WITHIN if hasattr(stream, name))


class Overheard:
    """A stream of the ``openai`` package, with an ear on why it refuses: litellm drops those chunks.

    Args:
        stream: The stream.
        heard: Where the words go.
    """

    def __init__(self, stream: Any, heard: list[str]) -> None:
        self._stream = stream
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Overheard:
        return self

    async def __anext__(self) -> Any:
        chunk = await anext(self._stream)
        with suppress(AttributeError, IndexError, TypeError):
            if refusal := chunk.choices[0].delta.refusal:
                self._heard.append(str(refusal))
        return chunk
