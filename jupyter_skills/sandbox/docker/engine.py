"""The one file that talks to Docker, and where its errors end."""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
import ssl
import struct
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import LogConfig, Ulimit

from jupyter_skills.errors import BuildFailed, EngineMissing, ImageMissing, SandboxFailed

LABEL = "jupyter_skills.sandbox"
USER = "10001:10001"

# Nothing of the host's environment gets in; these make Python and matplotlib at home on a read-only root.
_ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 -- the container's own, in memory
    "LANG": "C.UTF-8",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}
_TMPFS = {
    "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777",  # noqa: S108 -- likewise
    "/work": "rw,exec,nosuid,nodev,size=256m,uid=10001,gid=10001,mode=0700",
    "/skills": "rw,exec,nosuid,nodev,size=256m,uid=10001,gid=10001,mode=0700",
}

# What the classic builder says about its own containers, between the lines that tell of progress.
_BOOKKEEPING = re.compile(r"\s*--->|Removing intermediate container")


@dataclass(frozen=True)
class Limits:
    """What a container may use.

    Args:
        memory: In Docker's notation, such as ``1g``.
        cpus: Processors' worth of time.
        pids: Processes and threads.
    """

    memory: str
    cpus: float
    pids: int


class AttachedStream:
    """Standard input and output of a container, over the engine's own connection.

    Source: Docker Engine API, "Attach to a container", stream format.
    """

    _HEAD = struct.Struct(">BxxxI")
    _STDERR = 2

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setblocking(False)
        self._buffer = bytearray()

    def fileno(self) -> int:
        """For polling."""
        return self._socket.fileno()

    def read(self) -> tuple[bytes, bytes] | None:
        """What came since on the container's output and error output; None at the end."""
        try:
            piece = self._socket.recv(1 << 18)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return b"", b""
        except OSError:
            return None
        if not piece:
            return None
        self._buffer += piece
        output: list[bytes] = []
        errors: list[bytes] = []
        at = 0
        while len(self._buffer) - at >= self._HEAD.size:
            stream, size = self._HEAD.unpack_from(self._buffer, at)
            end = at + self._HEAD.size + size
            if end > len(self._buffer):
                break
            (errors if stream == self._STDERR else output).append(bytes(self._buffer[at + self._HEAD.size : end]))
            at = end
        del self._buffer[:at]
        return b"".join(output), b"".join(errors)

    def write(self, content: memoryview) -> int:
        """Writes what can be written now; returns how many bytes that was.

        Raises:
            OSError: The container is gone.
        """
        try:
            return self._socket.send(content)
        except (BlockingIOError, InterruptedError, ssl.SSLWantWriteError):
            return 0

    def close(self) -> None:
        """Lets go of the container, which ends it."""
        # A close alone would not reach the engine while another thread still reads.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Engine:
    """The Docker engine that the environment names, or the local one."""

    def __init__(self) -> None:
        with _translated():
            self._client = docker.from_env(timeout=60)
            self._client.ping()

    def close(self) -> None:
        """Closes the connection to the engine."""
        self._client.close()

    def version(self) -> str:
        """The engine's version."""
        with _translated():
            return str(self._client.version()["Version"])

    def image_labels(self, image: str) -> dict[str, str] | None:
        """The labels of an image, or None if the engine doesn't have it."""
        with _translated():
            try:
                return dict(self._client.images.get(image).labels or {})
            except ImageNotFound:
                return None

    def create(self, image: str, command: Sequence[str], limits: Limits, labels: Mapping[str, str]) -> str:
        """Makes a container that is shut off from everything, but doesn't start it.

        Returns:
            Its id.

        Raises:
            ImageMissing: The engine has no such image.
            SandboxFailed: The engine refused.
        """
        api = self._client.api
        with _translated(image):
            host = api.create_host_config(
                auto_remove=True,
                network_mode="none",
                read_only=True,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges:true"],
                ipc_mode="private",
                mem_limit=limits.memory,
                memswap_limit=limits.memory,
                nano_cpus=int(limits.cpus * 1e9),
                pids_limit=limits.pids,
                shm_size="64m",
                tmpfs=_TMPFS,
                ulimits=[Ulimit(name="nofile", soft=1024, hard=1024), Ulimit(name="core", soft=0, hard=0)],
                log_config=LogConfig(type="none"),
            )
            # Not detached and with standard input open: the engine then closes standard input when
            # the connection that attached first is gone, and that ends the container.
            container = api.create_container(
                image,
                command=list(command),
                user=USER,
                working_dir="/work",
                hostname="sandbox",
                environment=_ENVIRONMENT,
                labels={LABEL: "1", **labels},
                stdin_open=True,
                detach=False,
                network_disabled=True,
                entrypoint=[],
                host_config=host,
            )
            return str(container["Id"])

    def attach(self, container: str) -> AttachedStream:
        """Connects to a container that has not started yet, so that nothing of its output is missed."""
        with _translated():
            wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            response = self._client.api.attach_socket(container, params=wanted)
            return AttachedStream(getattr(response, "_sock", response))

    def start(self, container: str) -> None:
        """Starts a container."""
        with _translated():
            self._client.api.start(container)

    def kill(self, container: str) -> None:
        """Ends a container at once; one that is gone already is no error."""
        with _translated():
            try:
                self._client.api.kill(container)
            except (NotFound, APIError) as error:
                if isinstance(error, APIError) and error.status_code not in (404, 409):
                    raise

    def remove(self, container: str) -> None:
        """Removes a container that never started."""
        with _translated(), contextlib.suppress(NotFound):
            self._client.api.remove_container(container, force=True, v=True)

    def containers(self, labels: Mapping[str, str]) -> list[str]:
        """The ids of our containers that have all these labels, whatever their state."""
        wanted = [LABEL, *(f"{key}={value}" for key, value in labels.items())]
        with _translated():
            return [str(found["Id"]) for found in self._client.api.containers(all=True, filters={"label": wanted})]

    def build(
        self, tag: str, context: Mapping[str, bytes], base: str | None, labels: Mapping[str, str]
    ) -> Iterator[str]:
        """Builds an image.

        Args:
            tag: Its name.
            context: The files of the build by path, the Dockerfile among them.
            base: The image to build upon; None for the Dockerfile's own.
            labels: Labels for the image.

        Yields:
            The build's output, line by line, as it comes.

        Raises:
            BuildFailed: The build failed; the error holds what the failing step said.
        """
        said: list[str] = []
        with _translated():
            events = self._client.api.build(
                fileobj=_tar(context),
                custom_context=True,
                tag=tag,
                buildargs={"BASE": base} if base else {},
                labels=dict(labels),
                rm=True,
                forcerm=True,
                decode=True,
            )
            for event in events:
                if "error" in event:
                    reasons = [line for line in said if "error:" in line.lower()]
                    because = f" ({reasons[-1]})" if reasons else ""
                    raise BuildFailed(
                        f"The image '{tag}' could not be built: {event['error']}{because}",
                        "If its base image can't be pulled here, give one that the engine has with --base",
                    )
                for line in _lines(event):
                    said.append(line)
                    del said[:-30]
                    yield line


def _tar(files: Mapping[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    buffer.seek(0)
    return buffer


def _lines(event: Mapping[str, Any]) -> list[str]:
    if "stream" in event:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", event["stream"]).splitlines()
        return [line.rstrip() for line in lines if line.strip() and not _BOOKKEEPING.match(line)]
    if "status" in event and "progress" not in event:
        return [" ".join(filter(None, (event.get("id"), event["status"])))]
    return []


@contextmanager
def _translated(image: str = "") -> Iterator[None]:
    try:
        yield
    except ImageNotFound:
        raise ImageMissing(
            f"The Docker engine has no image '{image}'",
            "Build it with 'jupyter skills sandbox build' in a terminal",
        ) from None
    except APIError as error:
        raise SandboxFailed(
            f"The Docker engine refused: {_explanation(error)}", "See the engine's log (journalctl -u docker)"
        ) from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise EngineMissing(
            f"No Docker engine answers ({_root(error)})",
            "Start Docker, or set DOCKER_HOST; without one, '-r live' runs code in this kernel",
        ) from None


def _explanation(error: APIError) -> str:
    text = error.explanation or str(error)
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    with contextlib.suppress(ValueError, TypeError, KeyError):
        text = json.loads(text)["message"]
    return str(text)


def _root(error: BaseException) -> str:
    """The reason at the bottom of a chain of wrapped connection errors."""
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
