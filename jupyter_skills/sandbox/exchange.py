"""The requests that are under way with one kernel, and who waits for what comes of each."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jupyter_skills.sandbox.host import Content, OnMessage

# The kernel drops messages in a flood, the one that says idle too: the reply is what counts. Until it is sure that this
# happened, a large picture may still be on its way.
_IDLE_GRACE = 5.0
# Far above what output has whose length is bounded, in the kernel and after it.
_MOST_PARTS = 200_000


@dataclass
class _Open:
    future: asyncio.Future[Content]
    on_message: OnMessage
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    wants_idle: bool = True
    reply: Content | None = None
    idle: bool = False


class Exchange:
    """Leads each message from a kernel to the one whose request it belongs to; all others are dropped.

    Requests are begun in event loops, several perhaps; messages may come from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._failed: Exception | None = None

    def begin(self, number: str, on_message: OnMessage, *, wants_idle: bool = True) -> asyncio.Future[Content]:
        """Notes a request before it is sent.

        Args:
            number: The request's ``msg_id``.
            on_message: Called with what the kernel publishes about it, by the thread that brings it.
            wants_idle: Whether the request is over only once the kernel is idle, too.
        """
        opened = _Open(asyncio.get_running_loop().create_future(), on_message, wants_idle=wants_idle)
        with self._lock:
            if self._failed is None:
                self._open[number] = opened
        if self._failed is not None:
            opened.future.set_exception(self._failed)

        def over(future: asyncio.Future[Content]) -> None:
            self._open.pop(number, None)
            if not future.cancelled():
                future.exception()  # seen: whoever gave the request up need not hear of it

        opened.future.add_done_callback(over)
        return opened.future

    def published(self, message: Mapping[str, Any]) -> None:
        """Takes a message from the kernel's iopub channel."""
        opened, kind, content = self._belongs(message)
        if opened is None:
            return
        if kind == "status" and content.get("execution_state") == "idle":
            opened.idle = True
            self._over(opened)
        else:
            opened.on_message(kind, content)

    def replied(self, message: Mapping[str, Any]) -> None:
        """Takes a message from the kernel's shell channel."""
        opened, _, content = self._belongs(message)
        if opened is not None:
            opened.reply = content
            self._over(opened)

    def fail(self, error: Exception) -> None:
        """Ends all requests, those to come too: the kernel is gone."""
        with self._lock:
            self._failed = error
            left = list(self._open.values())
        for opened in left:
            _soon(opened, partial(_failed, opened.future, error))

    def _belongs(self, message: Mapping[str, Any]) -> tuple[_Open | None, str, Content]:
        parent, content = message.get("parent_header"), message.get("content")
        if not isinstance(parent, dict) or not isinstance(content, dict):  # code inside can send anything
            return None, "", {}
        return self._open.get(str(parent.get("msg_id"))), str(message.get("msg_type")), content

    @staticmethod
    def _over(opened: _Open) -> None:
        reply = opened.reply
        if reply is None:
            return

        def end() -> None:
            if not opened.future.done():
                opened.future.set_result(reply)

        if opened.idle or not opened.wants_idle:
            _soon(opened, end)
        else:
            _soon(opened, lambda: opened.loop.call_later(_IDLE_GRACE, end))


def is_bounded(parts: Iterable[bytes]) -> bool:
    """Whether a message can be read without its many small parts taking a multiple of its size.

    Args:
        parts: Its JSON, before anything reads it.
    """
    return all(sum(map(part.count, (b",", b"[", b"{"))) <= _MOST_PARTS for part in parts)


def _failed(future: asyncio.Future[Content], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _soon(opened: _Open, do: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and nobody waits
        opened.loop.call_soon_threadsafe(do)
