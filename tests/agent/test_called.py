"""What a person is told of a tool call is read from the very code that would run."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.agent.called import Called, read_call
from jupyter_skills.agent.tool_calls import code_for
from tests.conftest import write_skill

ARGUMENTS = {
    "text": 'it\'s "so" \\ \n',
    "number": -3,
    "flag": True,
    "none": None,
    "deep": {"a": [1.5, {"b": "ä\u202e"}]},
}
CALL = "await jupyter_skills.runtime.call_tool('/f', 'count', {})"


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = write_skill(tmp_path, "mine")
    manifest = (folder / "SKILL.md").read_text()
    tools = "\ntools:\n  leave: {script: leave.py, args: {name: string}}\n---\n"
    (folder / "SKILL.md").write_text(manifest.replace("\n---\n", tools, 1))
    (folder / "leave.py").write_text("")
    (folder / "tools.py").write_text(
        "from jupyter_skills import tool\n\n\n@tool\ndef count(text: str, number: int = 1) -> int:\n    return 1\n"
    )
    return Skill.from_path(folder)


def test_of_a_function_its_name_and_arguments(skill: Skill) -> None:
    tool = next(tool for tool in skill.tools if tool.function)
    called = read_call(code_for(skill, tool, ARGUMENTS, "/skills/mine", 60))
    assert called == Called("count", "tools.py", arguments=ARGUMENTS)
    assert called.is_python


def test_of_a_script_its_path_and_command_line(skill: Skill) -> None:
    tool = next(tool for tool in skill.tools if not tool.function)
    called = read_call(code_for(skill, tool, {"name": "a b"}, "/skills/mine", 60))
    assert called is not None
    assert (called.path, called.function, "a b" in called.words, called.is_python) == ("leave.py", "", True, True)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "x = (",
        "(" * 100_000,
        "\0",
        CALL,
        f"import jupyter_skills.runtime\n{CALL}\nprint()",
        f"import jupyter_skills.runtime, os\n{CALL}",
        f"import jupyter_skills.runtime as other\n{CALL}",
        f"import os\n{CALL}",
        "import jupyter_skills.runtime\nawait jupyter_skills.runtime.call_tool('/f', 'count', {'a': open('x')})",
        "import jupyter_skills.runtime\nawait jupyter_skills.runtime.call_tool('/f', 'count', {}, **{'version': 1})",
        "import jupyter_skills.runtime\nawait jupyter_skills.runtime.call_tool('/f', count, {})",
        "import jupyter_skills.runtime\njupyter_skills.runtime.call_tool('/f', 'count', {})",
        "import jupyter_skills.runtime\njupyter_skills.runtime.run_script('/f', 'a.sh', [input()])",
        "import jupyter_skills.runtime\njupyter_skills.runtime.other('/f', 'a.sh', [])",
        "import jupyter_skills.runtime\nx = jupyter_skills.runtime.run_script('/f', 'a.sh', [])",
    ],
)
def test_anything_else_is_no_tool_call(code: str) -> None:
    assert read_call(code) is None
