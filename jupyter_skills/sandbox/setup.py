"""What the host has the kernel itself do: getting ready, and taking and giving variables."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_skills.errors import SandboxFailed, UsageProblem
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.files import tar_of
from jupyter_skills.sandbox.host import Content, KernelHost
from jupyter_skills.sandbox.inside import text_of, texts
from jupyter_skills.sandbox.inside.folders import SKILLS
from jupyter_skills.sandbox.settings import DockerSandbox

_WITHIN = 60.0
_LONGEST_ANSWER = 10_000
_LONGEST_PROBLEM = 300
_MOST_DISPLAYS = 200
_MOST_DISPLAY_BYTES = 64 * 1024 * 1024
_EXCHANGE = f"{SKILLS}/.exchange"

# Results are sent out and not kept: kept, they would fill the memory, and after a thousand IPython warns of it.
# The code of skills' tools finds what it needs beside the skills (agent/executor.py puts it there).
_READY = """
get_ipython().displayhook.do_full_cache = 0
__import__("sys").path.append("{skills}/.runtime")
exec({imports!r}, apart := {{}})
get_ipython().events.register("pre_run_cell", apart.pop("keep_apart"))
exec({commands!r}, apart := {{}})
apart["install"](get_ipython())
exec({outlet!r}, apart := {{}})
apart["install"](get_ipython(), characters={characters}, displays={displays}, bytes={bytes})
del apart
"""

# The first figure takes a second, most of it for imports and fonts.
_WARM = """
def _warm():
    import io
    import numpy
    import matplotlib.pyplot as plt
    plt.figure().add_subplot().plot([1, 2])
    plt.savefig(io.BytesIO())
    plt.close("all")
try:
    _warm()
except ImportError:
    pass
del _warm
"""

_MISSING = """
(lambda inside: exec({packages!r}, inside) or get_ipython().user_ns.update(
    __jupyter_skills__=inside["missing"]({requirements!r})
))({{}})
"""

_CROSS = """
(lambda inside: [exec(text, inside) for text in {texts!r}])(dict(kernel=get_ipython().user_ns))
"""
_TAKE = """
import os
with open({path!r}, "rb") as file:
    kernel[{name!r}] = decode({kind!r}, file.read(), {limit}, outward=False)
os.unlink({path!r})
"""
_GIVE = """
import os
os.makedirs({folder!r}, exist_ok=True)
kernel["__jupyter_skills__"], content = encode(kernel[{name!r}], {limit}, outward=True)
with open({path!r}, "wb") as file:
    file.write(content)
"""
_VALUES = ("bounds", "plain", "tables", "values")
_PACKAGES = ("numpy", "pandas", "polars", "pyarrow")  # that a value may need


async def get_ready(host: KernelHost, settings: DockerSandbox) -> None:
    """Called once for each kernel, before anything else runs in it.

    Raises:
        SandboxProblem: It can't be made ready.
    """
    limit = settings.output_limit
    code = _READY.format(
        skills=SKILLS,
        imports=text_of("imports"),
        commands=text_of("commands"),
        outlet=text_of("outlet"),
        characters=limit,
        displays=_MOST_DISPLAYS,
        bytes=_MOST_DISPLAY_BYTES,
    )
    if problem := await _silently(host, code):
        await host.end()
        raise SandboxFailed(f"The isolated kernel did not get ready: {problem}", "Check that its image has IPython 9")


async def warm_up(host: KernelHost) -> None:
    """Has the kernel import what most figures need; without matplotlib that is nothing."""
    await _silently(host, _WARM)


async def missing(host: KernelHost, requirements: Sequence[str]) -> list[str]:
    """Those of some requirements that the kernel's packages don't meet.

    Args:
        host: The kernel.
        requirements: In PEP 508's notation.

    Raises:
        SandboxProblem: There is no telling.
    """
    code = _MISSING.format(packages=text_of("packages"), requirements=list(requirements))
    reply = await _asked(host, code, {"missing": "globals().pop('__jupyter_skills__')"})
    if _error_of(reply):
        return list(requirements)
    said = _said(reply, "missing")
    return [word for word in requirements if word in said] if isinstance(said, list) else list(requirements)


async def send(host: KernelHost, name: str, value: object, limit: int) -> None:
    """See ``IsolatedKernel.send``."""
    from jupyter_skills.sandbox.inside.values import encode

    try:
        kind, content = await asyncio.to_thread(encode, value, limit, outward=False)
    except (TypeError, ValueError) as error:
        raise UsageProblem(f"'{name}' can't be sent to the sandbox: {error}", "Send what it is made of") from None
    await host.put(tar_of({"value": content}), _EXCHANGE, replace=True)
    code = _TAKE.format(path=f"{_EXCHANGE}/value", name=name, kind=kind, limit=limit)
    if not (problem := await _silently(host, _crossing(code))):
        return
    for package in _PACKAGES:
        if f"needs the package {package}," in problem:
            step = f"Install it with '%skill sandbox install {package}', or send what '{name}' is made of"
            raise SandboxFailed(f"'{name}' needs the package {package}, which the sandbox does not have", step)
    raise SandboxFailed(f"'{name}' did not arrive in the sandbox: {problem}", "Send what it is made of")


async def receive(host: KernelHost, name: str, limit: int) -> object:
    """See ``IsolatedKernel.receive``."""
    from jupyter_skills.sandbox.inside.values import decode

    path = f"{_EXCHANGE}/{name}"
    code = _GIVE.format(folder=_EXCHANGE, path=path, name=name, limit=limit)
    reply = await _asked(host, _crossing(code), {"kind": "globals().pop('__jupyter_skills__')"})
    problem = _error_of(reply)
    if problem == f"KeyError: {name!r}":
        raise UsageProblem(f"There is no variable '{name}' in the sandbox", "Check what the code there has made")
    content = None if problem else await host.get(path, limit)
    if content is not None:
        await _silently(host, f"__import__('os').unlink({path!r})")
        try:
            return await asyncio.to_thread(decode, str(_said(reply, "kind")), content, limit, outward=True)
        except ValueError as error:
            problem = clean_text(str(error))
    raise UsageProblem(
        f"'{name}' can't be fetched from the sandbox: {problem or 'its bytes could not be read'}",
        "Have the code there convert it",
    )


def _said(reply: Content, name: str) -> object:
    """The value of one of the expressions that were asked for; None if what came is no value, whatever it says."""
    try:
        return ast.literal_eval(reply["user_expressions"][name]["data"]["text/plain"][:_LONGEST_ANSWER])
    except (ValueError, LookupError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _crossing(code: str) -> str:
    return _CROSS.format(texts=[*texts(*_VALUES), code])


async def _silently(host: KernelHost, code: str) -> str:
    """Runs code that nobody sees; returns its error, if there was one."""
    return _error_of(await _asked(host, code, {}))


async def _asked(host: KernelHost, code: str, expressions: Mapping[str, str]) -> Content:
    content: dict[str, Any] = {"code": code, "silent": True, "store_history": False, "allow_stdin": False}
    request = host.request("execute_request", {**content, "user_expressions": dict(expressions)}, lambda *_: None)
    await asyncio.wait({request}, timeout=_WITHIN)
    if not request.done():
        await host.end()
        raise SandboxFailed("The isolated kernel does not answer", "Run the cell again: a fresh one will start")
    return request.result()


def _error_of(reply: Content) -> str:
    """The error in short; empty if there was none. Code inside may have made up all of it."""
    if reply.get("status") == "ok":
        return ""
    name, said = (str(reply.get(part))[:_LONGEST_PROBLEM] for part in ("ename", "evalue"))
    return clean_text(said if name in ("TypeError", "ValueError") else f"{name}: {said}")
