"""What process 1 does in our own containers, done by running code in the kernel: for kernels that are elsewhere."""

from __future__ import annotations

import asyncio
import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from jupyter_skills.errors import SandboxDied, SandboxFailed
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.host import Look, ShellEnd, checked_look
from jupyter_skills.sandbox.inside import text_of
from jupyter_skills.sandbox.inside.folders import SKILLS, WORK

CHUNK = 1024 * 1024
_WITHIN = 60.0
_SHELL_GRACE = 5.0
_PACKAGES = ("jupyter_skills", "jupyter_skills.sandbox", "jupyter_skills.sandbox.inside")
_FILES = ("folders", "tallies", "programs", "services")
_MODULE = "__import__('sys').modules['_jupyter_skills']"

# The packages are there while the files import each other, and no longer: skills' tools import one of that name.
_LOADER = """
import sys, types
before = dict(sys.modules)
texts = {texts!r}
for name, text in texts.items():
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    exec(compile(text, name, "exec"), module.__dict__)
for name in texts:
    del sys.modules[name]
    if name in before:
        sys.modules[name] = before[name]
sys.modules["_jupyter_skills"] = module
"""


class ByCode(ABC):
    """The folder and shell services of a ``KernelHost``. Whatever the code inside answers is checked here."""

    @abstractmethod
    async def ask(self, expression: str, *, within: float, on_text: Callable[[str], None]) -> str:
        """Has the kernel evaluate an expression.

        Args:
            expression: Python for an ``Answer`` of ``inside/services.py``.
            within: Seconds to wait for it; a kernel that takes longer is ended.
            on_text: Called with what is printed meanwhile; by any thread.

        Returns:
            The answer's text.

        Raises:
            SandboxDied: The kernel is gone, or does not know the services any more.
        """

    @abstractmethod
    async def calm(self) -> None:
        """Makes sure that nothing asked for before goes on: interrupts, else ends the kernel."""

    async def bring_services(self) -> None:
        """Called once, when the kernel answers: brings the services there, and has the folders made.

        Raises:
            SandboxFailed: They can't be had.
        """
        texts = dict.fromkeys(_PACKAGES, "") | {f"{_PACKAGES[-1]}.{name}": text_of(name) for name in _FILES}
        load = f"exec({_LOADER.format(texts=texts)!r}, {{}})"
        try:
            await self._done("prepare", before=f"{load} or ")
        except SandboxDied:
            raise
        except SandboxFailed as error:
            raise SandboxFailed(
                f"The kernel can't have skills at {SKILLS} and files in {WORK}: {error.message}",
                "Choose a kernel whose image has these as empty folders of its user's",
            ) from None

    async def shell(self, command: str, *, limit: int, timeout: float, on_data: Callable[[bytes], None]) -> ShellEnd:
        """See ``KernelHost``."""
        room = limit

        def on_text(text: str) -> None:
            nonlocal room
            piece = text.encode(errors="replace")[:room]
            room -= len(piece)
            on_data(piece)

        try:
            end = await self._done(
                "shell",
                within=timeout + _SHELL_GRACE,
                on_text=on_text,
                command=command,
                limit=limit,
                timeout=timeout,
            )
        except asyncio.CancelledError:
            await self.calm()
            raise
        match end:
            case {"status": int() | None as status, "dropped": int(dropped)}:
                return ShellEnd(status, dropped)
        raise _nonsense()

    async def put(self, archive: bytes, target: str, *, replace: bool) -> None:
        """See ``KernelHost``."""
        for start in range(0, len(archive), CHUNK):
            piece = base64.b64encode(archive[start : start + CHUNK]).decode()
            await self._done("upload", data=piece, first=start == 0)
        await self._done("unpack", target=target, replace=replace)

    async def look(self, limit: int) -> Look:
        """See ``KernelHost``."""
        answer = await self._done("look", limit=limit)
        if not isinstance(answer, dict):
            raise _nonsense()
        return checked_look(answer, limit)

    async def get(self, path: str, limit: int) -> bytes | None:
        """See ``KernelHost``."""
        content = bytearray()
        try:
            piece = _bytes(await self._done("download", path=path, limit=limit, chunk=CHUNK))
            while piece:
                content += piece
                if len(content) > limit:
                    return None
                piece = _bytes(await self._done("more")) if len(piece) == CHUNK else b""
        except SandboxDied:
            raise
        except SandboxFailed:
            return None
        return bytes(content)

    async def _done(
        self,
        name: str,
        *,
        before: str = "",
        within: float = _WITHIN,
        on_text: Callable[[str], None] = lambda _: None,
        **arguments: str | bool | float,
    ) -> Any:
        """What a service returns."""
        words = "".join(f", {key}={value!r}" for key, value in arguments.items())
        text = await self.ask(f"{before}{_MODULE}.call({name!r}{words})", within=within, on_text=on_text)
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        match answer:
            case {"done": done}:
                return done
            case {"failed": str(reason)}:
                raise SandboxFailed(clean_text(reason), "Correct what it names")
        raise _nonsense()


def printed(expression: str, mark: str) -> str:
    """Code that prints an expression's ``Answer`` between marks.

    Args:
        expression: Python for the answer.
        mark: Text that nothing else will print.
    """
    return f"(lambda answer: {_MODULE}.tell({mark!r}, answer))({expression})"


def expressed(expressions: dict[str, str]) -> str:
    """An expression for what the kernel says of the expressions a request carries."""
    return f"{_MODULE}.call('express', expressions={expressions!r})"


def _bytes(answer: object) -> bytes:
    try:
        return base64.b64decode(answer, validate=True) if isinstance(answer, str) else b""
    except ValueError:
        raise _nonsense() from None


def _nonsense() -> SandboxFailed:
    return SandboxFailed("The kernel's answer makes no sense", "Stop the sandbox: a fresh one will start")
