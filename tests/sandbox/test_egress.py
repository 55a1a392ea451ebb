"""The way out of the sandbox: what the list names can be had, and nothing else."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import AsyncKernelManager
from traitlets.config import Config

from jupyter_skills.errors import UsageProblem
from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.inside.proxy import PORT
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import KERNEL_NAME, DockerSandbox

pytestmark = pytest.mark.docker

BIG = bytes(range(256)) * (20 * 1024 * 4)


class Site(ThreadingHTTPServer):
    """A web server on this machine's loopback; ``/never`` never answers."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port: int = self.server_address[1]
        self.let_go = threading.Event()
        self.reached = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: Any) -> None:
        """Called for each connection that breaks, which is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        if self.path == "/never":
            self.server.reached.set()
            assert self.connection.recv(1) == b""
            self.server.let_go.set()
        else:
            self._answer(BIG if self.path == "/big" else f"this is {self.path}".encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(hashlib.sha256(body).hexdigest().encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Tests have no use for it."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site
        site.shutdown()


@pytest.fixture
async def open_sandbox(site: Site, home: Path) -> AsyncIterator[IsolatedKernel]:
    """A sandbox that may connect to the site and to nothing else."""
    sandbox = IsolatedKernel(DockerSandbox(network=[f"localhost:{site.port}"], audit=str(home / "audit")))
    yield sandbox
    await sandbox.stop()


async def run(sandbox: IsolatedKernel, code: str, language: Any = "python", timeout: float = 60) -> Execution:
    return await sandbox.run(language, code, timeout=timeout, on_output=lambda _: None)


def connections(home: Path) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in (home / "audit").read_text().splitlines()]
    assert {entry["kind"] for entry in entries} <= {"execution", "connection"}
    return [entry for entry in entries if entry["kind"] == "connection"]


FETCH = "from urllib.request import urlopen, Request\nprint(urlopen({url!r}).read().decode())"


async def test_python_and_the_shell_get_what_the_list_names(
    open_sandbox: IsolatedKernel, site: Site, home: Path
) -> None:
    code = FETCH.format(url=f"http://localhost:{site.port}/page")
    assert (await run(open_sandbox, code)).text == "this is /page\n"
    assert (
        await run(open_sandbox, f"python3 -c '{code.replace(chr(39), chr(34))}'", "shell")
    ).text == "this is /page\n"
    await open_sandbox.stop()
    entries = connections(home)
    assert [(entry["host"], entry["port"], entry["allowed"], entry["reason"]) for entry in entries] == [
        ("localhost", site.port, True, "")
    ] * 2
    assert all(entry["up"] > 0 and entry["down"] > len("this is /page") for entry in entries)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for localhost that nobody vouches for, and its key."""
    paths = tmp_path / "certificate", tmp_path / "key"
    options = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    command = ["openssl", *options.split(), "-out", str(paths[0]), "-keyout", str(paths[1])]
    subprocess.run(command, check=True, capture_output=True)
    return paths


async def test_encrypted_connections_are_the_programs_own_affair(
    open_sandbox: IsolatedKernel, site: Site, certificate: tuple[Path, Path]
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    url = f"https://localhost:{site.port}/page"
    refused = await run(open_sandbox, FETCH.format(url=url))
    assert "CERTIFICATE_VERIFY_FAILED" in refused.error
    await open_sandbox.put({"certificate": certificate[0].read_bytes()})
    code = f"import ssl\nprint(urlopen({url!r}, context=ssl.create_default_context(cafile='certificate')).read())"
    assert (await run(open_sandbox, code)).text == "b'this is /page'\n"


async def test_all_else_fails_at_once_and_says_why(open_sandbox: IsolatedKernel, site: Site, home: Path) -> None:
    hosts = ["localhost:1", "example.org:80", "127.0.0.2:80", "169.254.169.254:80"]
    refused = "is not among the hosts that DockerSandbox.network allows"
    for host in hosts:
        error = (await run(open_sandbox, FETCH.format(url=f"http://{host}/"))).error
        assert f"HTTP Error 403: {host} {refused}" in error
    tunnel = (await run(open_sandbox, FETCH.format(url="https://example.org/"))).error
    assert f"Tunnel connection failed: 403 example.org:443 {refused}" in tunnel
    direct = f"import socket\nsocket.create_connection(('172.17.0.1', {site.port}))"
    assert "Network is unreachable" in (await run(open_sandbox, direct)).error
    own = f"socket.create_connection(('127.0.0.1', {site.port}))"
    assert "Connection refused" in (await run(open_sandbox, own)).error
    assert "name resolution" in (await run(open_sandbox, "socket.getaddrinfo('example.org', 80)")).error
    await open_sandbox.stop()
    written = {f"{entry['host']}:{entry['port']}": entry for entry in connections(home)}
    assert set(written) == {*hosts, "example.org:443"}
    assert all(not entry["allowed"] and refused in entry["reason"] for entry in written.values())


async def test_many_downloads_at_once(open_sandbox: IsolatedKernel, site: Site, home: Path) -> None:
    code = f"""
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen
with ThreadPoolExecutor(20) as pool:
    found = list(pool.map(lambda n: urlopen(f"http://localhost:{site.port}/{{n}}").read().decode(), range(20)))
print(found == [f"this is /{{n}}" for n in range(20)])
"""
    assert (await run(open_sandbox, code)).text == "True\n"
    await open_sandbox.stop()
    assert len(connections(home)) == 20


async def test_large_bodies_arrive_whole_both_ways_while_code_runs_and_prints(
    open_sandbox: IsolatedKernel, site: Site
) -> None:
    code = f"""
import hashlib, threading
from urllib.request import Request, urlopen
site = "http://localhost:{site.port}"
results = {{}}
def down(): results["down"] = hashlib.sha256(urlopen(site + "/big").read()).hexdigest()
def up(): results["up"] = urlopen(Request(site, data=bytes(range(256)) * (20 * 1024 * 4))).read().decode()
transfers = [threading.Thread(target=way) for way in (down, up)]
for transfer in transfers: transfer.start()
lines = 0
while any(transfer.is_alive() for transfer in transfers) or not lines:
    print("line", lines); lines += 1
for transfer in transfers: transfer.join()
"""
    done = await run(open_sandbox, code)
    assert done.outcome == "ok"
    assert done.text.startswith("line 0\nline 1\n")
    digest = hashlib.sha256(BIG).hexdigest()
    results = await run(open_sandbox, "print(results['down'], results['up'])")
    assert results.text == f"{digest} {digest}\n"


async def test_a_server_that_never_answers_holds_nothing_up(open_sandbox: IsolatedKernel, site: Site) -> None:
    waiting = await run(open_sandbox, "x = 1\n" + FETCH.format(url=f"http://localhost:{site.port}/never"), timeout=1)
    assert (waiting.outcome, waiting.state_lost) == ("timeout", False)
    after = await run(open_sandbox, "x; " + FETCH.format(url=f"http://localhost:{site.port}/page").split("\n")[1])
    assert after.text == "this is /page\n"


async def test_the_kernels_end_closes_its_connections(open_sandbox: IsolatedKernel, site: Site, home: Path) -> None:
    code = f"""
import os, socket
way = socket.create_connection(("127.0.0.1", {PORT}))
way.sendall(b"CONNECT localhost:{site.port} HTTP/1.1\\r\\n\\r\\nGET /never HTTP/1.0\\r\\n\\r\\n")
way.recv(1000)
"""
    await run(open_sandbox, code)
    assert site.reached.wait(30)
    assert (await run(open_sandbox, "os._exit(1)")).outcome == "died"
    await open_sandbox.stop()
    (entry,) = connections(home)
    assert (entry["allowed"], entry["up"] > 0) == (True, True)


async def test_without_the_setting_nothing_listens_inside(sandbox: IsolatedKernel) -> None:
    names = "import os, socket\nprint([name for name in os.environ if 'proxy' in name.lower()])"
    assert (await run(sandbox, names)).text == "[]\n"
    connect = f"socket.create_connection(('127.0.0.1', {PORT}))"
    assert "Connection refused" in (await run(sandbox, connect)).error


async def test_a_list_that_can_not_be_read_starts_no_sandbox() -> None:
    sandbox = IsolatedKernel(DockerSandbox(network=["https://example.org/"]))
    with pytest.raises(UsageProblem, match=r"DockerSandbox\.network can't have 'https://example\.org/'"):
        await sandbox.start()


async def test_other_jupyter_clients_have_the_same_way_out(site: Site, home: Path) -> None:
    config = Config({"DockerSandbox": {"network": [f"localhost:{site.port}"], "audit": str(home / "audit")}})
    manager = AsyncKernelManager(kernel_name=KERNEL_NAME, config=config)
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    printed: list[str] = []
    try:
        await client.wait_for_ready(timeout=30)
        code = FETCH.format(url=f"http://localhost:{site.port}/page")
        await client.execute_interactive(
            code, timeout=30, output_hook=lambda message: printed.append(message["content"].get("text", ""))
        )
    finally:
        client.stop_channels()
        await manager.shutdown_kernel()
    assert "".join(printed) == "this is /page\n"
    assert [entry["host"] for entry in connections(home)] == ["localhost"]


async def test_with_the_setting_the_container_has_no_more_than_its_own_loopback(open_sandbox: IsolatedKernel) -> None:
    interfaces = await run(open_sandbox, "import socket\nprint([name for _, name in socket.if_nameindex()])")
    assert interfaces.text == "['lo']\n"
