"""What the code of a tool call says, read back from that code: see ``tool_calls.py``, which writes it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Called:
    """A tool of a skill and what it is called with.

    Args:
        function: The function of the skill's ``tools.py``; empty if the tool is a script.
        path: The file that the tool lies in, relative to the skill's folder.
        interpreter: What runs the script: ``python``, ``bash``, ``node``; empty if it runs by itself.
        arguments: The arguments of the function, by name.
        words: What stands behind the script on its command line.
        stdin: What it reads from its standard input.
    """

    function: str
    path: str
    interpreter: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[str] = ()
    stdin: str = ""

    @property
    def is_python(self) -> bool:
        """Whether the file is Python, by what runs it."""
        return bool(self.function) or self.interpreter == "python" or self.path.endswith(".py")


def read_call(code: str) -> Called | None:
    """The call that code makes, if it is exactly what ``code_for`` writes and nothing else."""
    try:
        match ast.parse(code).body:
            case [ast.Import(names=[ast.alias(name="jupyter_skills.runtime", asname=None)]), ast.Expr(value=call)]:
                return _called(call)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    return None


def _called(call: ast.expr) -> Called | None:
    awaited = isinstance(call, ast.Await)
    inner = call.value if isinstance(call, ast.Await) else call
    if not isinstance(inner, ast.Call) or any(keyword.arg is None for keyword in inner.keywords):
        return None
    values = [ast.literal_eval(value) for value in inner.args]
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in inner.keywords}
    match ast.unparse(inner.func), awaited, values:
        case "jupyter_skills.runtime.call_tool", True, [str(), str(function), dict(arguments)]:
            return Called(function, "tools.py", arguments=arguments)
        case "jupyter_skills.runtime.run_script", False, [str(), str(path), list() | tuple() as words]:
            return Called("", path, named.get("interpreter", ""), words=tuple(words), stdin=named.get("stdin", ""))
    return None
