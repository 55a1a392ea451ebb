"""What the code of a skill's tools needs wherever it runs: in the sandbox, or in the live kernel after consent.

The text of this file is put into the sandbox as ``jupyter_skills.runtime``, so it may import nothing but the standard
library. The code that a tool call becomes (``agent/tool_calls.py``) calls ``call_tool`` or ``run_script``.
"""

from __future__ import annotations

import codecs
import importlib
import inspect
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "MPLCONFIGDIR")
_KILL_GRACE = 2.0
_CHUNK = 64 * 1024
_LOOK_AGAIN = 0.1


class ToolFailed(Exception):
    """A skill's tool did not do what it should."""

    def _render_traceback_(self) -> list[str]:
        """Called by IPython in place of printing a traceback, which would only show this file."""
        return [f"{type(self).__name__}: {self}"]


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(*, name: str = "", description: str = "") -> Callable[[Function], Function]: ...
def tool(function: Any = None, /, *, name: str = "", description: str = "") -> Any:
    """Marks a function of a skill's ``tools.py`` as a tool that models can call.

    Its signature and docstring become the tool's schema and description. They are read from the source; the
    function itself stays what it is.

    Args:
        function: The function, where the decorator stands without parentheses.
        name: The tool's name; the function's if not given.
        description: What the model is told; the docstring's first paragraph if not given.
    """
    return function if function is not None else lambda marked: marked


async def call_tool(folder: str, function: str, arguments: Mapping[str, Any], *, version: str = "") -> Any:
    """Calls a function of a skill's ``tools.py``. Awaited by the code of a tool call.

    Args:
        folder: The skill's folder.
        function: The function's name.
        arguments: Its arguments by name.
        version: The digest of the skill: of another version all modules are imported anew.

    Returns:
        What it returns, as a model reads it best.

    Raises:
        ToolFailed: There is no such function, or it wants other arguments.
    """
    __tracebackhide__ = True  # IPython's traceback begins with the skill's own code
    imports = _Imports.of(folder, version)
    with imports.in_force():
        called = getattr(imports.tools(), function, None)
        if not callable(called):
            raise ToolFailed(f"tools.py has no function {function}")
        positional: list[Any] = []
        named = dict(arguments)
        for name, parameter in inspect.signature(called).parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in named:
                positional.append(named.pop(name))
        result = called(*positional, **named)
        if inspect.isawaitable(result):
            result = await result
    return _plain(result)


def run_script(
    folder: str,
    path: str,
    words: Sequence[str] = (),
    *,
    interpreter: str = "",
    stdin: str = "",
    timeout: float = 120.0,
    limit: int = 256 * 1024,
) -> None:
    """Runs a script of a skill in the skill's folder, and prints what it prints. Called by the code of a tool call.

    New files that it leaves in that folder are moved to the working folder.

    Args:
        folder: The skill's folder.
        path: The script in it.
        words: What stands after it on the command line.
        interpreter: ``python``, ``bash`` or ``node``; empty for a script that runs by itself.
        stdin: Text for its standard input.
        timeout: Seconds until it is ended, with all that it started.
        limit: Bytes of output to print; what comes after is counted and left out.

    Raises:
        ToolFailed: It can't be started, took too long, or ended with a status other than 0.
    """
    script = os.path.join(folder, path)
    program = {"python": sys.executable, "": script}.get(interpreter) or shutil.which(interpreter)
    if program is None:
        raise ToolFailed(f"{path} needs {interpreter}, which is not installed here")
    before = _files(folder)
    try:
        process = subprocess.Popen(
            [program, *([script] if interpreter else []), *words],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolFailed(f"{path} can't be started: {error}") from None
    try:
        in_time = _follow(process, stdin.encode(), time.monotonic() + timeout, limit)
    finally:
        _end(process)
    _bring(folder, before)
    if not in_time:
        raise ToolFailed(f"{path} was stopped after {timeout:g} s")
    if process.returncode:
        raise ToolFailed(f"{path} ended with status {process.returncode}")


def _follow(process: subprocess.Popen[bytes], stdin: bytes, deadline: float, limit: int) -> bool:
    """Prints what a program prints until it closes its output; whether it did so in time."""
    assert process.stdout is not None
    dropped = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            if time.monotonic() >= deadline:
                break
            ready = selector.select(min(_LOOK_AGAIN, max(0.0, deadline - time.monotonic())))
            if not ready and process.poll() is not None:
                break  # what it left running in the background holds its output open
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    stdin = _feed(process, stdin, selector)
                    continue
                piece = os.read(key.fd, _CHUNK)
                if not piece:
                    selector.unregister(key.fileobj)
                shown, limit = piece[:limit], max(0, limit - len(piece))
                dropped += len(piece) - len(shown)
                if shown:
                    print(decoder.decode(shown), end="", flush=True)  # noqa: T201 -- that is the output
    if dropped:
        print(f"\n… {dropped:,} bytes left out …", flush=True)  # noqa: T201
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    return process.returncode is not None


def _feed(process: subprocess.Popen[bytes], stdin: bytes, selector: selectors.BaseSelector) -> bytes:
    assert process.stdin is not None
    try:
        stdin = stdin[os.write(process.stdin.fileno(), stdin[:_CHUNK]) :]
    except BlockingIOError:
        return stdin
    except OSError:  # it does not want to hear more
        stdin = b""
    if not stdin:
        selector.unregister(process.stdin)
        process.stdin.close()
    return stdin


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it started in its session."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_GRACE)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _environment(folder: str) -> dict[str, str]:
    """What a script sees: where things are, and nothing that could be a secret."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **kept,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "SKILL_DIR": folder,
        "CLAUDE_SKILL_DIR": folder,
        "WORK_DIR": os.getcwd(),
    }


def _files(folder: str) -> set[str]:
    return {os.path.join(where, name) for where, _, names in os.walk(folder) for name in names}


def _bring(folder: str, before: set[str]) -> None:
    """Moves files that were not there before to the working folder, over none that is there."""
    for path in sorted(_files(folder) - before):
        inside = os.path.relpath(path, folder)
        if "__pycache__" in inside.split(os.sep) or os.path.islink(path):
            continue
        target = inside
        stem, suffix = os.path.splitext(inside)
        number = 2
        while os.path.lexists(target):
            target, number = f"{stem} ({number}){suffix}", number + 1
        with suppress(OSError):
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            shutil.move(path, target)


@dataclass
class _Imports:
    """The modules of one skill, kept apart from all others: two skills may both have a ``helper.py``."""

    folder: str
    version: str
    modules: dict[str, ModuleType] = field(default_factory=dict)
    _all: ClassVar[dict[str, _Imports]] = {}

    @classmethod
    def of(cls, folder: str, version: str) -> _Imports:
        known = cls._all.get(folder)
        if known is None or known.version != version:
            known = cls._all[folder] = cls(folder, version)
        return known

    def tools(self) -> ModuleType:
        """The skill's ``tools.py``; to be called while the imports are in force."""
        if "tools" not in self.modules:
            __tracebackhide__ = True
            path = os.path.join(self.folder, "tools.py")
            module = ModuleType("tools")
            module.__file__ = path
            sys.modules["tools"] = module  # dataclasses look there for the module of a class
            try:
                with open(path, "rb") as source:
                    exec(compile(source.read(), path, "exec"), vars(module))  # noqa: S102 -- that was asked for
            except BaseException:
                del sys.modules["tools"]  # half of it is no module
                raise
            self.modules["tools"] = module
        return self.modules["tools"]

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Lets code import what lies in the skill's folder, and puts everything back afterwards."""
        names = _module_names(self.folder) - sys.stdlib_module_names
        hidden = {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in names}
        for name in hidden:
            del sys.modules[name]
        sys.modules.update(self.modules)
        sys.path.insert(0, self.folder)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            with suppress(ValueError):
                sys.path.remove(self.folder)
            # Whatever its name: what lies elsewhere belongs to all, and what lies here to this skill alone.
            own = {name: module for name, module in list(sys.modules.items()) if _lies_in(module, self.folder)}
            self.modules.update(own)
            for name in own:
                sys.modules.pop(name, None)
            sys.modules.update(hidden)


def _module_names(folder: str) -> set[str]:
    """What can be imported from a folder: its Python files, and the folders that have some."""
    names = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                with suppress(OSError):
                    if any(name.endswith(".py") for name in os.listdir(entry.path)):
                        names.add(entry.name)
            elif entry.name.endswith((".py", ".so")):
                names.add(entry.name.partition(".")[0])
    return names


def _lies_in(module: object, folder: str) -> bool:
    if not isinstance(module, ModuleType):
        return False
    try:
        known = object.__getattribute__(module, "__dict__")  # some load themselves, or fail, when they are asked
    except AttributeError:  # one that another language made, such as cffi's
        return False
    place = known.get("__file__") or next(iter(known.get("__path__") or ()), None)
    return isinstance(place, str) and place.startswith(folder + os.sep)


def _plain(result: Any) -> Any:
    """A result as a model reads it best: JSON for what JSON knows, anything else as it shows itself."""
    if isinstance(result, dict | list | tuple | bool | int | float):
        with suppress(TypeError, ValueError):
            return _Text(json.dumps(result, ensure_ascii=False, allow_nan=False))
    return _Text(result) if isinstance(result, str) else result


class _Text(str):
    """Text that a notebook shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
