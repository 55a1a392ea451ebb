"""Asking the kernel itself for something, without the user seeing it. Code inside may make up any answer."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping
from typing import Any

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.host import Content, KernelHost, ignore

TAKEN = "__import__('IPython').get_ipython().user_ns.pop('__jupyter_skills__')"
"""An expression for what code left for the host. Names of the user's may mean anything, those of built-ins too."""
_WITHIN = 60.0
_LONGEST_ANSWER = 10_000
_LONGEST_PROBLEM = 300


async def silently(host: KernelHost, code: str) -> str:
    """Runs code that nobody sees; returns its error, if there was one."""
    return error_of(await asked(host, code, {}))


async def asked(host: KernelHost, code: str, expressions: Mapping[str, str]) -> Content:
    """Runs code; returns the reply, with the values of expressions after it.

    Raises:
        SandboxProblem: The kernel does not answer, and was ended.
    """
    content: dict[str, Any] = {"code": code, "silent": True, "store_history": False, "allow_stdin": False}
    request = host.request("execute_request", {**content, "user_expressions": dict(expressions)}, ignore)
    await asyncio.wait({request}, timeout=_WITHIN)
    if not request.done():
        await host.end()
        raise SandboxFailed("The isolated kernel does not answer", "Run the cell again: a fresh one will start")
    return request.result()


def error_of(reply: Content) -> str:
    """The error in short; empty if there was none. Code inside may have made up all of it."""
    if reply.get("status") == "ok":
        return ""
    name, said = (str(reply.get(part))[:_LONGEST_PROBLEM] for part in ("ename", "evalue"))
    return clean_text(said if name in ("TypeError", "ValueError") else f"{name}: {said}")


def said(reply: Content, name: str) -> object:
    """The value of one of the expressions that were asked for; None if what came is no value, whatever it says."""
    try:
        return ast.literal_eval(reply["user_expressions"][name]["data"]["text/plain"][:_LONGEST_ANSWER])
    except (ValueError, LookupError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
