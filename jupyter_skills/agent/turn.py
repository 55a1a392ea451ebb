"""One turn: ask the model, do what it calls for, tell it, and go on until it has finished."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Emit, TextDone, Waiting
from jupyter_skills.agent.tools import Toolbox
from jupyter_skills.models.client import Message, ModelClient, ModelReply, ModelRequest, TextDelta, ToolCall, Usage


@dataclass(frozen=True)
class Turn:
    """Everything that one turn needs.

    Args:
        model: The model's name.
        system: The system message.
        toolbox: The tools on offer.
        client: Reaches the model.
        emit: Told of everything that happens.
        max_steps: How many requests may be sent.
        stream: Whether text is wanted piece by piece.
        timeout: Seconds that the model may take for each request, or piece of an answer.
        arguments: More keyword arguments for the provider, on every request.
    """

    model: str
    system: str
    toolbox: Toolbox
    client: ModelClient
    emit: Emit
    max_steps: int = 20
    stream: bool = True
    timeout: float = 120.0
    arguments: Mapping[str, Any] = field(default_factory=dict)

    async def take(self, prompt: str, conversation: Conversation) -> Answer:
        """Asks, and puts the exchange into the conversation.

        If the turn fails or is stopped after the model has begun to work, the conversation keeps what
        was done, with every tool call answered; a prompt that got no answer at all is not kept.

        Raises:
            ModelProblem: The model did not answer.
            SandboxProblem: There is no sandbox for the code.
            ConsentUnavailable: There is nobody to ask whether code may run.
        """
        said: list[Message] = [{"role": "user", "content": prompt}]
        replies: list[ModelReply] = []
        try:
            while len(replies) < self.max_steps:
                reply = await self._ask([*conversation.messages, *said])
                replies.append(reply)
                said.append(reply.message)
                if not reply.tool_calls:
                    break
                await self._work(reply.tool_calls, said)
        finally:
            if replies:
                conversation.extend(said)
        return self._answer(replies, said)

    async def _ask(self, messages: list[Message]) -> ModelReply:
        self.emit(Waiting(f"Waiting for {self.model}"))
        request = ModelRequest(
            self.model,
            [{"role": "system", "content": self.system}, *messages],
            self.toolbox.definitions(),
            self.stream,
            self.timeout,
            self.arguments,
        )
        text = ""
        reply = None
        try:
            async with aclosing(self.client.answer(request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TextDelta):
                        if not text:
                            self.emit(Waiting(""))
                        text += piece.text
                        self.emit(piece)
                    else:
                        reply = piece
        finally:
            self.emit(Waiting(""))
            if text:
                self.emit(TextDone(text))
        assert reply is not None, "a ModelClient ends with a reply or raises"
        return reply

    async def _work(self, calls: tuple[ToolCall, ...], said: list[Message]) -> None:
        """Does what was called for, in order: the calls of one reply may build on each other."""
        done = 0
        try:
            for call in calls:
                said.append(_result(call, await self.toolbox.run(call)))
                done += 1
        finally:
            said += [_result(call, "Stopped before it could finish.") for call in calls[done:]]

    def _answer(self, replies: list[ModelReply], said: list[Message]) -> Answer:
        last = replies[-1]
        costs = [reply.cost for reply in replies]
        files = tuple(self.toolbox.files.values())
        return Answer(
            text="\n\n".join(reply.text.strip() for reply in replies if reply.text.strip()),
            model=self.model,
            finish_reason="max_steps" if last.tool_calls else last.finish_reason,
            files=files,
            images=(*self.toolbox.images, *(file.image for file in files if file.image)),
            code=tuple(self.toolbox.code),
            calls=tuple(call for reply in replies for call in reply.tool_calls),
            usage=sum((reply.usage for reply in replies), Usage()),
            cost=None if None in costs else sum(cost for cost in costs if cost is not None),
            messages=tuple(said),
        )


def _result(call: ToolCall, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text}
