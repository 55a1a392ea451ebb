"""Starting kernels in Docker for a session: image, packages, controls, limits. Implements ``Launcher``."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence

from jupyter_skills.errors import BuildFailed, SandboxFailed
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.docker.host import DockerHost
from jupyter_skills.sandbox.docker.image.derived import ensure
from jupyter_skills.sandbox.docker.owner import sweep
from jupyter_skills.sandbox.pool import Pool
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.setup import get_ready, warm_up
from jupyter_skills.sandbox.thread import in_thread

_swept = threading.Event()


class DockerLauncher:
    """Starts kernels in containers, and keeps some ready if the settings say so.

    Args:
        settings: Their limits; read at each start.
        on_status: Called with a word on what is being waited for, and with nothing when the wait is over.
    """

    def __init__(self, settings: DockerSandbox, on_status: Callable[[str], None]) -> None:
        self._settings = settings
        self._on_status = on_status
        self._pool = Pool(self._ready_ahead)

    async def launch(self, requirements: Sequence[str]) -> DockerHost:
        """See ``Launcher``."""
        recipe = self._recipe(requirements)
        host = await self._pool.take(recipe)
        if host is None:
            return await self._made(requirements, self._on_status)
        await host.resume()
        return host

    def prepare(self, requirements: Sequence[str]) -> None:
        """See ``Launcher``."""
        size = self._settings.pool_size
        if size or not self._pool.empty:  # called after each run: what a kernel depends on is collected if it matters
            self._pool.fill(self._recipe(requirements), size)

    async def close(self) -> None:
        """See ``Launcher``."""
        await self._pool.close()

    def _recipe(self, requirements: Sequence[str]) -> tuple[object, ...]:
        """All that a kernel's making depends on: one made ahead by another recipe is of no use."""
        values = self._settings.trait_values(config=True)
        return (tuple(requirements), *((name, _frozen(value)) for name, value in sorted(values.items())))

    async def _ready_ahead(self, recipe: tuple[object, ...]) -> DockerHost:
        requirements = recipe[0]
        assert isinstance(requirements, tuple)
        host = await self._made(requirements, lambda _: None)
        try:
            await warm_up(host)
            await host.pause()
        except BaseException:
            await host.end()
            raise
        return host

    async def _made(self, requirements: Sequence[str], on_status: Callable[[str], None]) -> DockerHost:
        loop = asyncio.get_running_loop()
        given_up = threading.Event()

        def still_wanted() -> None:
            if given_up.is_set():
                raise BuildFailed("Nobody waits for it any more", "Ask for it again")

        def progress(line: str) -> None:
            still_wanted()
            loop.call_soon_threadsafe(on_status, f"Installing {', '.join(requirements)}: {line}")

        try:
            on_status("Starting the isolated kernel")
            engine, image = await in_thread(lambda: self._image(requirements, progress, still_wanted))
            host = DockerHost(engine, image, self._settings)
            await host.start()
            await get_ready(host, self._settings)
        finally:
            given_up.set()
            on_status("")
        return host

    def _image(
        self, requirements: Sequence[str], on_line: Callable[[str], None], still_wanted: Callable[[], None]
    ) -> tuple[Engine, str]:
        """The engine, and the name of the image to start from."""
        engine = Engine()
        try:
            if not _swept.is_set():
                _swept.set()
                with contextlib.suppress(SandboxFailed):  # what is left there keeps nobody from starting
                    sweep(engine)
            image = ensure(engine, self._settings.image, requirements, on_line)
            still_wanted()  # else nobody would close the engine
        except BaseException:
            engine.close()
            raise
        return engine, image


def _frozen(value: object) -> object:
    """A value that stays as it is when a list in the settings is added to."""
    return tuple(value) if isinstance(value, list) else value
