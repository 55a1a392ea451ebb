"""A busy provider is asked again, for as long as somebody would wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_skills.errors import ModelBusy, ModelProblem, ModelRefused
from jupyter_skills.models.client import ModelReply, Pause, Piece, ReasoningDelta, TextDelta
from jupyter_skills.models.litellm_client import LitellmClient
from jupyter_skills.models.patience import Patient
from jupyter_skills.testing import ScriptedModel, Turn
from tests.models.conftest import request_to

SOON = 0.01


def busy(wait: float | None = SOON, status: int = 429) -> Turn:
    return Turn(status=status, message="slow down", retry_after=wait)


async def pieces(request: Any, tries: int = 4) -> list[Piece]:
    return [piece async for piece in Patient(LitellmClient(), tries).answer(request)]


async def test_it_asks_again_and_says_that_it_waits(model: ScriptedModel, provider: str, *, stream: bool) -> None:
    model.add(busy(), busy(status=503), Turn("at last"))
    first, second, text, reply = await pieces(request_to(model, provider, stream=stream))
    assert first == second == Pause(SOON, f"The provider of '{provider}/scripted' asks to wait: slow down")
    assert text == TextDelta("at last")
    assert isinstance(reply, ModelReply)
    assert len(model.requests) == 3


async def test_it_gives_up_after_so_many_tries_and_says_how_many(model: ScriptedModel) -> None:
    model.add(busy(), busy(), busy(), Turn("too late"))
    with pytest.raises(ModelBusy, match=r"slow down \(asked 3 times\). Wait a little") as caught:
        await pieces(request_to(model, "openai"), tries=3)
    assert caught.value.wait == SOON
    assert len(model.requests) == 3


async def test_the_waits_grow_where_the_provider_says_nothing(model: ScriptedModel) -> None:
    model.add(busy(None), busy(None))
    waits = Patient(LitellmClient()).answer(request_to(model, "openai"))
    assert await anext(waits) == Pause(1.0, "The provider of 'openai/scripted' asks to wait: slow down")
    assert (await anext(waits)).seconds == 2.0  # type: ignore[union-attr]
    await waits.aclose()


@pytest.mark.parametrize(("seconds", "words"), [(61, "2 minutes"), (3600, "1 h 0 min"), (86_399, "24 h 0 min")])
async def test_nobody_waits_for_longer_than_a_minute(model: ScriptedModel, seconds: int, words: str) -> None:
    model.add(busy(seconds))
    with pytest.raises(ModelBusy, match=f"slow down. Run the cell again in {words}"):
        await pieces(request_to(model, "openai"))
    assert len(model.requests) == 1


async def test_other_errors_are_passed_on_at_once(model: ScriptedModel) -> None:
    model.add(Turn(status=400, message="no"), Turn("never asked for"))
    with pytest.raises(ModelRefused):
        await pieces(request_to(model, "openai"))
    assert len(model.requests) == 1


class Breaking:
    """A client that yields some pieces before it is busy, as no provider's wire lets one script."""

    def __init__(self, *before: Piece) -> None:
        self.before = before
        self.asked = 0

    async def answer(self, _: Any) -> Any:
        self.asked += 1
        for piece in self.before:
            yield piece
        raise ModelBusy("busy in the middle", wait=0)


async def test_an_answer_that_was_seen_is_not_asked_for_again(model: ScriptedModel) -> None:
    client = Breaking(TextDelta("half an ans"))
    with pytest.raises(ModelProblem, match="busy in the middle"):
        _ = [piece async for piece in Patient(client).answer(request_to(model, "openai"))]  # type: ignore[arg-type]
    assert client.asked == 1


async def test_reasoning_may_come_again(model: ScriptedModel) -> None:
    client = Breaking(ReasoningDelta("hm"))
    with pytest.raises(ModelProblem, match="asked 4 times"):
        _ = [piece async for piece in Patient(client).answer(request_to(model, "openai"))]  # type: ignore[arg-type]
    assert client.asked == 4


async def test_stopping_ends_the_wait_at_once(model: ScriptedModel) -> None:
    model.add(busy(50))
    paused = asyncio.Event()

    async def ask() -> None:
        async for piece in Patient(LitellmClient()).answer(request_to(model, "openai")):
            assert isinstance(piece, Pause)
            paused.set()

    task = asyncio.create_task(ask())
    await paused.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)
