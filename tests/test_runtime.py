"""What runs a skill's tools, in this process: the live kernel's side of it. The sandbox's is in tests/agent."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from jupyter_skills import tool
from jupyter_skills.runtime import ToolFailed, call_tool, run_script
from tests.conftest import until


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "skill"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, text: str, mode: int = 0o644) -> str:
    (folder / name).write_text(dedent(text))
    (folder / name).chmod(mode)
    return name


def test_a_script_runs_in_its_skill_s_folder_with_nothing_of_the_environment_that_could_be_a_secret(
    skill: Path, workdir: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    put(skill, "a.py", "import os, sys; print(os.getcwd(), sys.argv[1:], os.environ)")
    run_script(str(skill), "a.py", ["one", "--help"], interpreter="python")
    said = capfd.readouterr().out
    assert said.startswith(f"{skill} ['one', '--help'] ")
    assert "canary" not in said
    assert f"'SKILL_DIR': '{skill}'" in said


@pytest.mark.parametrize(
    ("name", "text", "interpreter", "mode"),
    [
        ("a.sh", "echo hello", "bash", 0o644),
        ("a.js", "console.log('hello')", "node", 0o644),
        ("a", "#!/bin/sh\necho hello\n", "", 0o755),
    ],
)
def test_a_script_may_be_written_in_anything(
    skill: Path, workdir: Path, capfd: pytest.CaptureFixture[str], name: str, text: str, interpreter: str, mode: int
) -> None:
    put(skill, name, text, mode)
    if interpreter == "node" and not any(os.access(f"{folder}/node", os.X_OK) for folder in os.get_exec_path()):
        with pytest.raises(ToolFailed, match=r"a\.js needs node, which is not installed here"):
            run_script(str(skill), name, interpreter=interpreter)
        return
    run_script(str(skill), name, interpreter=interpreter)
    assert capfd.readouterr().out == "hello\n"


def test_a_script_that_fails_says_so_after_what_it_printed(
    skill: Path, workdir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put(skill, "a.sh", "echo before; echo oh >&2; exit 3")
    with pytest.raises(ToolFailed, match=r"a\.sh ended with status 3"):
        run_script(str(skill), "a.sh", interpreter="bash")
    assert capfd.readouterr().out == "before\noh\n"


@pytest.mark.parametrize(("name", "mode"), [("nowhere", 0o644), ("a", 0o755)])
def test_a_script_that_can_not_be_started_is_named(skill: Path, workdir: Path, name: str, mode: int) -> None:
    put(skill, "a", "#!/no/such/program\n", mode)
    with pytest.raises(ToolFailed, match=f"{name} can't be started"):
        run_script(str(skill), name)


def test_a_script_is_stopped_in_time_with_all_that_it_started(skill: Path, workdir: Path) -> None:
    put(skill, "a.sh", "sleep 60 & echo $! > pid; sleep 60")
    with pytest.raises(ToolFailed, match=r"was stopped after 0\.5 s"):
        run_script(str(skill), "a.sh", interpreter="bash", timeout=0.5)
    child = int((workdir / "pid").read_text())
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])


def test_a_script_that_prints_without_end_is_stopped_in_time_too(
    skill: Path, workdir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put(skill, "a.sh", "yes")
    with pytest.raises(ToolFailed, match="was stopped"):
        run_script(str(skill), "a.sh", interpreter="bash", timeout=0.5, limit=1000)
    said = capfd.readouterr().out
    assert said.startswith("y\ny\n")
    assert len(said) < 1100
    assert "bytes left out" in said


def test_what_a_script_leaves_running_in_the_background_is_not_waited_for(skill: Path, workdir: Path) -> None:
    put(skill, "a.sh", "sleep 60 & echo done")
    run_script(str(skill), "a.sh", interpreter="bash", timeout=30)


def test_a_script_gets_json_of_any_size_on_its_standard_input_even_if_it_reads_none(
    skill: Path, workdir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put(skill, "count.py", "import sys; print(len(sys.stdin.read()))")
    put(skill, "deaf.sh", "exit 0")
    run_script(str(skill), "count.py", interpreter="python", stdin="x" * 3_000_000)
    assert capfd.readouterr().out == "3000000\n"
    run_script(str(skill), "deaf.sh", interpreter="bash", stdin="x" * 3_000_000)


def test_new_files_of_a_script_are_moved_to_the_working_folder_over_none_that_is_there(
    skill: Path, workdir: Path
) -> None:
    put(skill, "a.sh", "mkdir -p deep; echo new > deep/out.txt; echo new > mine.txt; echo more >> a.sh")
    (workdir / "mine.txt").write_text("the user's")
    run_script(str(skill), "a.sh", interpreter="bash")
    assert (workdir / "mine.txt").read_text() == "the user's"
    assert (workdir / "mine (2).txt").read_text() == "new\n"
    assert (workdir / "deep/out.txt").read_text() == "new\n"
    assert (skill / "a.sh").exists(), "what was there before stays"


async def test_two_skills_with_modules_of_the_same_name_each_import_their_own(tmp_path: Path) -> None:
    said = []
    for name in ("one", "two", "one"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        put(folder, "helper.py", f"NAME = {name!r}")
        put(
            folder,
            "tools.py",
            "import helper\ndef who():\n    import helper as late\n    return [helper.NAME, late.NAME]",
        )
        said.append(str(await call_tool(str(folder), "who", {})))
    assert said == ['["one", "one"]', '["two", "two"]', '["one", "one"]']


async def test_a_module_of_the_user_s_own_stays_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    put(tmp_path / "mine", "helper_of_user.py", "NAME = 'user'")
    monkeypatch.syspath_prepend(str(tmp_path / "mine"))
    import helper_of_user  # type: ignore[import-not-found]

    folder = tmp_path / "skill"
    folder.mkdir()
    put(folder, "helper_of_user.py", "NAME = 'skill'")
    put(folder, "tools.py", "def who():\n    import helper_of_user\n    return helper_of_user.NAME")
    path = list(sys.path)
    assert await call_tool(str(folder), "who", {}) == "skill"
    assert sys.modules["helper_of_user"] is helper_of_user
    assert sys.path == path
    assert "tools" not in sys.modules


async def test_modules_keep_their_state_from_call_to_call_until_the_skill_changes(skill: Path) -> None:
    put(skill, "tools.py", "n = 0\ndef count():\n    global n\n    n += 1\n    return n")
    counts = [str(await call_tool(str(skill), "count", {}, version=version)) for version in ("a", "a", "b")]
    assert counts == ["1", "2", "1"]


async def test_functions_may_be_async_and_take_arguments_in_any_way(skill: Path) -> None:
    put(
        skill,
        "tools.py",
        """
        from jupyter_skills import tool
        @tool
        async def join(a, /, b, *, c="c"):
            return a + b + c
        """,
    )
    assert await call_tool(str(skill), "join", {"a": "1", "b": "2", "c": "3"}) == "123"
    with pytest.raises(TypeError, match="b"):
        await call_tool(str(skill), "join", {"a": "1"})
    with pytest.raises(ToolFailed, match="has no function nothing"):
        await call_tool(str(skill), "nothing", {})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("'it''s'", "its"),
        ("{'a': [1, 'ü']}", '{"a": [1, "ü"]}'),
        ("True", "true"),
        ("(1, 2)", "[1, 2]"),
        ("None", "None"),
    ],
)
async def test_results_are_shown_as_a_model_reads_them_best(skill: Path, value: str, shown: str) -> None:
    put(skill, "tools.py", f"def give():\n    return {value}")
    assert repr(await call_tool(str(skill), "give", {})) == shown


async def test_what_json_does_not_know_stays_what_it_is(skill: Path) -> None:
    put(
        skill,
        "tools.py",
        "import decimal\ndef give(nan=False):\n    return [float('nan')] if nan else [decimal.Decimal(1)]",
    )
    assert repr(await call_tool(str(skill), "give", {})) == "[Decimal('1')]"
    assert repr(await call_tool(str(skill), "give", {"nan": True})) == "[nan]"


def test_the_decorator_leaves_a_function_what_it_is() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    assert tool(add) is add
    assert tool(name="sum", description="Adds.")(add) is add


async def test_a_module_whose_import_failed_is_no_module(skill: Path) -> None:
    put(skill, "tools.py", "def early():\n    return 'ran'\nimport missing_dependency\ndef late():\n    return 1")
    for _ in range(2):
        for function in ("early", "late"):
            with pytest.raises(ModuleNotFoundError, match="missing_dependency"):
                await call_tool(str(skill), function, {})
    assert "tools" not in sys.modules


async def test_modules_named_like_python_s_own_reach_neither_the_user_nor_another_skill(tmp_path: Path) -> None:
    sys.modules.pop("colorsys", None)
    said = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        put(folder, "colorsys.py", f"NAME = {name!r}")
        put(folder, "tools.py", "import colorsys\ndef who():\n    return colorsys.NAME")
        said.append(str(await call_tool(str(folder), "who", {})))
    assert said == ["one", "two"]
    import colorsys

    assert hasattr(colorsys, "rgb_to_hsv")


async def test_odd_modules_of_others_are_left_alone(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loading(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError("it loads itself when it is asked, and fails")

    class Foreign(ModuleType):
        @property
        def __dict__(self) -> dict[str, object]:  # type: ignore[override]
            raise AttributeError("as cffi's modules have none")

    without_path = ModuleType("without_path")
    without_path.__path__ = None  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "foreign", Foreign("foreign"))
    for module in (Loading("loading_itself"), without_path):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "no_module", None)
    (skill / "json").mkdir()
    (skill / "numpy").mkdir()
    put(skill, "numpy/notes.md", "No module at all.")
    put(skill, "tools.py", "import numpy, json\ndef f():\n    return json.dumps([numpy.pi > 3])")
    import numpy

    assert await call_tool(str(skill), "f", {}) == "[true]"
    assert sys.modules["numpy"] is numpy
