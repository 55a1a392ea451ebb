"""The contract of every sandbox: in Docker here, on a Jupyter server, and at a provider that litellm knows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from jupyter_server.gateway.gateway_client import GatewayClient

from jupyter_skills.models.litellm_sandbox import LitellmSandboxes
from jupyter_skills.sandbox.host import Launcher
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.remote.gateway import GatewayLauncher
from jupyter_skills.sandbox.remote.provider import ProviderLauncher
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.testing.sandbox_contract import SandboxContract
from tests.sandbox.opensandbox import KEY, opensandbox
from tests.server.jupyter import TOKEN, jupyter

pytestmark = pytest.mark.docker

SETTINGS = DockerSandbox(audit="off")


def kernel(begin: Launcher | None) -> Iterator[IsolatedKernel]:
    sandbox = IsolatedKernel(SETTINGS, begin)
    yield sandbox
    asyncio.run(sandbox.stop())


class TestDocker(SandboxContract):
    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[IsolatedKernel]:
        yield from kernel(None)


class TestGateway(SandboxContract):
    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsolatedKernel]:
        folder = tmp_path_factory.mktemp("server")
        with jupyter("server", folder, {**os.environ, "HOME": str(folder)}) as url:
            yield from kernel(GatewayLauncher(SETTINGS, server=GatewayClient(url=url, auth_token=TOKEN)))


class TestProvider(SandboxContract):
    interrupts = streams = keeps_order = False

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[IsolatedKernel]:
        with opensandbox() as provider:
            yield from kernel(
                ProviderLauncher(SETTINGS, LitellmSandboxes("opensandbox", api_base=provider.url, api_key=KEY))
            )
            assert provider.sandboxes == {}, "it was deleted"
