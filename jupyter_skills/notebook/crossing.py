"""Variables and files on their way between the notebook and its sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_skills.errors import NoSuchVariable, SandboxFailed, UsageProblem
from jupyter_skills.rendering.saving import save
from jupyter_skills.skills.places import expanded

if TYPE_CHECKING:
    from jupyter_skills.sandbox.contract import ExchangingSandbox


async def send(sandbox: ExchangingSandbox, namespace: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Copies variables and files into the sandbox.

    Args:
        sandbox: The sandbox.
        namespace: Where the variables are.
        names: Names of variables, and paths of files or folders.

    Returns:
        What is there now, one line each, for the model.

    Raises:
        UsageProblem: There is no such variable or file, or it can't cross.
        SandboxProblem: It didn't arrive.
    """
    said = []
    for name in dict.fromkeys(names):
        if name in namespace and name.isidentifier():
            await sandbox.send(name, namespace[name])
            said.append(f"the variable {name} ({_described(namespace[name])})")
        elif name.isidentifier() and not expanded(name).exists():
            raise UsageProblem(f"There is no variable '{name}' to send", "Define it, or give the path of a file")
        else:
            said += [f"the file {path}" for path in await put(sandbox, name)]
    return said


async def fetch(sandbox: ExchangingSandbox, names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Copies variables and files out of the sandbox.

    Returns:
        The variables; and where the files were saved.

    Raises:
        UsageProblem: There is no such variable, or it can't cross.
        SandboxProblem: It didn't arrive.
    """
    variables: dict[str, Any] = {}
    saved: list[str] = []
    for name in dict.fromkeys(names):
        if not name.isidentifier():
            saved += await get(sandbox, name)
            continue
        try:
            variables[name] = await sandbox.receive(name)
        except NoSuchVariable as problem:
            try:
                saved += await get(sandbox, name)  # a folder, or a file without a dot in its name
            except SandboxFailed:
                raise problem from None
    return variables, saved


async def put(sandbox: ExchangingSandbox, path: str) -> list[str]:
    """Copies a file, or all files of a folder, into the sandbox's working folder; returns their paths there.

    Raises:
        UsageProblem: There is none, it can't be read, or it is too large.
        SandboxProblem: It didn't arrive.
    """
    found = await asyncio.to_thread(_read, expanded(path)) if path else {}
    if not found:
        raise UsageProblem(f"There is no file in '{path}' to put", "Name a file, or a folder that has some")
    await sandbox.put(found)
    return list(found)


async def get(sandbox: ExchangingSandbox, path: str) -> list[str]:
    """Copies a file, or all files of a folder, out of the sandbox; returns where they were saved, never over others.

    Raises:
        UsageProblem: It can't be saved here.
        SandboxProblem: There is none, or it can't be taken out.
    """
    from jupyter_skills.sandbox.files import in_work

    found = await sandbox.get(path)
    # All of it at once could bring modules that code here imports, or settings that a shell here reads.
    folder = "." if in_work(path) else "work"
    try:
        return [save(file, folder).saved_as for file in found]
    except OSError as error:
        raise UsageProblem(
            f"It could not be saved here: {error.strerror}", "Make room, or go to another folder with '%cd'"
        ) from None


def _read(path: Path) -> dict[str, bytes]:
    from jupyter_skills.sandbox.files import ROOM

    if not path.exists():
        raise UsageProblem(f"There is no file '{path}'", "Check its path; a relative one starts at the working folder")
    parent = os.path.dirname(os.path.abspath(path))
    found: dict[str, bytes] = {}
    room = ROOM
    try:
        for each in _files_below(path):
            room -= each.stat().st_size
            if room < 0:
                raise UsageProblem(f"'{path}' is more than the sandbox has room for", "Take a part of it")
            found[Path(os.path.relpath(each, parent)).as_posix()] = each.read_bytes()
    except OSError as error:
        raise UsageProblem(f"'{error.filename}' can't be read: {error.strerror}", "Check its permissions") from None
    return found


def _files_below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        paths = iter([path])
    else:
        paths = (Path(folder, name) for folder, _, names in os.walk(path) for name in sorted(names))
    return (each for each in paths if each.is_file())


def _described(value: object) -> str:
    kind = type(value).__name__
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and all(isinstance(side, int) for side in shape):
        return f"{kind}, {' x '.join(map(str, shape))}"
    return f"{kind} of {len(value):,}" if isinstance(value, str | bytes | list | tuple | dict | set) else kind
