"""Process 1's services, done by the kernel itself where there is no process 1 of ours (``sandbox/remote/``).

The host loads this once into a kernel that has just started, and then calls ``call``. The kernel's own loop waits
meanwhile, so only one service is at work at a time.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import io
import json
import os
import secrets
import select
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from jupyter_skills.sandbox.inside import folders
from jupyter_skills.sandbox.inside.programs import Program
from jupyter_skills.sandbox.inside.tallies import tallies

_CHUNK = 64 * 1024
# Seconds between two messages of output, for a server that drops them when they are too many.
_FLUSH_INTERVAL = 0.02
_OUT: Any = sys.stdout


class Answer:
    """The answer to a call, as JSON. IPython cuts the text of long values, but not what an object says of itself.

    Args:
        text: The JSON.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.text}


class _Services:
    """What can be called. One upload and one download are under way at most: a new one takes the old one's place."""

    def __init__(self) -> None:
        self._upload = io.BytesIO()
        self._download: Iterator[bytes] = iter(())

    def prepare(self, work: str = folders.WORK, skills: str = folders.SKILLS) -> None:
        """Has the two folders there, new or empty: with anything in them they would be somebody's, not a sandbox's.

        Raises:
            OSError: They can't be had.
            ValueError: There is something in one.
        """
        for folder in (work, skills):
            os.makedirs(folder, exist_ok=True)
            if os.listdir(folder):
                raise ValueError(f"{folder} is not empty")
            with tempfile.TemporaryFile(dir=folder):
                pass
        os.chdir(work)

    def upload(self, data: str, first: bool) -> None:
        """Takes one more piece of a tar, in base64."""
        if first:
            self._upload = io.BytesIO()
        self._upload.write(base64.b64decode(data))

    def unpack(self, target: str, replace: bool) -> None:
        """Unpacks the tar that was taken."""
        archive, self._upload = self._upload, io.BytesIO()
        archive.seek(0)
        folders.unpack(archive, target, replace)

    def look(self, limit: int) -> dict[str, Any]:
        """What lies in the working folder, and what the limits have met with."""
        files, complete = folders.listing(limit)
        return {"files": files, "complete": complete, "full": folders.full(), **tallies()}

    def download(self, path: str, limit: int, chunk: int) -> str:
        """The first piece of a file, in base64; see ``folders.content``."""
        self._download = folders.content(path, limit, chunk)
        return self.more()

    def more(self) -> str:
        """The next piece of the file; empty after the last one."""
        return base64.b64encode(next(self._download, b"")).decode()

    def express(self, expressions: dict[str, str]) -> Any:
        """What the kernel says of expressions, as in a reply to ``execute_request``."""
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        return shell.user_expressions(expressions) if expressions else {}

    def shell(self, command: str, limit: int, timeout: float) -> dict[str, int | None]:
        """Runs a command in bash; its output goes where the kernel prints to.

        Args:
            command: The command.
            limit: Bytes of output to pass on.
            timeout: Seconds until it is killed.
        """
        # ipykernel tells matplotlib how to draw in a notebook; a program of its own is none.
        argv = ["env", "-u", "MPLBACKEND", "bash", "-c", command]
        program = Program(secrets.randbits(62), {"argv": argv, "limit": limit}, folders.WORK, _CHUNK)
        out = _Output()
        deadline = time.monotonic() + timeout
        in_time, open_end = True, True
        try:
            while program.process.poll() is None and (in_time := time.monotonic() < deadline):
                if not open_end:
                    time.sleep(_FLUSH_INTERVAL)
                elif select.select([program.fd], [], [], _FLUSH_INTERVAL)[0]:
                    piece = program.read()
                    open_end = piece is not None
                    out.take(piece or b"")
                else:
                    out.flush()
        finally:  # at the deadline, or interrupted
            if program.process.poll() is None:
                program.kill()
            status = program.process.wait()
            out.take(program.read() or b"")
            out.flush(last=True)
            program.close(status)
        return {"status": status if in_time else None, "dropped": program.dropped}


class _Output:
    """Passes text on in few pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._last = 0.0

    def take(self, piece: bytes) -> None:
        self._text += self._decoder.decode(piece)
        if time.monotonic() - self._last > _FLUSH_INTERVAL:
            self.flush()

    def flush(self, last: bool = False) -> None:
        text, self._text = self._text + self._decoder.decode(b"", last), ""
        if text:
            self._last = time.monotonic()
            write(text)


_SERVICES = _Services()


def call(name: str, **arguments: Any) -> Answer:
    """Calls a service.

    Args:
        name: Its name.
        **arguments: Its arguments.

    Returns:
        JSON: what it returned as ``done``, or as ``failed`` why it could not.
    """
    try:
        return Answer(json.dumps({"done": getattr(_SERVICES, name)(**arguments)}))
    except Exception as error:  # noqa: BLE001 -- whatever it was, the host waits for an answer
        return Answer(json.dumps({"failed": f"{type(error).__name__}: {error}"}))


def tell(mark: str, answer: Answer) -> None:
    """Prints an answer between two marks, for a host that gets nothing but what is printed."""
    write(f"{mark}{answer.text}{mark}")


def write(text: str) -> None:
    """Prints text at once: past what bounds the output of cells, and past what they made of ``sys.stdout``."""
    with contextlib.suppress(ImportError, AttributeError):  # a Python without IPython prints in its own way
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        _OUT.set_parent(shell.get_parent())  # ipykernel tells only what it finds as sys.stdout which request it is
    type(_OUT).write(_OUT, text)
    _OUT.flush()
