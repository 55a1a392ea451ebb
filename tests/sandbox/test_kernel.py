"""The isolated kernel, on a real Docker engine."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills import Skill
from jupyter_skills.errors import EngineMissing, ImageMissing, SandboxFailed
from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.contract import StagedSkill
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox
from tests.conftest import write_skill

pytestmark = pytest.mark.docker


async def run(sandbox: IsolatedKernel, code: str, language: Any = "python", timeout: float = 30) -> Execution:
    return await sandbox.run(language, code, timeout=timeout, on_output=lambda _: None)


async def test_variables_are_kept_from_call_to_call(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "x = 41")
    done = await run(sandbox, "x + 1")
    assert (done.outcome, done.text, done.state_lost) == ("ok", "42\n", False)


async def test_top_level_await_and_magics_work(sandbox: IsolatedKernel) -> None:
    assert (await run(sandbox, "import asyncio\nawait asyncio.sleep(0)\n%pwd")).text == "'/work'\n"


async def test_python_and_shell_see_the_same_files(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "open('note.txt', 'w').write('from Python')")
    assert (await run(sandbox, "cat note.txt", "shell")).text == "from Python"


async def test_text_streams_while_the_code_runs(sandbox: IsolatedKernel) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    code = (
        "print('first', flush=True)\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('last')"
    )
    await sandbox.start()
    work = asyncio.create_task(sandbox.run("python", code, timeout=30, on_output=heard.put_nowait))
    assert "first" in await asyncio.wait_for(heard.get(), 10)
    assert not work.done()
    assert sandbox._host is not None
    await sandbox._host.shell("touch go", limit=10, timeout=10, on_data=lambda _: None)
    assert (await work).text == "first\nlast\n"


async def test_an_exception_is_an_outcome_in_compact_form(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "def f():\n    return 1 / 0\nf()")
    assert done.outcome == "error"
    assert done.error.endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in done.error
    assert (await run(sandbox, "print('still here')")).text == "still here\n"


@pytest.mark.parametrize("code", ["def f(:\n", "import nothing_like_it", "raise SystemExit(3)"])
async def test_code_that_can_not_run_says_why(sandbox: IsolatedKernel, code: str) -> None:
    done = await run(sandbox, code)
    assert done.outcome == "error"
    assert any(name in done.error for name in ("SyntaxError", "ModuleNotFoundError", "SystemExit"))


async def test_a_shell_command_fails_by_its_status(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "echo out; echo err >&2; exit 3", "shell")
    assert (done.outcome, done.text, done.error) == ("error", "out\nerr\n", "exit status 3")


async def test_a_shell_command_does_not_wait_for_what_it_left_in_the_background(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "sleep 60 & echo done", "shell", timeout=10)
    assert (done.outcome, done.text) == ("ok", "done\n")


async def test_figures_come_back_as_pictures(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.plot([2, 1]);")
    assert [image.mime_type for image in done.images] == ["image/png", "image/png"]
    assert done.text == "", "matplotlib has nothing to say about its folders"


async def test_files_come_back_once_and_again_when_they_change(sandbox: IsolatedKernel) -> None:
    first = await run(
        sandbox, "from PIL import Image\nImage.new('RGB', (3, 2)).save('a.webp')\nopen('b.txt','w').write('b')"
    )
    assert [(file.path, file.mime_type, file.size) for file in first.files] == [
        ("a.webp", "image/webp", first.files[0].size),
        ("b.txt", "text/plain", 1),
    ]
    assert first.files[0].image is not None
    assert (first.files[0].image.width, first.files[0].image.height) == (3, 2)
    assert first.files[1].digest == "sha256:" + hashlib.sha256(b"b").hexdigest()
    assert (await run(sandbox, "1")).files == ()
    assert [file.data for file in (await run(sandbox, "open('b.txt','w').write('bb')")).files] == [b"bb"]


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
async def test_each_kind_of_picture_is_known_by_its_content(sandbox: IsolatedKernel, kind: str) -> None:
    done = await run(sandbox, f"from PIL import Image\nImage.new('RGB', (3, 2)).save('picture', format='{kind}')")
    assert [file.mime_type for file in done.files] == [f"image/{kind}"]


async def test_hostile_files_stay_inside(sandbox: IsolatedKernel) -> None:
    code = """
ln -s /etc/passwd link; ln -s / all; mkfifo pipe; truncate -s 10G sparse; mkdir -p a/b; echo x > a/b/c
echo x > "$(printf 'two\\nlines')"; echo x > 'back\\slash'; echo '<img>' > picture.png
"""
    done = await run(sandbox, code, "shell")
    assert [(file.path, file.mime_type, file.image) for file in done.files] == [
        ("a/b/c", "application/octet-stream", None),
        ("picture.png", "image/png", None),
    ]
    assert sorted(note.split("(")[0] for note in done.notes if "left in the sandbox" in note) == [
        "The file 'back\\\\slash' ",
        "The file 'sparse' ",
        "The file 'two\\nlines' ",
    ]


async def test_more_files_than_the_limit_are_left_inside(sandbox: IsolatedKernel) -> None:
    sandbox._settings.file_limit = 1000
    done = await run(sandbox, "for i in range(4): open(f'{i}', 'w').write('x' * 400)")
    assert [file.path for file in done.files] == ["0", "1"]
    assert len(done.notes) == 2


async def test_output_is_bounded_and_the_cut_is_marked(sandbox: IsolatedKernel) -> None:
    for code, language in (("print('x' * 10**6)", "python"), ("head -c 1000000 /dev/zero | tr '\\0' x", "shell")):
        done = await run(sandbox, code, language)
        assert done.outcome == "ok"
        assert len(done.text) < 70_000
        assert "left out" in done.text


async def test_an_endless_loop_is_interrupted_and_variables_are_kept(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "x = 1")
    done = await run(sandbox, "while True: x += 1", timeout=0.5)
    assert (done.outcome, done.state_lost) == ("timeout", False)
    assert "Variables are kept" in done.error
    assert (await run(sandbox, "x > 1")).text == "True\n"


async def test_a_loop_that_heeds_no_interrupt_is_ended_and_that_is_said(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "sum(range(10**12))", timeout=0.5)
    assert (done.outcome, done.state_lost) == ("timeout", True)
    assert "Its variables and files are gone" in done.error
    assert (await run(sandbox, "1 + 1")).text == "2\n"


async def test_a_shell_command_that_takes_too_long_is_ended_with_its_children(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "sleep 61 | sleep 61", "shell", timeout=0.5)
    assert (done.outcome, done.state_lost) == ("timeout", False)
    assert (await run(sandbox, "cat /proc/[0-9]*/comm | grep -c sleep", "shell")).text == "0\n"


async def test_a_kernel_that_dies_is_said_to_have_died_and_the_next_call_starts_afresh(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "import os; os._exit(1)")
    assert (done.outcome, done.state_lost) == ("died", True)
    assert (await run(sandbox, "1 + 1")).text == "2\n"


@pytest.mark.parametrize("language", ["python", "shell"])
async def test_a_call_that_is_given_up_leaves_the_sandbox_usable(sandbox: IsolatedKernel, language: Any) -> None:
    await run(sandbox, "x = 1")
    heard: asyncio.Queue[str] = asyncio.Queue()
    code = "import time\nprint('on', flush=True)\ntime.sleep(60)" if language == "python" else "echo on; sleep 60"
    task = asyncio.create_task(sandbox.run(language, code, timeout=60, on_output=heard.put_nowait))
    await asyncio.wait_for(heard.get(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 3)
    done = await run(sandbox, "print(x)")
    assert done.text == "1\n", "the variables are there, and nothing of the other call"


async def test_skills_lie_in_folders_of_their_own(sandbox: IsolatedKernel, tmp_path: Path) -> None:
    staged = []
    for name in ("one", "two"):
        folder = write_skill(tmp_path, name)
        (folder / "helper.py").write_text(f"print('helper of {name}')")
        (folder / "run.sh").write_text(f"#!/bin/sh\necho run of {name}\n")
        (folder / "run.sh").chmod(0o755)
        skill = Skill.from_path(folder)
        staged.append(StagedSkill(name, skill.digest, skill.to_tar))
    await sandbox.stage(staged)
    done = await run(sandbox, "for s in one two; do python3 /skills/$s/helper.py; /skills/$s/run.sh; done", "shell")
    assert done.text == "helper of one\nrun of one\nhelper of two\nrun of two\n"
    assert done.files == (), "a skill's files are nobody's product"


async def test_a_skill_is_sent_again_only_when_it_has_changed(sandbox: IsolatedKernel, tmp_path: Path) -> None:
    skill = Skill.from_path(write_skill(tmp_path, "one"))
    (skill.folder / "old").touch()
    await sandbox.stage([StagedSkill("one", skill.digest, skill.to_tar)])

    def must_not_be_asked() -> bytes:
        raise AssertionError("the same digest was sent twice")

    await sandbox.stage([StagedSkill("one", skill.digest, must_not_be_asked)])
    (skill.folder / "old").rename(skill.folder / "new")
    await sandbox.stage([StagedSkill("one", skill.digest, skill.to_tar)])
    assert (await run(sandbox, "ls /skills/one", "shell")).text == "SKILL.md\nnew\n"


async def test_starting_and_stopping_twice_is_once(sandbox: IsolatedKernel) -> None:
    await sandbox.start()
    host = sandbox._host
    await sandbox.start()
    assert sandbox._host is host
    await sandbox.stop()
    await sandbox.stop()
    assert not sandbox.running


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
