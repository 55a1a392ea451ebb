"""What a call of a skill's tool becomes: a few lines of Python, the same in the sandbox and in the live kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.tools.record import SkillTool


def code_for(skill: Skill, tool: SkillTool, arguments: Mapping[str, Any], folder: str, timeout: float) -> str:
    """The code of a call. It names the skill's digest, so that consent to it is consent to these very files.

    Args:
        skill: A snapshot of the skill.
        tool: Its tool.
        arguments: Checked arguments.
        folder: Where the skill's files lie for the code.
        timeout: Seconds that a script may take if it does not say so itself.

    Raises:
        ValueError: A script would take a value for an option; the message says which.
    """
    head = f"# {tool.name} of the skill {skill.name}, {skill.digest}\nimport jupyter_skills.runtime\n\n"
    if tool.function:
        call = _call("call_tool", folder, tool.function, dict(arguments), version=skill.digest[:19])
        return f"{head}await {call}"
    words = tool.convention.words(arguments)
    options: dict[str, Any] = {"timeout": min(tool.timeout or timeout, timeout)}
    if tool.interpreter:
        options["interpreter"] = tool.interpreter
    if tool.convention.style == "json":
        options["stdin"] = json.dumps(dict(arguments), ensure_ascii=False)
    return head + _call("run_script", folder, tool.path, words, **options)


def _call(function: str, /, *values: Any, **named: Any) -> str:
    words = [repr(value) for value in values] + [f"{name}={value!r}" for name, value in named.items()]
    return f"jupyter_skills.runtime.{function}({', '.join(words)})"
