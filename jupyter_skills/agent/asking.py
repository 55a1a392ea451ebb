"""One request to the model, told as it goes."""

from __future__ import annotations

from contextlib import aclosing

from jupyter_skills.agent.events import Emit, Notice, TextDone, Waiting
from jupyter_skills.models.client import (
    ModelClient,
    ModelReply,
    ModelRequest,
    Pause,
    ReasoningDelta,
    Remark,
    TextDelta,
)


class Asking:
    """Asks, and tells what comes.

    Args:
        client: Reaches the model.
        emit: Told of the waiting and of each piece of text.
    """

    def __init__(self, client: ModelClient, emit: Emit) -> None:
        self._client = client
        self._emit = emit
        self._texts: list[str] = []

    @property
    def unfinished(self) -> str:
        """The text of an answer that did not come to its end; empty after one that did."""
        return "".join(self._texts)

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Sends a request.

        Raises:
            ModelProblem: There is no answer.
        """
        self._texts = []
        self._emit(Waiting(f"Waiting for {request.model}"))
        thinking = False
        reply = None
        try:
            async with aclosing(self._client.answer(request)) as pieces:
                async for piece in pieces:
                    match piece:
                        case TextDelta(text):
                            if not self._texts:
                                self._emit(Waiting(""))
                            self._texts.append(text)
                            self._emit(piece)
                        case ReasoningDelta():
                            if not thinking and not self._texts:
                                self._emit(Waiting(f"{request.model} is thinking"))
                            thinking = True
                            self._emit(piece)
                        case Pause(seconds, reason):
                            self._emit(Waiting(f"{reason}; trying again in {seconds:.0f} s"))
                        case Remark(text):
                            self._emit(Notice(text))
                        case ModelReply():
                            reply = piece
        finally:
            self._emit(Waiting(""))
            if self._texts:
                self._emit(TextDone(self.unfinished))
        assert reply is not None, "a ModelClient ends with a reply or raises"
        self._texts = []
        return reply
