"""Sandboxes of a provider that litellm knows: what goes wrong on the way there, and that none is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from jupyter_skills.errors import BuildFailed, SandboxFailed
from jupyter_skills.execution.result import Execution
from jupyter_skills.models.litellm_sandbox import LitellmSandboxes
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.remote.provider import ProviderLauncher
from jupyter_skills.sandbox.settings import DockerSandbox
from tests.conftest import until
from tests.sandbox.opensandbox import KEY, OpenSandbox, opensandbox

pytestmark = pytest.mark.docker

SETTINGS = DockerSandbox(audit="off")


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenSandbox]:
    with opensandbox() as provider:
        yield provider


@pytest.fixture
async def sandbox(provider: OpenSandbox) -> AsyncIterator[IsolatedKernel]:
    sandbox = there(provider)
    yield sandbox
    await sandbox.stop()
    assert provider.sandboxes == {}


def there(provider: OpenSandbox, **options: Any) -> IsolatedKernel:
    options = {"api_base": provider.url, "api_key": KEY, **options}
    return IsolatedKernel(SETTINGS, ProviderLauncher(SETTINGS, LitellmSandboxes("opensandbox", **options)))


async def run(sandbox: IsolatedKernel, code: str) -> Execution:
    return await sandbox.run("python", code, timeout=30, on_output=lambda _: None)


async def test_a_wrong_key_is_one_line_with_what_to_check(provider: OpenSandbox) -> None:
    with pytest.raises(SandboxFailed, match=r"no sandbox to be had from 'opensandbox': .*401.*Check its key"):
        await there(provider, api_key="another").start()


async def test_a_provider_that_litellm_does_not_know_is_named() -> None:
    with pytest.raises(SandboxFailed, match="'nobody'"):
        await IsolatedKernel(SETTINGS, ProviderLauncher(SETTINGS, LitellmSandboxes("nobody"))).start()


async def test_a_start_that_is_given_up_leaves_no_sandbox(provider: OpenSandbox, sandbox: IsolatedKernel) -> None:
    start = asyncio.create_task(sandbox.start())
    await asyncio.to_thread(until, lambda: provider.sandboxes)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    await asyncio.to_thread(until, lambda: not provider.sandboxes)


async def test_a_sandbox_that_the_provider_ended_is_said_to_be_gone(
    provider: OpenSandbox, sandbox: IsolatedKernel
) -> None:
    await run(sandbox, "x = 1")
    (number,) = provider.sandboxes
    await asyncio.wrap_future(provider.thread.submit(provider.delete(number)))
    done = await run(sandbox, "x")
    assert (done.outcome, done.state_lost) == ("died", True)
    assert (await run(sandbox, "1 + 1")).text == "2\n"


async def test_what_is_not_installed_there_is_refused_in_one_line(sandbox: IsolatedKernel) -> None:
    with pytest.raises(BuildFailed, match=r"lacks nothing-like-it, .*Have them installed in the image"):
        await sandbox.install(["nothing-like-it"])


async def test_any_object_with_the_three_functions_will_do() -> None:
    with pytest.raises(SandboxFailed, match=r"no sandbox to be had from .*Empty.*: there is no room"):
        await IsolatedKernel(SETTINGS, ProviderLauncher(SETTINGS, Empty())).start()


class Empty:
    async def acreate_sandbox(self) -> Any:
        raise RuntimeError("there is no room")

    async def arun_code(self, *, container: Any, code: str) -> Any:
        raise AssertionError("there is nothing to run it in")

    async def adelete_sandbox(self, *, container: Any) -> Any:
        raise AssertionError("there is nothing to delete")
