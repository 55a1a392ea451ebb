"""The tools that a skill brings along: scripts that its manifest names, and functions of its tools.py."""

from __future__ import annotations

from jupyter_skills.errors import SkillProblem
from jupyter_skills.skills.files import SkillFiles
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.tools.manifest import declared_tools
from jupyter_skills.skills.tools.module import MODULE, module_tools
from jupyter_skills.skills.tools.record import SkillTool


def tools_of(declared: object, files: SkillFiles, line: int | None) -> tuple[list[SkillTool], list[Problem]]:
    """All tools of a skill; nothing of them is run.

    Args:
        declared: The value of the manifest's ``tools:``.
        files: The skill's files.
        line: The line of the manifest that ``tools:`` is in.

    Returns:
        The tools, those of the manifest first, and what is wrong with those that are not offered.
    """
    try:
        tools, problems = declared_tools(declared, files, line)
        if MODULE in files.paths():
            functions, more = module_tools(files.entry(MODULE).content)
            problems += more
            taken = {tool.name for tool in tools}
            tools += [function for function in functions if function.name not in taken]
            problems += [
                Problem(
                    "tool-duplicate",
                    f"The function '{function.function}' is not offered: 'tools:' has another '{function.name}'",
                    "Rename one of the two",
                    path=MODULE,
                )
                for function in functions
                if function.name in taken
            ]
    except SkillProblem as error:  # a file that can't be read
        return [], [Problem("tools-unreadable", error.message, error.next_step, line)]
    return tools, problems
