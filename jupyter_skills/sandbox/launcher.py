"""Where isolated kernels come from: Docker, or elsewhere if the settings say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jupyter_skills.errors import UsageProblem
from jupyter_skills.sandbox.host import Launcher
from jupyter_skills.sandbox.settings import DockerSandbox, RemoteSandbox

if TYPE_CHECKING:
    from jupyter_skills.sandbox.remote.provider import Provider


def launcher_for(
    settings: DockerSandbox,
    on_status: Callable[[str], None],
    remote: RemoteSandbox,
    provider: Callable[[str], Provider],
) -> Launcher:
    """What starts the kernels of a session.

    Args:
        settings: Their limits.
        on_status: Called with a word on what is being waited for, and with nothing when the wait is over.
        remote: Where they run, if not in Docker.
        provider: Called for a sandbox provider by its name.

    Raises:
        UsageProblem: There is more than one place to choose from.
    """
    if remote.server and remote.provider:
        raise UsageProblem(
            "RemoteSandbox has both a server and a provider", "Leave one empty: code can run in one place only"
        )
    if remote.server:
        from jupyter_server.gateway.gateway_client import GatewayClient

        from jupyter_skills.sandbox.remote.gateway import GatewayLauncher

        return GatewayLauncher(settings, remote.kernel_name, GatewayClient(parent=remote, url=remote.server))
    if remote.provider:
        from jupyter_skills.sandbox.remote.provider import ProviderLauncher

        return ProviderLauncher(settings, provider(remote.provider))
    from jupyter_skills.sandbox.docker.launcher import DockerLauncher

    return DockerLauncher(settings, on_status)
