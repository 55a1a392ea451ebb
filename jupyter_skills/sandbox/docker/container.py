"""Starting the container of a kernel, for our own session and for other Jupyter clients alike."""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jupyter_skills.errors import SandboxDied
from jupyter_skills.sandbox.audit import AuditLog
from jupyter_skills.sandbox.docker import owner
from jupyter_skills.sandbox.docker.controls import check
from jupyter_skills.sandbox.docker.egress.gatekeeper import Gatekeeper
from jupyter_skills.sandbox.docker.egress.rules import Rules
from jupyter_skills.sandbox.docker.engine import Engine, Limits
from jupyter_skills.sandbox.docker.link import Bridge, Gate, Link
from jupyter_skills.sandbox.docker.stream import AttachedStream
from jupyter_skills.sandbox.inside import program
from jupyter_skills.sandbox.settings import DockerSandbox

_PRINTED_WITHIN = 30.0
_MOST_PRINTED = 1024 * 1024
_COMMAND = ["python3", "-I", "-u", "-c", program("frames", "folders", "tallies", "programs", "probe", "proxy", "relay")]


def limits_of(settings: DockerSandbox) -> Limits:
    """The limits that settings ask for."""
    return Limits(settings.memory, settings.cpus, settings.pids, settings.runtime)


def gate_of(settings: DockerSandbox) -> Gatekeeper | None:
    """The way out that settings allow one container; None if they allow none.

    Raises:
        UsageProblem: The list of hosts can't be read.
    """
    rules = Rules(settings.network)
    return Gatekeeper(rules, AuditLog(settings).connection) if rules else None


def launch(
    engine: Engine,
    image: str,
    limits: Limits,
    waived: Collection[str],
    labels: Mapping[str, str],
    bridge: Callable[[], Bridge],
    connection: Mapping[str, Any],
    gate: Gate | None = None,
) -> tuple[str, Link]:
    """Starts a container, and the kernel in it. Blocks; a tenth of a second or two.

    Args:
        engine: Where.
        image: What it runs from.
        limits: What it may use.
        waived: The names of the controls that it need not have.
        labels: More labels for it.
        bridge: Called for who takes the kernel's messages; the link closes it.
        connection: The connection file's fields that matter inside: the key and its scheme.
        gate: The way out, if there is to be one; the link closes it.

    Returns:
        The container's id, and the link to it.

    Raises:
        ControlMissing: It lacks a control, so that no kernel was started in it.
        SandboxProblem: It can't be had. Nothing of it stays.
        UsageProblem: There is no control of a name that is waived.
    """
    container = engine.create(image, _COMMAND, limits, {**owner.labels(), **labels})
    with contextlib.ExitStack() as undo:
        undo.callback(_remove, engine, container)
        stream = engine.attach(container)
        undo.callback(stream.close)
        made = bridge()
        undo.callback(made.close, SandboxDied("lost", "The container did not start"))
        engine.start(container)
        undo.pop_all()
    link = Link(stream, made, gate)
    try:
        check(link.start(), limits, waived)
        link.start_kernel(connection)
    except BaseException:
        link.close()
        engine.kill(container)
        raise
    return container, link


def printed(
    engine: Engine, image: str, command: Sequence[str], limits: Limits, labels: Mapping[str, str]
) -> tuple[bytes, bytes]:
    """What a program prints in a container of its own, confined as a kernel's is; it is ended if it takes long.

    Returns:
        Its output and its error output, as far as they are not too long.

    Raises:
        ImageMissing: The engine has no such image.
        SandboxFailed: The container didn't start.
    """
    container = engine.create(image, command, limits, {**owner.labels(), **labels})
    started = False
    try:
        stream = engine.attach(container)
        try:
            engine.start(container)
            started = True
            return _read_to_the_end(stream)
        finally:
            stream.close()
    finally:
        # One that started goes away by itself once it has ended.
        (engine.kill if started else engine.remove)(container)


def _remove(engine: Engine, container: str) -> None:
    """Removes a container that did not start; what kept it from starting is what is to be told."""
    with contextlib.suppress(Exception):
        engine.remove(container)


def _read_to_the_end(stream: AttachedStream) -> tuple[bytes, bytes]:
    output, errors = bytearray(), bytearray()
    deadline = time.monotonic() + _PRINTED_WITHIN
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while len(output) + len(errors) < _MOST_PRINTED and selector.select(deadline - time.monotonic()):
            pieces = stream.read()
            if pieces is None:
                break
            output += pieces[0]
            errors += pieces[1]
    return bytes(output), bytes(errors)
