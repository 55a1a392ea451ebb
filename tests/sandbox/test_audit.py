"""Each execution is written down in one line of JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox

pytestmark = pytest.mark.docker


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_line_says_what_ran_from_what_within_which_limits_and_what_came_of_it(
    sandbox: IsolatedKernel, home: Path
) -> None:
    code = "print('é'); open('a.txt', 'w').write('abc')"
    await sandbox.run("python", code, timeout=9, on_output=lambda _: None)
    await sandbox.run("shell", "exit 3", timeout=9, on_output=lambda _: None)
    log = home / "jupyter_data_dir/jupyter_skills/executions.jsonl"
    first, second = lines(log)
    engine = Engine()
    assert first["image"] == engine.image_id(DockerSandbox().image)
    engine.close()
    assert first["code"] == f"sha256:{hashlib.sha256(code.encode()).hexdigest()}"
    assert first["limits"] == {"memory": "1g", "cpus": 1.0, "pids": 128, "timeout": 9}
    assert (first["outcome"], first["cause"], first["language"], first["bytes"]) == ("ok", "", "python", 5)
    assert first["files"] == [{"path": "a.txt", "size": 3, "digest": f"sha256:{hashlib.sha256(b'abc').hexdigest()}"}]
    assert isinstance(first["seconds"], float)
    assert (second["language"], second["outcome"]) == ("shell", "error")
    assert log.stat().st_mode & 0o077 == 0, "nobody else's to read"


async def test_how_code_was_stopped_is_in_it(sandbox: IsolatedKernel, home: Path) -> None:
    await sandbox.run("python", "while True: pass", timeout=0.5, on_output=lambda _: None)
    await sandbox.run("python", "import os; os._exit(1)", timeout=9, on_output=lambda _: None)
    log = home / "jupyter_data_dir/jupyter_skills/executions.jsonl"
    assert [(line["outcome"], line["cause"]) for line in lines(log)] == [("timeout", "deadline"), ("died", "exited")]


async def test_a_call_that_was_given_up_is_in_it(sandbox: IsolatedKernel, home: Path) -> None:
    await sandbox.start()
    heard = asyncio.Event()
    code = "print('on', flush=True)\nimport time; time.sleep(60)"
    call = asyncio.create_task(sandbox.run("python", code, timeout=90, on_output=lambda _: heard.set()))
    await heard.wait()
    call.cancel()
    await asyncio.wait({call})
    assert [line["outcome"] for line in lines(home / "jupyter_data_dir/jupyter_skills/executions.jsonl")] == [
        "interrupted"
    ]


async def test_the_limits_are_those_the_kernel_was_started_with(sandbox: IsolatedKernel, home: Path) -> None:
    await sandbox.start()
    sandbox._settings.memory = "2g"
    await sandbox.run("python", "1", timeout=9, on_output=lambda _: None)
    (line,) = lines(home / "jupyter_data_dir/jupyter_skills/executions.jsonl")
    assert line["limits"] == {"memory": "1g", "cpus": 1.0, "pids": 128, "timeout": 9}


async def test_it_may_go_elsewhere_or_nowhere(sandbox: IsolatedKernel, home: Path, tmp_path: Path) -> None:
    sandbox._settings.audit = str(tmp_path / "deep/log.jsonl")
    await sandbox.run("python", "1", timeout=9, on_output=lambda _: None)
    assert len(lines(tmp_path / "deep/log.jsonl")) == 1
    sandbox._settings.audit = "off"
    await sandbox.run("python", "1", timeout=9, on_output=lambda _: None)
    assert not (home / "jupyter_data_dir").exists()


async def test_a_log_that_can_not_be_written_is_noted_and_costs_nothing_else(
    sandbox: IsolatedKernel, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    sandbox._settings.audit = str(tmp_path / "file/log.jsonl")
    done = await sandbox.run("python", "1", timeout=9, on_output=lambda _: None)
    assert (done.outcome, done.text) == ("ok", "1\n")
    assert done.notes == (f"It could not be written down in '{tmp_path}/file/log.jsonl': File exists.",)


async def test_a_long_log_gives_way_to_a_new_one(sandbox: IsolatedKernel, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"x" * (16 * 1024 * 1024 + 1))
    sandbox._settings.audit = str(log)
    await sandbox.run("python", "1", timeout=9, on_output=lambda _: None)
    assert len(lines(log)) == 1
    assert (tmp_path / "log.jsonl.1").stat().st_size > 16 * 1024 * 1024
