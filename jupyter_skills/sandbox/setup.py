"""Getting a kernel ready, before anything else runs in it."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.sandbox.host import KernelHost
from jupyter_skills.sandbox.inside import text_of
from jupyter_skills.sandbox.inside.folders import SKILLS
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.sandbox.silent import TAKEN, asked, error_of, said, silently
from jupyter_skills.sandbox.thread import to_the_end

_MOST_DISPLAYS = 200
_MOST_DISPLAY_BYTES = 30 * 1024 * 1024  # a message of more is not taken outside

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
(lambda run, inside: run({packages!r}, inside) or __import__("IPython").get_ipython().user_ns.update(
    __jupyter_skills__=inside["missing"]({requirements!r})
))(__import__("builtins").exec, {{}})
"""


async def get_ready(host: KernelHost, settings: DockerSandbox) -> None:
    """Called once for each kernel, before anything else runs in it.

    Raises:
        SandboxProblem: It can't be made ready, and was ended; it is also ended if this is cancelled.
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
    try:
        problem = await silently(host, code)
    except BaseException:
        await to_the_end(host.end())
        raise
    if problem:
        await host.end()
        raise SandboxFailed(f"The isolated kernel did not get ready: {problem}", "Check that its image has IPython 9")


async def warm_up(host: KernelHost) -> None:
    """Has the kernel import what most figures need; without matplotlib that is nothing."""
    await silently(host, _WARM)


async def missing(host: KernelHost, requirements: Sequence[str]) -> list[str]:
    """Those of some requirements that the kernel's packages don't meet.

    Args:
        host: The kernel.
        requirements: In PEP 508's notation.

    Raises:
        SandboxProblem: There is no telling.
    """
    code = _MISSING.format(packages=text_of("packages"), requirements=list(requirements))
    reply = await asked(host, code, {"missing": TAKEN})
    if error_of(reply):
        return list(requirements)
    unmet = said(reply, "missing")
    return [word for word in requirements if word in unmet] if isinstance(unmet, list) else list(requirements)
