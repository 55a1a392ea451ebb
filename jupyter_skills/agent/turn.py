"""One turn: ask the model, do what it calls for, tell it, and go on until it has finished."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jupyter_skills.agent.answer import Answer
from jupyter_skills.agent.asking import Asking
from jupyter_skills.agent.compaction import size
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Emit, Ended, Notice
from jupyter_skills.agent.limits import Limits, Purse
from jupyter_skills.agent.prompt.breakdown import Share, shares
from jupyter_skills.agent.prompt.content import pictures_message, without_media
from jupyter_skills.agent.prompt.system import Section, joined
from jupyter_skills.agent.tools import STOPPED, Toolbox
from jupyter_skills.errors import ModelOverlong, UsageProblem
from jupyter_skills.execution.result import Image
from jupyter_skills.models.client import Message, ModelClient, ModelFacts, ModelReply, ModelRequest, ToolCall, Usage
from jupyter_skills.models.messages import function_name
from jupyter_skills.words import CHARACTERS_PER_TOKEN

# A conversation is made shorter before it fills the model's context, to where it won't have to be again soon.
_FULL, _ROOMY = 0.8, 0.5
# After these the user goes on from what there is; after a failure, by the same prompt once more.
_STOPPED_BY_USER = ("interrupted", "timeout")


@dataclass(frozen=True)
class Turn:
    """Everything that one turn needs.

    Args:
        model: The model's name.
        system: The system message.
        toolbox: The tools on offer.
        client: Reaches the model.
        emit: Told of everything that happens.
        facts: What is known of the model.
        limits: What the turn may take.
        redact: Called with each result of a call; returns it without secrets.
        stream: Whether text is wanted piece by piece.
        timeout: Seconds that the model may take for each request, or piece of an answer.
        arguments: More keyword arguments for the provider, on every request.
        others: Tools of the caller's own. A reply that calls one of them ends the turn: the caller goes on.
        compacts: Whether what was said may be made shorter to fit.
    """

    model: str
    system: Sequence[Section]
    toolbox: Toolbox
    client: ModelClient
    emit: Emit
    facts: ModelFacts = field(default_factory=ModelFacts)
    limits: Limits = field(default_factory=Limits)
    redact: Callable[[str], str] = str
    stream: bool = True
    timeout: float = 120.0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    others: Sequence[Mapping[str, Any]] = ()
    compacts: bool = True

    async def first_request(self, said: Sequence[Message], conversation: Conversation) -> ModelRequest:
        """What ``take`` would send first; nothing is sent, and nothing changes.

        Raises:
            PriceUnknown: There is a limit on the cost, and no price.
        """
        return await _Course(self, conversation.branch(), said).first()

    async def take(self, said: Sequence[Message], conversation: Conversation) -> Answer:
        """Asks, and puts the exchange into the conversation.

        If the turn fails or is stopped after the model has begun to work, the conversation keeps what
        was done, with every tool call answered; of an answer that was stopped, what there is. A prompt that got no
        answer at all is not kept. In each case ``Ended`` tells what there is.

        Args:
            said: The user's prompt as a message; a caller who keeps the conversation gives all of it.
            conversation: What was said before.

        Raises:
            ModelProblem: The model did not answer.
            SandboxProblem: There is no sandbox for the code.
            ConsentUnavailable: There is nobody to ask whether code may run.
        """
        course = _Course(self, conversation, said)
        ending = "failed"
        try:
            async with asyncio.timeout(self.limits.seconds) as deadline:
                try:
                    ending = await course.run()
                except (asyncio.CancelledError, KeyboardInterrupt):
                    ending = "interrupted"
                    raise
        except TimeoutError:
            if not deadline.expired():
                raise
            ending = "timeout"
        finally:
            answer = course.end(ending)
            if answer.messages:
                conversation.extend(answer.messages)
            self.emit(Ended(answer))
        return answer


class _Course:
    """How a turn goes: what was said in it so far, and what came of it."""

    def __init__(self, turn: Turn, conversation: Conversation, said: Sequence[Message]) -> None:
        self._turn = turn
        self._conversation = conversation
        self._given = len(said)
        self._purse = Purse(turn.limits.cost, turn.facts)
        self._asking = Asking(turn.client, turn.emit)
        self._last: _Sent | None = None
        self._tokens_per_character = 1 / CHARACTERS_PER_TOKEN
        self.said = list(said)
        self.replies: list[ModelReply] = []

    async def run(self) -> str:
        """Goes on until there is a reason to end; returns it."""
        while len(self.replies) < self._turn.limits.steps:
            sent = await self._sent()
            if sent is None:
                return "max_cost"
            self._last, reply = sent, sent.reply
            self.replies.append(reply)
            if reply.tool_calls or reply.text.strip() or reply.has_more:  # some providers take no empty message back
                self.said.append(reply.message)
            await self._purse.pay(sent.request, reply, self._turn.client)
            self._learn(sent)
            if not reply.tool_calls:
                held = sent.request.arguments != self._turn.arguments
                return "max_cost" if held and reply.finish_reason == "length" else reply.finish_reason
            if not await self._work(reply.tool_calls):
                return "tool_calls"
        return "max_steps"

    async def first(self) -> ModelRequest:
        """The first request as it would be sent; one that could cost too much as it is."""
        request = self._fitting()
        return await self._purse.allowed(request, self._turn.client) or request

    async def _sent(self) -> _Sent | None:
        """The next request and its answer; None if it could cost too much."""
        request = self._fitting()
        while True:
            allowed = await self._purse.allowed(request, self._turn.client)
            if allowed is None:
                return None
            earlier, said = self._conversation.read(), tuple(self.said)
            try:
                return _Sent(allowed, earlier, said, await self._asking.ask(allowed))
            except ModelOverlong:
                # The provider knows better how much it takes in; there is an end, since it gets shorter each time.
                if not self._turn.compacts or not self._shorten(size(allowed.messages) // 2):
                    raise
            request = self._request()

    def _fitting(self) -> ModelRequest:
        """The next request; before one that would fill the model's context, what was said is made shorter."""
        request = self._request()
        context = self._turn.facts.context
        if context is None or not self._turn.compacts:
            return request
        room = context / self._tokens_per_character
        if _length(request.messages, request.tools) <= _FULL * room:
            return request
        shorter = self._shorten(int(_ROOMY * room) - _length(self._system(), request.tools))
        return self._request() if shorter else request

    def _request(self) -> ModelRequest:
        turn = self._turn
        earlier = self._conversation.read()
        if not turn.facts.sees:
            earlier = [without_media(message) for message in earlier]
        return ModelRequest(
            turn.model,
            [*self._system(), *earlier, *self.said],
            [*_clean(self._own_tools(), turn.redact), *turn.others],
            turn.stream,
            turn.timeout,
            turn.arguments,
        )

    def _own_tools(self) -> list[dict[str, Any]]:
        own = self._turn.toolbox.definitions()
        taken = {function_name(tool) for tool in own} & {function_name(tool) for tool in self._turn.others}
        if taken:  # providers refuse two tools of one name, and nobody could tell whose a call is
            names = ", ".join(f"'{name}'" for name in sorted(taken))
            raise UsageProblem(f"There are tools called {names} already", "Give yours other names")
        return own

    def _system(self) -> list[Message]:
        text = joined(self._turn.system)
        return [{"role": "system", "content": text}] if text else []

    def _shorten(self, room: int) -> bool:
        shorter = self._conversation.compact(self.said, room)
        if shorter is None:
            return False
        self.said = shorter
        self._turn.emit(Notice("Earlier parts of the conversation were shortened to fit into the model's context."))
        return True

    def _learn(self, sent: _Sent) -> None:
        """How many tokens a character is to this model; guesses are only for its first answer."""
        if tokens := sent.reply.usage.prompt_tokens:
            characters = _length(sent.request.messages, sent.request.tools)
            self._tokens_per_character = min(1.0, max(0.1, tokens / characters))

    async def _work(self, calls: tuple[ToolCall, ...]) -> bool:
        """Does what was called for, in order, for the calls of one reply may build on each other.

        Returns:
            Whether that was all; the caller's own tools are left to the caller.
        """
        others = {function_name(tool) for tool in self._turn.others}
        ours = [call for call in calls if call.name not in others]
        images: list[Image] = []
        done = 0
        try:
            for call in ours:
                result = await self._turn.toolbox.run(call)
                self.said.append(_result(call, self._turn.redact(result.text)))
                images += result.images
                done += 1
        finally:
            self.said += [
                _result(call, self._turn.redact(self._turn.toolbox.stopped) if call is ours[done] else STOPPED)
                for call in ours[done:]
            ]
        if len(ours) < len(calls):
            return False
        if images and self._turn.facts.sees:
            self.said.append(pictures_message(images))
        return True

    def end(self, ending: str) -> Answer:
        """All that there is; nothing comes after it.

        Args:
            ending: Why it ends.
        """
        if ending in _STOPPED_BY_USER and self._asking.unfinished.strip():
            self.said.append({"role": "assistant", "content": self._asking.unfinished})
        answered = any(message["role"] == "assistant" for message in self.said[self._given :])
        toolbox = self._turn.toolbox
        files = tuple(toolbox.files.values())
        costs = [reply.cost for reply in self.replies]
        texts = [*(reply.text for reply in self.replies), self._asking.unfinished]
        return Answer(
            text="\n\n".join(text.strip() for text in texts if text.strip()),
            model=self._turn.model,
            finish_reason=ending,
            files=files,
            images=(*toolbox.images, *(file.image for file in files if file.image)),
            code=tuple(toolbox.code),
            calls=tuple(call for reply in self.replies for call in reply.tool_calls),
            usage=sum((reply.usage for reply in self.replies), Usage()),
            cost=None if not costs or None in costs else sum(cost for cost in costs if cost is not None),
            messages=tuple(self.said) if answered else (),
            shares=self._shares(),
            raws=tuple(reply.raw for reply in self.replies),
        )

    def _shares(self) -> tuple[Share, ...]:
        if self._last is None:
            return ()
        sent = self._last
        return shares(
            self._turn.system, sent.request.tools, sent.earlier, sent.said, sent.reply, self._turn.facts.prices
        )


@dataclass(frozen=True)
class _Sent:
    """A request that was answered: what of it was said before this prompt and since, and the answer."""

    request: ModelRequest
    earlier: Sequence[Message]
    said: Sequence[Message]
    reply: ModelReply


def _length(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> int:
    """About how many characters a request with these is."""
    return size(messages) + len(str(tools))


def _clean(definitions: list[dict[str, Any]], redact: Callable[[str], str]) -> list[dict[str, Any]]:
    """Tools without secrets: their authors may have put a default or an example into them."""
    text = json.dumps(definitions, ensure_ascii=False)
    clean = redact(text)
    made: list[dict[str, Any]] = definitions if clean == text else json.loads(clean)
    return made


def _result(call: ToolCall, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text}
