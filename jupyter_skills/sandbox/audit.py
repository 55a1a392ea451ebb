"""What ran in the sandbox, and what it connected to: a line of JSON for each execution and each connection."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir

from jupyter_skills.execution.result import Execution, Language
from jupyter_skills.sandbox.host import KernelHost
from jupyter_skills.sandbox.settings import DockerSandbox

_LARGEST = 16 * 1024 * 1024
_MOST_FILES_NAMED = 100
# Two threads that both find the file full must not both put it in place of the older one.
_lock = threading.Lock()


class AuditLog:
    """A file that grows by a line per execution or connection.

    When it has 16 MiB it becomes ``….1``, in place of an older one.

    Args:
        settings: Name the file.
    """

    def __init__(self, settings: DockerSandbox) -> None:
        self._settings = settings

    @property
    def path(self) -> Path | None:
        """The file; None if nothing is to be written down."""
        named = self._settings.audit
        if named == "off":
            return None
        return Path(named).expanduser() if named else Path(jupyter_data_dir(), "jupyter_skills", "executions.jsonl")

    def record(
        self, execution: Execution, language: Language, code: str, timeout: float, host: KernelHost
    ) -> Execution:
        """Writes one line.

        Args:
            execution: What came of the code.
            language: What it is written in.
            code: The code; only its digest is written down.
            timeout: How many seconds it had.
            host: Where it ran.

        Returns:
            The execution; with a note if the line could not be written.
        """
        path = self.path
        if path is None:
            return execution
        try:
            _append(path, {"kind": "execution", **self._entry(execution, language, code, timeout, host)})
        except OSError as error:
            note = f"It could not be written down in '{path}': {error.strerror}."
            return replace(execution, notes=(*execution.notes, note))
        return execution

    def connection(self, entry: Mapping[str, Any]) -> None:
        """Writes one line about a connection; there is nobody to tell if that fails. Any thread may call it."""
        path = self.path
        if path is not None:
            with suppress(OSError):
                _append(path, {"kind": "connection", **entry})

    @staticmethod
    def _entry(execution: Execution, language: Language, code: str, timeout: float, host: KernelHost) -> dict[str, Any]:
        named = execution.files[:_MOST_FILES_NAMED]
        return {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "owner": os.getpid(),
            "language": language,
            "code": "sha256:" + hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest(),
            "image": host.image,
            "limits": {**host.limits, "timeout": timeout},
            "seconds": round(execution.seconds, 6),
            "outcome": execution.outcome,
            "cause": execution.cause,
            "bytes": len(execution.text.encode(errors="replace")),
            "images": [{"mime_type": image.mime_type, "size": len(image.data)} for image in execution.images],
            "files": [{"path": file.path, "size": file.size, "digest": file.digest} for file in named],
            "files_not_named": len(execution.files) - len(named),
        }


def _append(path: Path, entry: Mapping[str, Any]) -> None:
    line = json.dumps(entry, ensure_ascii=False)
    with _lock:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > _LARGEST:
            os.replace(path, f"{path}.1")
        # One write to a file opened for appending: lines of several notebooks don't mix.
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(number, f"{line}\n".encode())
        finally:
            os.close(number)
