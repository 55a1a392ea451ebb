"""What waits for a request is free at once, whatever the request makes of being given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from jupyter_skills.models.pump import Pump


class Stream:
    """Chunks, and then silence that heeds no cancellation the first time."""

    def __init__(self, *chunks: int) -> None:
        self.chunks = chunks
        self.cancelled = asyncio.Event()
        self.closed = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[int]:
        for chunk in self.chunks:
            yield chunk
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        self.cancelled.set()
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.closed.set()


def pump_of(stream: Stream, silence: float = 30) -> Pump:
    async def call() -> Any:
        return stream

    return Pump(call, stream=True, silence=silence)


async def read(pump: Pump, told: list[int]) -> None:
    async for batch in pump.batches():
        told += batch


async def test_a_stream_that_heeds_no_cancellation_holds_nobody_and_is_closed() -> None:
    stream = Stream(1, 2)
    async with aclosing(pump_of(stream).batches()) as batches:
        assert await anext(batches) == [1, 2]
        waiting = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not stream.closed.is_set(), "nobody has waited for the stream to notice"
    await asyncio.wait_for(stream.cancelled.wait(), 5)
    await asyncio.wait_for(stream.closed.wait(), 5)


async def test_what_came_before_the_silence_is_told_before_the_error() -> None:
    stream = Stream(1)
    told: list[int] = []
    with pytest.raises(TimeoutError):
        await read(pump_of(stream, silence=0.05), told)
    assert told == [1]
    await asyncio.wait_for(stream.closed.wait(), 5)


async def test_an_error_comes_after_the_chunks_before_it() -> None:
    async def chunks() -> AsyncIterator[int]:
        yield 1
        raise ValueError("torn")

    async def call() -> Any:
        return chunks()

    told: list[int] = []
    with pytest.raises(ValueError, match="torn"):
        await read(Pump(call, stream=True, silence=30), told)
    assert told == [1]


async def test_a_call_without_a_stream_has_its_result_at_the_end() -> None:
    async def call() -> Any:
        return "whole"

    pump = Pump(call, stream=False, silence=30)
    assert [batch async for batch in pump.batches()] == []
    assert pump.response == "whole"
