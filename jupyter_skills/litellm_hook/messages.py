"""Calls in the shape of Anthropic's messages: what answers them in a provider's place.

Source: Anthropic API reference, "Create a Message" and "Streaming Messages".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.served import answered
from jupyter_skills.agent.tool_names import LOAD_SKILL
from jupyter_skills.litellm_hook.failures import raised_as_litellms
from jupyter_skills.litellm_hook.logs import in_private, log_failure, log_success, private_context
from jupyter_skills.litellm_hook.marks import marks, stopped_by
from jupyter_skills.litellm_hook.one_message import OneMessage, blocks_for_the_caller, summed
from jupyter_skills.litellm_hook.orders import ORDERS, PROVIDER, Order
from jupyter_skills.models.client import Message
from jupyter_skills.models.litellm_messages import MessagesClient, wrapped, wrapped_tool
from jupyter_skills.models.message_blocks import messages_of
from jupyter_skills.models.usual import usual_client

_LIMIT_REACHED = "pause_turn"  # Anthropic's own word for a loop of its own that has not come to its end


class SkillsInterceptor:
    """Answers messages that were ordered with skills: a ``MessagesInterceptor`` of litellm's, which asks each in turn.

    Its class is not inherited, since its place differs from release to release.
    """

    def can_handle(self, tools: Any, custom_llm_provider: str | None) -> bool:
        """Whether the hook has taken the request up."""
        return custom_llm_provider == PROVIDER

    async def handle(self, *, litellm_logging_obj: Any, **_: Any) -> Any:
        """The answer: a dictionary, or an async iterator of server-sent events as bytes."""
        call = litellm_logging_obj
        order = ORDERS.taken_up(call)
        if order.stream:
            return _events(order, call)
        course = _Course(order)
        with ORDERS.at_work(call), raised_as_litellms(order.model, order.provider):
            answer, added = await in_private(course.answer())
        await log_success(call, answer)
        return course.message(answer, added)


async def _events(order: Order, call: Any) -> AsyncGenerator[bytes, None]:
    """The events of all answers as those of one message."""
    events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    course = _Course(order, events)
    together = OneMessage(course.names)
    try:
        with ORDERS.at_work(call), raised_as_litellms(order.model, order.provider):
            turn = asyncio.create_task(course.answer(), context=private_context())
            turn.add_done_callback(lambda _: events.put_nowait(None))
            try:
                while (event := await events.get()) is not None:
                    for one in together.taken_in(event):
                        yield _as_bytes(one)
                answer, added = await turn
            finally:
                turn.cancel()
                await asyncio.wait({turn})
    except Exception as error:
        await log_failure(call, error)
        raise
    for one in together.ended(course.message(answer, added)):
        yield _as_bytes(one)
    await log_success(call, answer)


class _Course:
    """One order at work.

    Args:
        order: The order.
        events: Where the events of streams go.
    """

    def __init__(self, order: Order, events: asyncio.Queue[dict[str, Any] | None] | None = None) -> None:
        self._order = order
        self._arguments = dict(order.arguments)
        system = self._arguments.pop("system", None)
        client = MessagesClient(usual_client(tries=1), system, events.put_nowait if events else None)
        self._client = client
        self.names = frozenset(str(tool.get("name")) for tool in order.tools)

    async def answer(self) -> tuple[Answer, tuple[Message, ...]]:
        """Takes the turn; what to add to the conversation is in Anthropic's form."""
        order = self._order
        wishes = order.wishes(
            arguments=self._arguments, others=tuple(map(wrapped_tool, order.tools)), client=self._client
        )
        return await answered(wishes, [wrapped(message) for message in order.messages], _loaded_in(order.messages))

    def message(self, answer: Answer, added: Sequence[Message]) -> dict[str, Any]:
        """The last answer as the whole call's."""
        last: Mapping[str, Any] = answer.raws[-1] if answer.raws else _empty(answer)
        made = {
            **last,
            "content": blocks_for_the_caller(last.get("content") or (), self.names),
            "usage": summed([reply.get("usage") or {} for reply in answer.raws]),
            **marks(answer, messages_of(added)),
        }
        if stopped_by(answer):
            made["stop_reason"] = _LIMIT_REACHED
        return made


def _empty(answer: Answer) -> dict[str, Any]:
    """A message of a model that was not asked."""
    return {"id": "msg_none", "type": "message", "role": "assistant", "model": answer.model, "content": []}


def _loaded_in(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The skills that the model has loaded, as far as the caller's messages tell."""
    contents = [message.get("content") for message in messages if message.get("role") == "assistant"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [
        str(block["input"]["name"])
        for block in blocks
        if block.get("type") == "tool_use" and block.get("name") == LOAD_SKILL and "name" in (block.get("input") or {})
    ]


def _as_bytes(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
