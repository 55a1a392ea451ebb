"""What the tools are called that every turn may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_skills.models.messages import object_in

LOAD_SKILL, READ_FILE, RUN_PYTHON, RUN_SHELL = "load_skill", "read_skill_file", "run_python", "run_shell"


def skill_loaded_by(call: Mapping[str, Any]) -> str:
    """The skill that a call loads; empty if it does something else."""
    function = call["function"]
    if function["name"] != LOAD_SKILL:
        return ""
    return str((object_in(function["arguments"]) or {}).get("name", ""))
