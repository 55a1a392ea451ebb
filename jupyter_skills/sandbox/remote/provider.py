"""The isolated kernel at a sandbox provider: anything that can create a sandbox, run code in it, and delete it.

Those that litellm knows are in ``models/litellm_sandbox.py``. They give back what came of a piece of code only once it
has ended, and can't interrupt it: what has to be stopped ends the sandbox. In it code must run in IPython, with state
kept, as E2B's and OpenSandbox's code interpreters do.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.host import Content, OnMessage
from jupyter_skills.sandbox.remote.by_code import expressed, printed
from jupyter_skills.sandbox.remote.elsewhere import RemoteHost, RemoteLauncher
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.thread import outlasting

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
# E2B has names of its own for some of these.
_KINDS = {
    "text": "text/plain",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}


class Provider(Protocol):
    """What runs code elsewhere, in the form that litellm gives it."""

    async def acreate_sandbox(self) -> Any:
        """Creates a sandbox, and returns a handle to it."""
        ...

    async def arun_code(self, *, container: Any, code: str) -> Any:
        """Runs Python in a sandbox.

        Args:
            container: Its handle.
            code: What to run; variables are kept from one call to the next.

        Returns:
            An object with ``stdout`` and ``stderr``, ``results`` (MIME bundles), and ``error`` (None, or ``name``,
            ``value`` and ``traceback``).
        """
        ...

    async def adelete_sandbox(self, *, container: Any) -> Any:
        """Deletes a sandbox."""
        ...


class ProviderHost(RemoteHost):
    """A sandbox of a provider. Implements ``KernelHost``.

    Args:
        provider: Whose.
        name: What to call it in errors.
    """

    def __init__(self, provider: Provider, name: str) -> None:
        super().__init__("isolated kernel at a provider")
        self._provider = provider
        self._name = name
        self._creating = asyncio.Lock()
        self._handle: Any = None

    @property
    def alive(self) -> bool:
        """See ``KernelHost``."""
        return self._handle is not None and self._died is None and self._ended is None

    async def start(self) -> None:
        """See ``RemoteHost``."""
        try:
            await outlasting(self._thread.submit(self._create()))
            await self.bring_services()
        except BaseException as error:
            await self.end()
            if isinstance(error, SandboxDied):
                raise SandboxFailed(
                    f"The sandbox of {self._name} can't be used: {error.message}",
                    "Choose a template that runs code in IPython",
                ) from None
            raise

    def request(self, kind: str, content: Content, on_message: OnMessage) -> asyncio.Future[Content]:
        """See ``KernelHost``. There are code and its results; of all else it is said that it is done."""
        return self._begun(self._requested(kind, content, on_message))

    async def interrupt(self) -> None:
        """Ends the sandbox: providers know no interrupt."""
        await self.end()

    async def calm(self) -> None:
        """See ``ByCode``."""
        await self.end()

    async def ask(self, expression: str, *, within: float, on_text: Callable[[str], None]) -> str:
        """See ``ByCode``."""
        asking = self._begun(self._answer(expression, on_text))
        await asyncio.wait({asking}, timeout=within)
        if not asking.done():
            await self.end()
            raise SandboxDied("lost", f"The sandbox of {self._name} does not answer")
        return asking.result()

    def _begun(self, work: Coroutine[Any, Any, _T]) -> asyncio.Future[_T]:
        future = asyncio.ensure_future(outlasting(self._thread.submit(work)))
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # who gave it up need not hear
        return future

    async def _create(self) -> None:
        async with self._creating:
            try:
                self._handle = await self._provider.acreate_sandbox()
            except Exception as error:  # noqa: BLE001 -- each provider has errors of its own
                raise SandboxFailed(
                    f"There is no sandbox to be had from {self._name}: {_said(error)}",
                    "Check its key and its address",
                ) from None

    async def _end(self) -> None:
        async with self._creating:  # what is asked for can't be taken back before there is a handle
            handle, self._handle = self._handle, None
        if handle is not None:
            try:
                await self._provider.adelete_sandbox(container=handle)
            except Exception as error:  # noqa: BLE001 -- as above
                _log.warning("A sandbox of %s may still be there for a while: %s", self._name, _said(error))

    async def _requested(self, kind: str, content: Content, on_message: OnMessage) -> Content:
        if kind != "execute_request":
            return {"status": "ok"}
        result = await self._run(str(content.get("code", "")))
        for name in ("stdout", "stderr"):
            if text := getattr(result, name, ""):
                on_message("stream", {"name": name, "text": text})
        for bundle in getattr(result, "results", None) or ():
            if isinstance(bundle, dict):
                on_message("display_data", {"data": {_KINDS.get(key, key): value for key, value in bundle.items()}})
        reply: dict[str, Any] = {"status": "ok"}
        error = getattr(result, "error", None)
        if isinstance(error, dict):
            traceback = error.get("traceback")
            raised = {
                "ename": str(error.get("name")),
                "evalue": str(error.get("value")),
                "traceback": [traceback] if isinstance(traceback, str) else traceback,
            }
            on_message("error", raised)
            reply = {"status": "error", **raised}
        # Also a pulse: a kernel that ended is replaced without a word, by one that has none of the variables.
        expressions = content.get("user_expressions") if reply["status"] == "ok" else None
        try:
            told = json.loads(await self._answer(expressed(dict(expressions or {})), _nothing))
            return {**reply, "user_expressions": dict(told["done"])}
        except (ValueError, KeyError, TypeError, RecursionError):  # code inside can say anything
            return {**reply, "user_expressions": {}}

    async def _answer(self, expression: str, on_text: Callable[[str], None]) -> str:
        mark = f"\n{secrets.token_hex(16)}\n"
        result = await self._run(printed(expression, mark))
        before, _, after = str(getattr(result, "stdout", "")).partition(mark)
        text, end, _ = after.partition(mark)
        if not end:
            raise self._lost(SandboxDied("exited", f"The kernel in the sandbox of {self._name} ended"))
        if before:
            on_text(before)
        return text

    async def _run(self, code: str) -> Any:
        try:
            return await self._provider.arun_code(container=self._handle, code=code)
        except Exception as error:  # noqa: BLE001 -- each provider has errors of its own
            raise self._lost(SandboxDied("lost", f"The sandbox of {self._name} is gone: {_said(error)}")) from None

    def _lost(self, error: SandboxDied) -> SandboxDied:
        self._died = self._died or error
        self._begin_end()
        return self._died


class ProviderLauncher(RemoteLauncher[ProviderHost]):
    """Starts kernels at a sandbox provider. Implements ``Launcher``.

    Args:
        settings: The limits on what comes back; read at each start. What code may use is the provider's to say.
        provider: What runs code elsewhere; errors name it by its ``str``.
    """

    def __init__(self, settings: DockerSandbox, provider: Provider) -> None:
        super().__init__(settings)
        self._provider = provider

    def _host(self) -> ProviderHost:
        return ProviderHost(self._provider, str(self._provider))


def _said(error: Exception) -> str:
    return clean_text(str(error).strip() or type(error).__name__)[:300]


def _nothing(_: str) -> None:
    """For code that prints nothing of interest."""
