"""The one file that talks to Docker, and where its errors end."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import docker
import requests
from docker.context import ContextAPI
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.images import Image
from docker.types import LogConfig, Ulimit

from jupyter_skills.errors import BuildFailed, EngineMissing, ImageMissing, SandboxFailed
from jupyter_skills.sandbox.docker.mounts import PODMAN_SIZE, PODMAN_TMPFS
from jupyter_skills.sandbox.docker.stream import AttachedStream
from jupyter_skills.sandbox.files import tar_of

LABEL = "jupyter_skills.sandbox"
_PATIENCE = 60
_BUILD_MEMORY = 4 * 1024**3
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
    "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777,nr_inodes=16384",  # noqa: S108 -- likewise
    "/work": "rw,exec,nosuid,nodev,size=256m,uid=10001,gid=10001,mode=0700,nr_inodes=65536",
    "/skills": "rw,exec,nosuid,nodev,size=256m,uid=10001,gid=10001,mode=0700,nr_inodes=65536",
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
        runtime: What runs it, such as ``runsc``; empty for the engine's own choice.
    """

    memory: str
    cpus: float
    pids: int
    runtime: str = ""


@dataclass(frozen=True)
class ContainerFacts:
    """A container of ours.

    Args:
        id: Its id.
        running: Whether it runs, or is about to; else it has ended, or was never started.
        labels: Its labels.
    """

    id: str
    running: bool
    labels: dict[str, str]


@dataclass(frozen=True)
class ImageFacts:
    """An image that the engine has.

    Args:
        id: ``sha256:…``.
        names: Its names with their tags; none if it lost them to another image, or its build broke off.
        labels: Its labels.
        size: In bytes, all that it shares with its base included.
    """

    id: str
    names: tuple[str, ...]
    labels: Mapping[str, str]
    size: int


class Engine:
    """The Docker engine that the environment names, or the current context of its command line, or the local one."""

    def __init__(self) -> None:
        with _translated():
            self._client = _client()
            version = self._client.version()
        self._version = str(version["Version"])
        self._is_podman = any(part.get("Name") == "Podman Engine" for part in version.get("Components") or ())

    def close(self) -> None:
        """Closes the connection to the engine."""
        self._client.close()

    @property
    def product(self) -> str:
        """The engine's name and version."""
        return f"{'Podman' if self._is_podman else 'Docker'} {self._version}"

    def info(self) -> Mapping[str, Any]:
        """What the engine says of itself, its versions and its machine, under the names of its API."""
        with _translated():
            return {**self._client.version(), **self._client.info()}

    def image_labels(self, image: str) -> dict[str, str] | None:
        """The labels of an image, or None if the engine doesn't have it."""
        found = self._image(image)
        return None if found is None else dict(found.labels or {})

    def image_id(self, image: str) -> str | None:
        """The id of an image, ``sha256:…``, or None if the engine doesn't have it."""
        found = self._image(image)
        return None if found is None else str(found.id)

    def image_names(self, image: str) -> list[str]:
        """The names that an image has; none if it lost them to a newer one, or is gone."""
        found = self._image(image)
        return [] if found is None else list(found.tags)

    def _image(self, image: str) -> Image | None:
        with _translated():
            try:
                return self._client.images.get(image)
            except ImageNotFound:
                return None

    def images(self, label: str) -> list[ImageFacts]:
        """The images that have a label, given as ``key`` or ``key=value``; layers below others are left out."""
        with _translated():
            found = self._client.api.images(filters={"label": label})
        return [
            ImageFacts(
                str(image["Id"]),
                tuple(name for name in image.get("RepoTags") or () if name != "<none>:<none>"),
                dict(image.get("Labels") or {}),
                int(image.get("Size") or 0),
            )
            for image in found
        ]

    def name_image(self, image: str, name: str) -> None:
        """Gives an image one more name, with its tag; another image that has the name loses it."""
        repository, _, tag = name.rpartition(":")
        with _translated(image):
            self._client.api.tag(image, repository, tag)

    def remove_image(self, image: str) -> bool:
        """Removes an image, and the layers that only it needed; false if a container or another image needs it.

        Args:
            image: Its name or id; one that is gone already is no error.
        """
        with _translated():
            try:
                self._client.api.remove_image(image)
            except (NotFound, APIError) as error:
                if isinstance(error, APIError) and error.status_code not in (404, 409):
                    raise
                return error.status_code == 404
        return True

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
                tmpfs=self._tmpfs(),
                ulimits=[Ulimit(name="nofile", soft=1024, hard=1024), Ulimit(name="core", soft=0, hard=0)],
                log_config=LogConfig(type="none"),
                runtime=limits.runtime or None,
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
                use_config_proxy=False,  # the user's proxy, often with its password
                labels={LABEL: "1", **labels},
                stdin_open=True,
                detach=False,
                network_disabled=True,
                entrypoint=[],
                host_config=host,
            )
            return str(container["Id"])

    def _tmpfs(self) -> dict[str, str]:
        """The file systems in memory. Podman knows no options for their owner and for the number of files."""
        if not self._is_podman:
            return _TMPFS
        known = {
            path: re.sub(r",(nr_inodes|uid|gid)=\d+", "", options).replace("mode=0700", "mode=1777") + ",notmpcopyup"
            for path, options in _TMPFS.items()
        }
        return known | dict.fromkeys(PODMAN_TMPFS, f"rw,noexec,nosuid,nodev,size={PODMAN_SIZE}")

    def attach(self, container: str) -> AttachedStream:
        """Connects to a container that has not started yet, so that nothing of its output is missed."""
        with _translated():
            wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            response = self._client.api.attach_socket(container, params=wanted)
            return AttachedStream(getattr(response, "_sock", response), response)

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
                stopped = "only kill running containers" in str(error)  # Podman's words, with a status of 500
                if isinstance(error, APIError) and error.status_code not in (404, 409) and not stopped:
                    raise

    def remove(self, container: str) -> None:
        """Removes a container; one that is gone already, or about to be, is no error."""
        with _translated():
            try:
                self._client.api.remove_container(container, force=True, v=True)
            except APIError as error:
                if error.status_code not in (404, 409):
                    raise

    def containers(self, **labels: str) -> list[ContainerFacts]:
        """Our containers that have all these labels, whatever their state.

        Args:
            **labels: The labels' values by what follows ``jupyter_skills.`` in their names.
        """
        wanted = [LABEL, *(f"jupyter_skills.{name}={value}" for name, value in labels.items())]
        with _translated():
            found = self._client.api.containers(all=True, filters={"label": wanted})
        return [
            ContainerFacts(
                str(one["Id"]), one.get("State") not in ("created", "exited", "dead"), one.get("Labels") or {}
            )
            for one in found
        ]

    def build(
        self, tag: str, context: Mapping[str, bytes], base: str | None, labels: Mapping[str, str]
    ) -> Generator[str]:
        """Builds an image. Closing the generator ends the build.

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
                fileobj=io.BytesIO(tar_of(context)),
                custom_context=True,
                tag=tag,
                buildargs={"BASE": base} if base else {},
                labels=dict(labels),
                container_limits={"memory": _BUILD_MEMORY, "memswap": _BUILD_MEMORY},
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


def _client() -> docker.DockerClient:
    """Connects to an engine. Source: Docker's command line, "Docker contexts": DOCKER_HOST goes before a context.

    Raises:
        EngineMissing: The engine is named in a way that can't be used here.
    """
    context = None if os.environ.get("DOCKER_HOST") else ContextAPI.get_current_context()
    host = str(context.Host if context is not None else os.environ["DOCKER_HOST"])
    if host.startswith("ssh:"):
        raise EngineMissing(
            f"The engine at {host} can't be reached over SSH from here",
            f"Forward its socket with 'ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock {host.partition('//')[2]}', "
            "and set DOCKER_HOST to unix:///tmp/engine.sock",
        )
    if context is None or context.name == "default":
        return docker.from_env(timeout=_PATIENCE)
    return docker.DockerClient(base_url=host, tls=context.TLSConfig, timeout=_PATIENCE)


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
