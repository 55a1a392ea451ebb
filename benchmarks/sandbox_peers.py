"""The same two pieces of code through other ways to run code in Docker. Used by ``sandbox.py``.

Each way is visited as its documentation has it: opened, asked for the same twice, and closed; what has no session is
asked four times. Opening is part of the first call. All run from one image and give the figure back as a file.

What to know of them when the figures are read:

- ``llm-sandbox, bare`` is its Docker session without an environment of its own, under our limits and without network.
- Without ``bare``, and in LiteLLM's executor, which offers no choice, each container gets a virtual environment, whose
  pip is renewed. It does not see the packages of our image, which are in one themselves, so matplotlib is installed
  with the first figure of a session; LiteLLM's executor has no sessions and installs it for each.
- Most of an end is the ten seconds that the engine waits for a container to stop. Ours from the pool awaits the next
  spare, which is being made, to end that too.
"""

from __future__ import annotations

import asyncio
import base64
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from measuring import settled, show, spare_of

from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox

SUM = "print(sum(range(10)))"
FIGURE = """
import matplotlib.pyplot as plt
plt.figure(figsize=(4, 3))
plt.plot([1, 3, 2])
plt.savefig({path!r})
plt.close()
"""
STEPS = ("first call", "second call", "first figure", "second figure", "end")

LIMITS = DockerSandbox()
# What our own containers have; the network is left to those that need it to install packages.
RUN = [
    *("docker", "run", "--rm", "--interactive", "--network=none", "--read-only", "--cap-drop=ALL"),
    *("--security-opt=no-new-privileges", f"--memory={LIMITS.memory}", f"--memory-swap={LIMITS.memory}"),
    *(f"--cpus={LIMITS.cpus}", f"--pids-limit={LIMITS.pids}", "--tmpfs=/tmp", "--tmpfs=/work:exec,mode=1777"),
]
LIMITED = {
    "network_mode": "none",
    "mem_limit": LIMITS.memory,
    "nano_cpus": int(LIMITS.cpus * 1e9),
    "pids_limit": LIMITS.pids,
}
# The list of fonts that the image brings along: without it the first figure makes one, which takes a second.
FONTS = "/opt/kernel/matplotlib"


class Visit(Protocol):
    """A way to run code, opened."""

    def text(self) -> str:
        """Runs ``SUM``; returns what it printed."""
        ...

    def figure(self) -> bytes:
        """Runs ``FIGURE``; returns the file it made."""
        ...


class Failed(Exception):
    """It can't do this here; the text says why."""


async def main(rounds: int, image: str) -> None:
    """Visits ours and each peer in turn, and prints how long they took.

    Args:
        rounds: How often.
        image: What those run from that can be told.
    """
    peers: dict[str, Callable[[], AbstractContextManager[Visit]]] = {
        "docker run per call": partial(_docker_run, image),
        "llm-sandbox, bare": partial(_llm_sandbox, image, bare=True),
        "llm-sandbox": partial(_llm_sandbox, image, bare=False),
        "llm-sandbox, interactive": partial(_llm_interactive, image),
        "LiteLLM's skills executor": partial(_litellm, image),
    }
    took: dict[str, list[list[float]]] = {"ours": [], "ours, from the pool": [], **{name: [] for name in peers}}
    failed: dict[str, str] = {}
    order = list(took)
    for _ in range(rounds):
        for name in order:
            if name in failed:
                continue
            print(f"  at: {name}", file=sys.stderr, flush=True)
            try:
                if name in peers:
                    took[name].append(await asyncio.to_thread(_visit, peers[name]))
                else:
                    took[name].append(await _visit_ours(pooled=name != "ours"))
            except Exception as error:  # noqa: BLE001 -- whatever it raises is what there is to report of it
                failed[name] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            await settled()
        order.append(order.pop(0))
    _print(took, failed)


def _print(took: dict[str, list[list[float]]], failed: dict[str, str]) -> None:
    medians = {
        name: [statistics.median(column) for column in zip(*visits, strict=True)]
        for name, visits in took.items()
        if visits and name not in failed
    }
    print(f"{SUM} and a small figure, medians in ms")
    show(
        [("", *STEPS)] + [(name, *(_number(value) for value in values)) for name, values in medians.items()],
    )
    for name, why in failed.items():
        print(f"{name}: does not work here: {why}")
    if "ours" not in medians:
        return
    ours = medians["ours"]
    print("\nhow many times as long as ours")
    show(
        [("", *STEPS)]
        + [
            (name, *(_number(value / own) for value, own in zip(values, ours, strict=True)))
            for name, values in medians.items()
            if not name.startswith("ours")
        ]
    )
    for name, values in medians.items():
        if not name.startswith("ours"):
            print(f"Our second call is {values[1] / ours[1]:,.0f} times faster than that of {name}.")


def _number(value: float) -> str:
    return f"{value:,.1f}" if value >= 0.05 else "-"  # what has no session has nothing to end


def _visit(opened: Callable[[], AbstractContextManager[Visit]]) -> list[float]:
    times = [time.perf_counter()]
    with opened() as visit:
        for _ in range(2):
            assert (text := visit.text()) == "45\n", text
            times.append(time.perf_counter())
        for _ in range(2):
            assert visit.figure().startswith(b"\x89PNG"), "no picture came"
            times.append(time.perf_counter())
    times.append(time.perf_counter())
    return _steps(times)


async def _visit_ours(*, pooled: bool) -> list[float]:
    kernel = IsolatedKernel(DockerSandbox(pool_size=int(pooled)))
    try:
        if pooled:
            kernel.prepare()
            await spare_of(kernel)
        times = [time.perf_counter()]
        for _ in range(2):
            execution = await kernel.run("python", SUM, timeout=60, on_output=lambda _: None)
            assert execution.text == "45\n", execution
            times.append(time.perf_counter())
        for _ in range(2):
            code = FIGURE.format(path="figure.png")
            execution = await kernel.run("python", code, timeout=60, on_output=lambda _: None)
            assert [file.image is not None for file in execution.files] == [True], execution
            times.append(time.perf_counter())
    finally:
        await kernel.stop()
    times.append(time.perf_counter())
    return _steps(times)


def _steps(times: list[float]) -> list[float]:
    return [(after - before) * 1000 for before, after in pairwise(times)]


class _DockerRun:
    def __init__(self, image: str) -> None:
        self._command = [*RUN, image, "sh", "-c", f"cp -r {FONTS} /tmp/ 2>/dev/null; exec python3 -"]

    def text(self) -> str:
        return self._run(SUM).decode()

    def figure(self) -> bytes:
        path = "/tmp/figure.png"
        return self._run(FIGURE.format(path=path) + f"import sys; sys.stdout.buffer.write(open({path!r}, 'rb').read())")

    def _run(self, code: str) -> bytes:
        done = subprocess.run(self._command, input=code.encode(), capture_output=True)
        if done.returncode:
            raise Failed(_last_line(done.stderr.decode(errors="replace")))
        return done.stdout


@contextmanager
def _docker_run(image: str) -> Iterator[Visit]:
    yield _DockerRun(image)


class _LlmSession:
    def __init__(self, session: Any, *, installs: bool) -> None:
        self._session = session
        self._missing = ["matplotlib"] if installs else None

    def text(self) -> str:
        return self._run(SUM)

    def figure(self) -> bytes:
        path = "/sandbox/figure.png"
        missing, self._missing = self._missing, None
        self._run(FIGURE.format(path=path), missing)
        with tempfile.TemporaryDirectory() as folder:
            self._session.copy_from_runtime(path, f"{folder}/figure.png")
            return Path(folder, "figure.png").read_bytes()

    def _run(self, code: str, libraries: list[str] | None = None) -> str:
        done = self._session.run(code, libraries=libraries)
        if done.exit_code:
            raise Failed(_last_line(done.stderr or done.stdout))
        return str(done.stdout)


@contextmanager
def _llm_sandbox(image: str, *, bare: bool) -> Iterator[Visit]:
    """Its Docker session: as it comes, or without an environment of its own and with our limits."""
    _need_llm_sandbox()
    from llm_sandbox import SandboxSession

    settings: dict[str, Any] = {}
    if bare:
        limited = {**LIMITED, "environment": {"MPLCONFIGDIR": FONTS}}
        settings = {"skip_environment_setup": True, "runtime_configs": limited}
    with SandboxSession(lang="python", image=image, **settings) as session:
        yield _LlmSession(session, installs=not bare)


@contextmanager
def _llm_interactive(image: str) -> Iterator[Visit]:
    _need_llm_sandbox()
    from llm_sandbox import InteractiveSandboxSession

    with InteractiveSandboxSession(image=image) as session:
        yield _LlmSession(session, installs=True)


class _Litellm:
    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def text(self) -> str:
        return str(self._execute(SUM)["output"])

    def figure(self) -> bytes:
        done = self._execute(FIGURE.format(path="figure.png"), requirements="matplotlib")
        (found,) = [file["content_base64"] for file in done["files"] if file["name"] == "figure.png"]
        return base64.b64decode(found)

    def _execute(self, code: str, **more: str) -> dict[str, Any]:
        done: dict[str, Any] = self._executor.execute(code, {}, **more)
        if not done["success"]:
            raise Failed(_last_line(done["error"]))
        return done


@contextmanager
def _litellm(image: str) -> Iterator[Visit]:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import looks for one in the network
    from litellm.llms.litellm_proxy.skills.sandbox_executor import SkillsSandboxExecutor

    yield _Litellm(SkillsSandboxExecutor(image=image))


def _need_llm_sandbox() -> None:
    if find_spec("llm_sandbox") is None:
        raise Failed("llm-sandbox is not installed; see benchmarks/sandbox.py for how")


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
