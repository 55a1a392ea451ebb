"""What is Docker's own about the isolated kernel, and what happens between calls; the rest is in the contract."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from jupyter_skills import Skill
from jupyter_skills.errors import EngineMissing, ImageMissing, SandboxFailed
from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from tests.conftest import until, write_skill

pytestmark = pytest.mark.docker


async def run(sandbox: IsolatedKernel, code: str, language: Any = "python", timeout: float = 30) -> Execution:
    return await sandbox.run(language, code, timeout=timeout, on_output=lambda _: None)


async def test_figures_come_back_as_pictures(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.plot([2, 1]);")
    assert [image.mime_type for image in done.images] == ["image/png", "image/png"]
    assert done.text == "", "matplotlib has nothing to say about its folders"


async def test_more_files_than_the_limit_are_left_inside(sandbox: IsolatedKernel) -> None:
    sandbox._settings.file_limit = 1000
    done = await run(sandbox, "for i in range(4): open(f'{i}', 'w').write('x' * 400)")
    assert [file.path for file in done.files] == ["0", "1"]
    assert len(done.notes) == 2


async def test_without_an_engine_one_line_says_so(monkeypatch: pytest.MonkeyPatch, sandbox: IsolatedKernel) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(EngineMissing, match=r"No Docker engine answers .*Start Docker, or set DOCKER_HOST"):
        await sandbox.start()
    monkeypatch.delenv("DOCKER_HOST")
    assert (await run(sandbox, "1 + 1")).text == "2\n"


async def test_without_the_image_one_line_says_how_to_build_it(sandbox: IsolatedKernel) -> None:
    sandbox._settings.image = "jupyter-skills-nothing:latest"
    with pytest.raises(
        ImageMissing, match=r"'jupyter-skills-nothing:latest'\. Build it with 'jupyter skills sandbox build'"
    ):
        await sandbox.start()
    sandbox._settings.image = DockerSandbox().image
    assert (await run(sandbox, "1 + 1")).text == "2\n"


async def test_an_image_without_a_kernel_is_named_as_the_cause() -> None:
    sandbox = IsolatedKernel(DockerSandbox(image="jupyter-skills-base:debian"))
    with pytest.raises(SandboxFailed, match="has python3 with ipykernel"):
        await sandbox.start()
    assert not sandbox.running


async def test_skills_with_modules_of_the_same_name_each_import_their_own(
    sandbox: IsolatedKernel, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        folder = write_skill(tmp_path, name)
        (folder / "helper.py").write_text(f"NAME = {name!r}\n")
        (folder / "core").mkdir()
        (folder / "core/__init__.py").write_text("from core.part import PART\n")
        (folder / "core/part.py").write_text(f"PART = {name!r}\n")
        skill = Skill.from_path(folder)
        await sandbox.stage([StagedSkill(name, skill.digest, skill.to_tar)])
    said = []
    for name in ("one", "two", "one"):
        code = f"import sys; sys.path.append('/skills/{name}'); import helper, core; helper.NAME + core.PART"
        said.append((await run(sandbox, code)).text)
    assert said == ["'oneone'\n", "'twotwo'\n", "'oneone'\n"]
    assert (await run(sandbox, "helper.NAME, 'keep_apart' in dir()")).text == "('one', False)\n"


@pytest.mark.parametrize("ended", ["died", "stopped"])
async def test_variables_that_were_lost_between_two_calls_are_told_once(sandbox: IsolatedKernel, ended: str) -> None:
    await run(sandbox, "x = 1")
    if ended == "died":
        await run(sandbox, "import os, threading; threading.Timer(0.2, os._exit, (1,)).start()")
        await asyncio.to_thread(until, lambda: not sandbox.running)
    else:
        await sandbox.stop()
    told = await run(sandbox, "'x' in dir()")
    assert (told.text, told.state_lost) == ("False\n", True)
    assert told.notes == ("The isolated kernel of earlier calls has ended; this is a fresh one.",)
    assert (await run(sandbox, "1")).state_lost is False


async def test_a_kernel_that_has_run_nothing_has_lost_nothing(sandbox: IsolatedKernel) -> None:
    await sandbox.start()
    await sandbox.stop()
    assert (await run(sandbox, "1")).state_lost is False


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.35, 0.5, 0.65])
async def test_a_start_that_is_given_up_leaves_no_container(
    sandbox: IsolatedKernel, containers: Callable[..., list[str]], seconds: float
) -> None:
    start = asyncio.create_task(sandbox.start())
    await asyncio.wait({start}, timeout=seconds)
    start.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await start
    await sandbox.stop()
    until(lambda: not containers())
    assert (await run(sandbox, "1")).text == "1\n"


async def test_calls_wait_for_each_other_in_their_order(sandbox: IsolatedKernel) -> None:
    calls = [run(sandbox, f"import time; time.sleep(0.05); print({number})") for number in range(5)]
    assert [done.text for done in await asyncio.gather(*calls)] == [f"{number}\n" for number in range(5)]


async def test_many_starts_leave_no_file_thread_or_folder_open() -> None:
    process = psutil.Process()
    before: tuple[int, int] | None = None
    for number in range(20):
        sandbox = IsolatedKernel(DockerSandbox())
        await run(sandbox, "1")
        await sandbox.stop()
        if number == 4:
            gc.collect()
            before = process.num_fds(), process.num_threads()
    gc.collect()
    assert before is not None
    assert process.num_fds() <= before[0] + 2
    assert process.num_threads() <= before[1] + 2


async def test_thousands_of_files_are_told_apart(sandbox: IsolatedKernel) -> None:
    await sandbox.put({f"many/{number}": b"" for number in range(1200)})
    assert [file.path for file in (await run(sandbox, "open('zz.txt', 'w').write('z')")).files] == ["zz.txt"]
    assert len(await sandbox.get("many")) == 1200
    await run(sandbox, "import os\nfor number in range(20_000): open(f'many/x{number}', 'w').close()")
    with pytest.raises(SandboxFailed, match="more than 20,000 files"):
        await sandbox.get("zz.txt")


async def test_any_number_of_calls_may_be_given_up_while_they_wait(sandbox: IsolatedKernel) -> None:
    await sandbox.start()
    first = asyncio.create_task(run(sandbox, "import time; time.sleep(0.5)"))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(run(sandbox, "1")) for _ in range(2000)]
    await asyncio.sleep(0)
    for call in waiting:
        call.cancel()
    await asyncio.wait({first, *waiting})
    assert (await run(sandbox, "2")).text == "2\n"


@pytest.mark.parametrize("seconds", [0.1, 0.3])
async def test_a_start_that_is_given_up_twice_leaves_no_container(
    sandbox: IsolatedKernel, containers: Callable[..., list[str]], seconds: float
) -> None:
    start = asyncio.create_task(sandbox.start())
    await asyncio.wait({start}, timeout=seconds)
    start.cancel()
    await asyncio.wait({start}, timeout=0.01)
    start.cancel()
    await asyncio.wait({start})
    await sandbox.stop()
    until(lambda: not containers())


async def test_names_of_built_ins_may_be_variables(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "dict = exec = globals = get_ipython = {'a': 1}; y = 3")
    await sandbox.send("list", [1])
    assert (await sandbox.receive("dict"), await sandbox.receive("y"), await sandbox.receive("list")) == (
        {"a": 1},
        3,
        [1],
    )


async def test_a_listing_with_long_names_is_cut_and_the_call_comes_back(sandbox: IsolatedKernel) -> None:
    code = """
import os
deep = "/".join(["x" * 250] * 14)
os.makedirs(deep)
for number in range(15_000): open(f"{deep}/{number}", "w").close()
"""
    done = await run(sandbox, code, timeout=60)
    assert (done.outcome, done.state_lost) == ("ok", False)
    assert "Of many files only 20,000 were looked at." in done.notes
    assert sum(map(len, done.notes)) < 64 * 1024
