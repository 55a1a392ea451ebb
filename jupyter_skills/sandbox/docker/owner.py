"""Whose a container is: the process that started it, on this machine and since this machine's start."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from jupyter_skills.sandbox.docker.engine import ContainerFacts, Engine

OWNER, MACHINE = "jupyter_skills.owner", "jupyter_skills.machine"


def labels() -> dict[str, str]:
    """The labels of a container that this process owns."""
    return {OWNER: str(os.getpid()), MACHINE: _machine()}


def sweep(engine: Engine) -> list[str]:
    """Removes containers of ours that outlived their owners; returns their ids.

    A container ends when its owner does. This is for what is left all the same: when the engine itself was ended,
    say, or between a container's making and its start.

    Raises:
        SandboxProblem: The engine refused.
    """
    left = [found.id for found in engine.containers() if is_orphan(found)]
    for container in left:
        engine.remove(container)
    return left


def is_orphan(container: ContainerFacts) -> bool:
    """Whether a container's owner is gone for certain: it ran on this machine, and runs no more."""
    found = container.labels
    if MACHINE not in found:  # made by an older release, which did not say where: only if it is not at work
        return not container.running and found.get(OWNER, "") != str(os.getpid())
    machine, _, boot = found.get(MACHINE, "").partition("/")
    here, _, this_boot = _machine().partition("/")
    if machine != here or not found.get(OWNER, "").isdigit():
        return False
    return boot != this_boot or not psutil.pid_exists(int(found[OWNER]))


@cache
def _machine() -> str:
    """A name for where this process's number means something, and one for the machine's current start.

    An engine may serve several machines, and programs in containers, whose process numbers are their own.
    """
    processes = boot = ""
    with suppress(OSError):
        processes = os.readlink("/proc/self/ns/pid").strip("pid:[]")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{uuid.getnode():012x}-{processes}/{boot}"
