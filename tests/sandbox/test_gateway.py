"""Kernels on a Jupyter server: what goes wrong on the way there, and that none is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.gateway.gateway_client import GatewayClient

from jupyter_skills.errors import BuildFailed, SandboxDied, SandboxFailed
from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.files import tar_of
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.remote.gateway import GatewayHost, GatewayLauncher
from jupyter_skills.sandbox.settings import DockerSandbox
from tests.conftest import until
from tests.server.jupyter import TOKEN, fetch, jupyter

pytestmark = pytest.mark.docker

SETTINGS = DockerSandbox(audit="off")
OTHER_LANGUAGE = """
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

class Silent(Kernel):
    implementation = language = "silent"
    implementation_version = banner = "1"
    language_info = {"name": "silent", "mimetype": "text/plain", "file_extension": ".txt"}

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False):
        return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}

IPKernelApp.launch_instance(kernel_class=Silent)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    for name, argv in {
        "other-language": [sys.executable, "-c", OTHER_LANGUAGE, "-f", "{connection_file}"],
        "broken": [sys.executable, "-c", "raise SystemExit(1)"],
        "missing": ["/nowhere/python"],
    }.items():
        (folder / "kernels" / name).mkdir(parents=True)
        spec = {"argv": argv, "display_name": name, "language": "python"}
        (folder / "kernels" / name / "kernel.json").write_text(json.dumps(spec))
    environment = {**os.environ, "HOME": str(folder), "JUPYTER_PATH": str(folder)}
    options = ["--KernelRestarter.restart_limit=1", "--KernelRestarter.time_to_dead=0.5"]
    with jupyter("server", folder, environment, "--ServerApp.base_url=/Some/Base/", *options) as url:
        yield f"{url}/Some/Base"


@pytest.fixture
async def sandbox(server: str) -> AsyncIterator[IsolatedKernel]:
    sandbox = there(server)
    yield sandbox
    await sandbox.stop()
    assert kernels(server) == []


def there(url: str, kernel_name: str = "python3-isolated", **settings: Any) -> IsolatedKernel:
    client = GatewayClient(**{"url": url, "auth_token": TOKEN, **settings})
    return IsolatedKernel(SETTINGS, GatewayLauncher(SETTINGS, kernel_name, client))


def kernels(url: str) -> list[dict[str, Any]]:
    return json.loads(fetch(f"{url}/api/kernels", TOKEN)[1])


async def run(sandbox: IsolatedKernel, code: str) -> Execution:
    return await sandbox.run("python", code, timeout=30, on_output=lambda _: None)


def host_of(sandbox: IsolatedKernel) -> GatewayHost:
    assert isinstance(sandbox._host, GatewayHost)
    return sandbox._host


async def test_a_stopped_sandbox_leaves_no_kernel_on_the_server(server: str, sandbox: IsolatedKernel) -> None:
    await sandbox.start()
    assert [kernel["id"] for kernel in kernels(server)] == [host_of(sandbox).kernel]
    await sandbox.stop()
    assert kernels(server) == []


async def test_a_start_that_is_given_up_leaves_no_kernel(server: str, sandbox: IsolatedKernel) -> None:
    at_once = asyncio.create_task(sandbox.start())
    await asyncio.sleep(0)
    at_once.cancel()
    later = asyncio.create_task(sandbox.start())
    await asyncio.to_thread(until, lambda: kernels(server))
    later.cancel()
    for start in (at_once, later):
        with pytest.raises(asyncio.CancelledError):
            await start
    await asyncio.to_thread(until, lambda: not kernels(server))


async def test_a_kernel_of_another_language_is_refused_and_ended(server: str) -> None:
    with pytest.raises(SandboxFailed, match=r"'other-language' can't be used: .*Choose one that runs Python"):
        await there(server, "other-language").start()
    assert kernels(server) == []


async def test_a_kernel_that_dies_at_once_is_said_not_to_start(server: str) -> None:
    with pytest.raises(SandboxFailed, match="'broken' can't be used: it ended while it started"):
        await there(server, "broken").start()
    assert kernels(server) == []


async def test_a_kernel_that_the_server_can_not_start_is_named(server: str) -> None:
    with pytest.raises(SandboxFailed, match=r"did not start 'missing': .+ Look into the server's log"):
        await there(server, "missing").start()
    assert kernels(server) == []


async def test_a_wrong_token_is_named_as_the_cause(server: str) -> None:
    with pytest.raises(SandboxFailed, match=r"refused the token\. Set GatewayClient\.auth_token"):
        await there(server, auth_token="another").start()


async def test_without_a_server_one_line_says_so_and_shows_no_password() -> None:
    with pytest.raises(SandboxFailed, match=r"at http://127\.0\.0\.1:9 does not answer: .*Check that it runs"):
        await there("http://user:secret@127.0.0.1:9").start()


async def test_without_an_address_one_line_says_where_to_write_it() -> None:
    with pytest.raises(SandboxFailed, match=r"Set GatewayClient\.url, or JUPYTER_GATEWAY_URL"):
        await there("").start()


async def test_headers_that_are_no_json_are_named() -> None:
    with pytest.raises(SandboxFailed, match=r"GatewayClient\.headers is no JSON"):
        await there("http://127.0.0.1:9", headers="X-Name: value").start()


async def test_an_unknown_kernelspec_is_named(server: str) -> None:
    with pytest.raises(SandboxFailed, match=r"has no kernel 'nothing-like-it'\. Install its kernelspec there"):
        await there(server, "nothing-like-it").start()


async def test_a_kernel_that_the_server_ended_is_noticed(server: str, sandbox: IsolatedKernel) -> None:
    await run(sandbox, "x = 1")
    first = host_of(sandbox)
    assert fetch(f"{server}/api/kernels/{first.kernel}", TOKEN, "DELETE")[0] == 204
    await asyncio.to_thread(until, lambda: not first.alive)
    with pytest.raises(SandboxDied):
        await first.look(10)
    assert (await run(sandbox, "'x' in dir()")).text == "False\n"


async def test_a_kernel_that_dies_is_not_left_to_be_restarted(server: str, sandbox: IsolatedKernel) -> None:
    assert (await run(sandbox, "import os; os._exit(1)")).outcome == "died"
    await asyncio.to_thread(until, lambda: not kernels(server))


async def test_a_broken_connection_is_made_anew_and_nothing_is_lost(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "x = 1")
    host, heard = host_of(sandbox), asyncio.Queue[str]()
    code = "print('on', flush=True)\nimport time; time.sleep(3)\nprint('off')"
    work = asyncio.create_task(sandbox.run("python", code, timeout=30, on_output=heard.put_nowait))
    await asyncio.wait_for(heard.get(), 10)
    broken = host._channels._socket
    assert broken is not None
    host._thread.call(broken.close)
    await asyncio.to_thread(until, lambda: host._channels._socket not in (None, broken))
    done = await work
    assert (done.outcome, done.text) == ("ok", "on\noff\n")
    assert (await run(sandbox, "x")).text == "1\n"


async def test_what_is_not_installed_there_is_refused_in_one_line(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "x = 1")
    with pytest.raises(BuildFailed, match=r"lacks nothing-like-it, .*Have them installed in the image"):
        await sandbox.install(["nothing-like-it"])
    await sandbox.install(["ipython>=9"])
    await sandbox.stage([StagedSkill("one", "1", lambda: tar_of({"a": b""}), lambda: ["nothing-like-it"])])
    done = await run(sandbox, "x")
    assert (done.text, done.state_lost) == ("1\n", False)
    assert any("'one' needs could not be installed" in note for note in done.notes)


def test_a_process_that_merely_ends_takes_its_kernel_along(server: str, tmp_path: Path) -> None:
    script = f"""
import asyncio
from tests.sandbox.test_gateway import run, there
print(asyncio.run(run(there({server!r}), "6 * 7")).text)
"""
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=60)
    assert (ended.stdout.strip(), ended.stderr) == ("42", "")
    assert kernels(server) == []
