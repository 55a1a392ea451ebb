"""Variables on their way into the kernel and out of it, as copies in kinds that run nothing when they are read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from jupyter_skills.errors import NoSuchVariable, SandboxFailed, UsageProblem
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.files import tar_of
from jupyter_skills.sandbox.host import KernelHost
from jupyter_skills.sandbox.inside import texts
from jupyter_skills.sandbox.inside.folders import SKILLS
from jupyter_skills.sandbox.inside.values import decode, encode
from jupyter_skills.sandbox.silent import TAKEN, asked, error_of, said, silently

_EXCHANGE = f"{SKILLS}/.exchange"
_CROSS = """
(lambda run, inside: [run(text, inside) for text in {texts!r}])(
    __import__("builtins").exec, {{"kernel": __import__("IPython").get_ipython().user_ns}}
)
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


@dataclass(frozen=True)
class Parcel:
    """A value under way.

    Args:
        kind: See ``inside/values.py``.
        content: Its bytes.
    """

    kind: str
    content: bytes


async def send(host: KernelHost, name: str, value: object, limit: int) -> None:
    """See ``IsolatedKernel.send``."""
    try:
        parcel = Parcel(*await asyncio.to_thread(encode, value, limit, outward=False))
    except (TypeError, ValueError) as error:
        raise UsageProblem(f"'{name}' can't be sent to the sandbox: {error}", "Send what it is made of") from None
    await deliver(host, name, parcel, limit)


async def receive(host: KernelHost, name: str, limit: int) -> object:
    """See ``IsolatedKernel.receive``."""
    parcel = await collect(host, name, limit)
    try:
        return await asyncio.to_thread(decode, parcel.kind, parcel.content, limit, outward=True)
    except ValueError as error:
        raise _not_fetched(name, clean_text(str(error))) from None


async def deliver(host: KernelHost, name: str, parcel: Parcel, limit: int) -> None:
    """Gives a variable of the kernel the value in a parcel.

    Raises:
        SandboxProblem: It didn't arrive.
    """
    await host.put(tar_of({"value": parcel.content}), _EXCHANGE, replace=True)
    code = _TAKE.format(path=f"{_EXCHANGE}/value", name=name, kind=parcel.kind, limit=limit)
    if not (problem := await silently(host, _crossing(code))):
        return
    for package in _PACKAGES:
        if f"needs the package {package}," in problem:
            step = f"Install it with '%skill sandbox install {package}', or send what '{name}' is made of"
            raise SandboxFailed(f"'{name}' needs the package {package}, which the sandbox does not have", step)
    raise SandboxFailed(f"'{name}' did not arrive in the sandbox: {problem}", "Send what it is made of")


async def collect(host: KernelHost, name: str, limit: int) -> Parcel:
    """The value that a variable of the kernel has, as it was packed there.

    Raises:
        NoSuchVariable: There is none of that name.
        UsageProblem: Its value can't cross, or is too large.
        SandboxProblem: It didn't arrive.
    """
    path = f"{_EXCHANGE}/{name}"
    code = _GIVE.format(folder=_EXCHANGE, path=path, name=name, limit=limit)
    reply = await asked(host, _crossing(code), {"kind": TAKEN})
    problem = error_of(reply)
    if problem == f"KeyError: {name!r}":
        raise NoSuchVariable(f"There is no variable '{name}' in the sandbox", "Check what the code there has made")
    content = None if problem else await host.get(path, limit)
    if content is None:
        raise _not_fetched(name, problem or "its bytes could not be read")
    await silently(host, f"__import__('os').unlink({path!r})")
    return Parcel(str(said(reply, "kind")), content)


def _not_fetched(name: str, problem: str) -> UsageProblem:
    return UsageProblem(f"'{name}' can't be fetched from the sandbox: {problem}", "Have the code there convert it")


def _crossing(code: str) -> str:
    return _CROSS.format(texts=[*texts(*_VALUES), code])
